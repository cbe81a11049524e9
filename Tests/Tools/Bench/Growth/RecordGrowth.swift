import Foundation
import JSONDocument
import Processes
import Wire

/// Two devices with a growing number of records: real processes with all features.
struct RecordGrowth {
  private let stage: Stage
  private let changes = 300

  init(_ stage: Stage) { self.stage = stage }

  func grid(_ sizes: [Int]) throws -> Grid {
    var grid = Grid(
      "Records: two processes, habit logs in key order",
      [
        "records", "rows/s to an empty device", "B/row on the wire", "MiB in", "MiB out", "change p50, ms",
        "change p99, ms", "B a change", "equal again, ms", "equal again, B",
      ])
    for size in sizes {
      progress("\(Table.text(Double(size))) records …")
      grid.add(Table.text(Double(size)), try figures(size))
    }
    return grid
  }

  private func figures(_ size: Int) throws -> [Double] {
    let workload = try stage.workload(.ordered, size)
    let full = try stage.founder("grown-\(size)")
    defer { stage.forget(full) }
    for part in workload.parts { try full.importing(part) }
    try full.start()
    // A million records take long enough; a thousand are over so fast that chance affects the figure.
    let rounds = size >= 1_000_000 ? 1 : stage.options.rounds
    let runs = try (0..<rounds).map { try BulkRun("grown-\(size)-\($0)", from: full, stage) }
    let other = try stage.member("grown-\(size)-other", of: full)
    defer { stage.forget(other) }
    try other.start("--peer", full.address)
    try other.wait()
    // Deferred work is done by then.
    sleep(3)
    let met = try meetings(Meeting(full, other, rows: size))
    let pair = try Pair(full, other, stage)
    let change = try pair.latencies(changes)
    return [
      Double(size) / runs.map(\.seconds).median, runs.map(\.wireBytes).median / Double(size),
      runs.map(\.peakMebibytes).max() ?? .nan, full.peakMebibytes,
      change.milliseconds.median, change.milliseconds.quantile(0.99), change.bytes,
      met.map { $0.seconds * 1e3 }.median, met.map(\.bytes).median,
    ]
  }

  private func meetings(_ meeting: Meeting) throws -> [(seconds: Double, bytes: Double)] {
    try (0..<7).map { _ in
      try meeting.part()
      return try meeting.meet()
    }
  }
}
