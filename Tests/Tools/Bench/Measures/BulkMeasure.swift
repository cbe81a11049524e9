import Foundation
import JSONDocument
import Processes
import Wire

/// A device without data opens its records lane to one that holds everything.
struct BulkMeasure {
  private let stage: Stage
  private let shape: Workload.Shape

  init(_ stage: Stage, _ shape: Workload.Shape) {
    self.stage = stage
    self.shape = shape
  }

  func run() throws -> [Row] {
    let workload = try stage.workload(shape, stage.options.rows)
    let full = try stage.founder("full-\(shape)")
    for part in workload.parts { try full.importing(part) }
    try full.start()
    let pipeline = try Pipeline(stage.options.pipeline, in: stage.folder)
    var (rates, floors, plain, checks) = ([Double](), [Double](), [Double](), [Double]())
    var last: BulkRun?
    var table: PlainTable?
    for round in 0..<stage.options.rounds {
      let run = try BulkRun("fresh-\(shape)-\(round)", from: full, stage)
      rates.append(Double(workload.rows) / run.seconds)
      checks.append(run.checkSeconds / run.seconds)
      last = run
      if let pipeline { floors.append(try pipeline.run(workload.tabs).synced) }
      table = try PlainTable(workload, in: stage.folder)
      plain.append(table?.rowsPerSecond ?? .nan)
    }
    let peak = full.peakMebibytes
    stage.forget(full)
    guard let last, let table else { return [] }
    let count = Double(workload.rows)
    let (rate, floor) = (rates.median, floors.isEmpty ? nil : floors.median)
    let what = "\(Table.text(count)) \(shape == .logs ? "habit logs" : "records, one trip in ten")"
    return [
      Row(
        "\(what), to an empty device", rate, "rows/s", sqlite: plain.median, pipeline: floor,
        goal: "≥ 1.0 × pipeline", isMet: floor.map { rate >= $0 }),
      Row(
        "  on the wire", last.wireBytes / count, "B/row", goal: "≤ 95", isMet: last.wireBytes / count <= 95),
      Row(
        "  on the disk, log included", last.diskBytes / count, "B/row", sqlite: table.bytes / count,
        goal: shape == .mixed ? "≤ 2.0 × SQLite" : "",
        isMet: shape == .mixed ? last.diskBytes <= 2 * table.bytes : nil),
      Row(
        "  memory where it comes in", last.peakMebibytes, "MiB", goal: "≤ 60", isMet: last.peakMebibytes <= 60
      ),
      Row("  memory where it goes out", peak, "MiB", goal: "≤ 60", isMet: peak <= 60),
      Row(
        "  `verify --deep` of it, relative to it", checks.median, "×", goal: "≤ 4", isMet: checks.median <= 4),
      Row("  processor where it comes in", last.processorSeconds / count * 1e6, "µs/row"),
    ]
  }
}

/// One device filled from another.
struct BulkRun {
  let seconds: Double
  /// The time that the deep verification of the new device takes.
  let checkSeconds: Double
  let wireBytes: Double
  let diskBytes: Double
  let peakMebibytes: Double
  let processorSeconds: Double

  init(_ name: String, from full: BenchNode, _ stage: Stage) throws {
    let fresh = try stage.member(name, of: full, syncs: false)
    try fresh.start("--peer", full.address)
    try fresh.ask("wait", ["lane": "settings", "timeoutMilliseconds": 60_000])
    let (before, used) = (try fresh.wire().received, fresh.processorSeconds)
    let begun = now()
    try fresh.ask("sync.on")
    try fresh.wait()
    seconds = now() - begun
    wireBytes = try fresh.wire().received - before
    processorSeconds = fresh.processorSeconds - used
    peakMebibytes = fresh.peakMebibytes
    let checked = now()
    _ = try fresh.command("verify", "--deep")
    checkSeconds = now() - checked
    try fresh.stop()
    diskBytes = fresh.diskBytes
    stage.forget(fresh)
  }
}

extension BenchNode {
  /// Imports exported files with the command while the node is stopped.
  func importing(_ files: [String]) throws { try command(["import"] + files) }
}
