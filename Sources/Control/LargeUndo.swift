import Reasons
import Records
import Waymark
import WaymarkCare

// Which undos are confirmed first: those of operations that bring about a whole state, and those of many records.

extension UndoSummary {
  /// The error that asks for confirmation; nil if the undo is small enough to be undone again when it was a mistake.
  func question(in schema: Schema) -> WaymarkError? {
    let records = changes.reduce(0) { $0 + $1.added + $1.changed + $1.deleted + $1.restored }
    guard records > 0, records > Self.recordsMax || Self.effects[operation.verb] != nil else { return nil }
    let id = operation.id.description.prefix(8)
    let effect = Self.effects[operation.verb].map { ": \($0)" } ?? ""
    return WaymarkError(
      exitCode: ExitCode.needsYes, code: .largeUndo,
      message:
        "This undoes \(id) (\(operation.verb.replacing(".", with: " ")), by \(operation.deviceName))\(effect). "
        + "\(plural(records, "record")) will change on all devices: \(effects(schema)).",
      next: "\(waymark: "undo \(id) --preview"), then \(waymark: "undo \(id) --yes")")
  }

  /// More than a person edits by hand.
  private static let recordsMax = 100

  /// What it means to undo an operation that brought about a whole state.
  private static let effects = [
    "join": "everything that the device brought along when it joined is deleted, or gets its former values",
    "restore": "the records get the values from before the restore",
    "mirror": "the changes that the mirror reverted apply again",
    "assert": "the changes that the assert reverted apply again",
  ]

  /// The numbers of records by kind: `2 trips deleted, 1 entry changed`.
  private func effects(_ schema: Schema) -> String {
    changes.flatMap { count in
      let kind = schema.kind(named: count.kind.rawValue)
      let effects = [
        ("added", count.added), ("changed", count.changed), ("deleted", count.deleted),
        ("restored", count.restored),
      ]
      return effects.filter { $0.1 > 0 }.map {
        plural($0.1, kind?.name ?? "record", kind?.plural) + " \($0.0)"
      }
    }.joined(separator: ", ")
  }
}
