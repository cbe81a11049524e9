import Foundation
import JSONDocument

/// An application's export, imported into a new store by the command while a node runs, and the undo of that import.
struct ImportMeasure {
  private let stage: Stage

  init(_ stage: Stage) { self.stage = stage }

  func run() throws -> [Row] {
    let workload = try stage.workload(.logs, min(stage.options.rows, Workload.rowsInPart))
    let pipeline = try Pipeline(stage.options.pipeline, in: stage.folder)
    var (rates, floors, peaks, undos) = ([Double](), [Double](), [Double](), [Double]())
    for round in 0..<stage.options.rounds {
      let node = try stage.founder("import-\(round)")
      try node.start()
      let begun = now()
      try node.importing(workload.parts[0])
      let seconds = now() - begun
      rates.append(Double(workload.rows) / seconds)
      peaks.append(node.peakMebibytes)
      let undone = now()
      _ = try node.command("undo", "--yes")
      undos.append((now() - undone) / seconds)
      stage.forget(node)
      if let pipeline { floors.append(try pipeline.run(workload.tabs).created) }
    }
    let floor = floors.isEmpty ? nil : floors.median
    return [
      Row(
        "import of an export with \(Table.text(Double(workload.rows))) logs", rates.median, "rows/s",
        pipeline: floor,
        goal: "≥ 0.5 × pipeline", isMet: floor.map { rates.median >= 0.5 * $0 }),
      Row("  memory of the node", peaks.median, "MiB", goal: "≤ 60", isMet: peaks.median <= 60),
      Row("  its undo, relative to it", undos.median, "×", goal: "≤ 3", isMet: undos.median <= 3),
    ]
  }
}
