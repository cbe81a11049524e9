import Foundation
import JSONDocument
import Processes
import SQLite
import Wire

/// So many records that a store outgrows its cache: the last ones should be as fast as the first.
struct ManyMeasure {
  private let stage: Stage

  init(_ stage: Stage) { self.stage = stage }

  func run() throws -> [Row] {
    guard stage.options.manyRows > 0 else { return [] }
    let workload = try stage.workload(.ordered, stage.options.manyRows)
    let full = try stage.founder("many")
    for (index, part) in workload.parts.enumerated() {
      progress("  import \(index + 1) of \(workload.parts.count)")
      try full.importing(part)
    }
    let start = try StartMeasure.seconds(full)
    try full.start()
    let fresh = try stage.member("fresh-many", of: full, syncs: false)
    try fresh.start("--peer", full.address)
    try fresh.ask("wait", ["lane": "settings", "timeoutMilliseconds": 60_000])
    let tenths = try arrivals(fresh, workload.rows)
    let tidied = try tidied(fresh)
    let peaks = [fresh.peakMebibytes, full.peakMebibytes]
    stage.forget(fresh)
    stage.forget(full)
    let floor = try Pipeline(stage.options.pipeline, in: stage.folder).map { pipeline in
      try (0..<3).map { _ in try pipeline.run(workload.tabs).synced }.median
    }
    let count = Double(workload.rows)
    let rate = count / (tenths.last ?? .nan)
    let (first, last) = (tenths[0], tenths[9] - tenths[8])
    return [
      Row(
        "\(Table.text(count)) logs in key order", rate, "rows/s", pipeline: floor, goal: "≥ 0.6 × pipeline",
        isMet: floor.map { rate >= 0.6 * $0 }),
      Row("  last tenth against the first", last / first, "×", goal: "≤ 1.2", isMet: last / first <= 1.2),
      Row("  its index by day, made when it is quiet", tidied, "s"),
      Row("  memory where it comes in", peaks[0], "MiB", goal: "≤ 100", isMet: peaks[0] <= 100),
      Row("  memory where it goes out", peaks[1], "MiB", goal: "≤ 100", isMet: peaks[1] <= 100),
      Row("  start until it answers `status`", start * 1e3, "ms", goal: "≤ 300", isMet: start <= 0.3),
    ]
  }

  /// Seconds until the deferred index is ready.
  private func tidied(_ fresh: BenchNode) throws -> Double {
    let reader = try Connection(.existingFileReadOnly(fresh.store))
    let begun = now()
    while now() < begun + 60 {
      let isThere = try reader.with("SELECT 1 FROM sqlite_schema WHERE name = 'habit_log_rows_by_parent'") {
        try $0.step()
      }
      if isThere { return now() - begun }
      usleep(5_000)
    }
    throw Failure("waited 60 seconds for the index by day")
  }

  /// Seconds until each tenth of the rows was stored.
  private func arrivals(_ fresh: BenchNode, _ rows: Int) throws -> [Double] {
    let reader = try Connection(.existingFileReadOnly(fresh.store))
    let begun = now()
    try fresh.ask("sync.on")
    var tenths: [Double] = []
    while tenths.count < 9 {
      usleep(5_000)
      guard now() < begun + 900 else { throw Failure("waited 900 seconds for \(rows) records") }
      let count = try reader.with("SELECT coalesce(sum(live), 0) FROM child_counts WHERE kind = 11") {
        try $0.step() ? Int($0.integer(0)) : 0
      }
      while tenths.count < 9, count * 10 >= rows * (tenths.count + 1) { tenths.append(now() - begun) }
    }
    try fresh.wait()
    return tenths + [now() - begun]
  }
}

/// From start to the first answer, on a store with many records.
struct StartMeasure {
  private let stage: Stage

  init(_ stage: Stage) { self.stage = stage }

  func run() throws -> [Row] {
    let workload = try stage.workload(.logs, stage.options.rows)
    let node = try stage.founder("start")
    for part in workload.parts { try node.importing(part) }
    var times: [Double] = []
    for _ in 0..<stage.options.rounds { times.append(try Self.seconds(node)) }
    stage.forget(node)
    return [
      Row(
        "start on \(Table.text(Double(workload.rows))) logs until it answers `status`", times.median * 1e3,
        "ms",
        goal: "≤ 300", isMet: times.median <= 0.3)
    ]
  }

  static func seconds(_ node: BenchNode) throws -> Double {
    let begun = now()
    try node.start()
    try node.ask("status")
    let seconds = now() - begun
    try node.stop()
    return seconds
  }
}
