import Foundation
import JSONDocument

/// An application's export, imported into a new store by the command.
struct ImportMeasure {
  private let stage: Stage

  init(_ stage: Stage) { self.stage = stage }

  func run() throws -> [Row] {
    let workload = try stage.workload(.logs, min(stage.options.rows, Workload.rowsInPart))
    let pipeline = try Pipeline(stage.options.pipeline, in: stage.folder)
    var (rates, floors) = ([Double](), [Double]())
    for round in 0..<stage.options.rounds {
      let node = try stage.founder("import-\(round)")
      let begun = now()
      try node.importing(workload.parts[0])
      rates.append(Double(workload.rows) / (now() - begun))
      stage.forget(node)
      if let pipeline { floors.append(try pipeline.run(workload.tabs).created) }
    }
    let floor = floors.isEmpty ? nil : floors.median
    return [
      Row(
        "import of an export with \(Table.text(Double(workload.rows))) logs", rates.median, "rows/s",
        pipeline: floor,
        goal: "≥ 0.5 × pipeline", isMet: floor.map { rates.median >= 0.5 * $0 })
    ]
  }
}
