import Console
import Control
import Platform
import Model
import Waymark
import WaymarkCare

extension Mirror: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["mirror"], summary: "take over a peer's records, on all devices (also: sync --take PEER)",
    options: [
      .init(flag: "--from", placeholder: "PEER", summary: "the device whose records are kept"), only,
      trip,
      CommandTable.preview("show what would change; change nothing"),
    ],
    details: """
      This device gets the records of the peer, and so does every other device with the next sync. Reverts in one
      operation the changes that only this device has. The other device's changes arrive by
      sync, which is turned on. A device that is not connected at the time does not bring reverted changes
      back later. Only changes made on it in the meantime merge as usual, and waymark status reports them.
      """, exampleArguments: "--from laptop --preview")

  fileprivate static let only = CommandSpec.Option(
    flag: "--only", placeholder: "KIND", summary: "only records of this kind")

  fileprivate static let trip = CommandSpec.Option(
    flag: "--trip", placeholder: "T", summary: "only this trip and everything in it")

  func render(_ answer: OverrideSummary, into rendering: inout Rendering) { rendering.direction(answer) }
}

extension AssertRecords: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["assert"], summary: "give all devices the records of this one (also: sync --push)",
    options: [Mirror.only, Mirror.trip, CommandTable.preview("show what would change; change nothing")],
    details: """
      Reverts in one operation the changes that the connected devices have and this one does not. To make a
      restored state win after waymark restore: use waymark sync off, start the node, and when the other
      devices are connected use waymark assert, which turns sync on again.
      """, exampleArguments: "--preview")

  func render(_ answer: OverrideSummary, into rendering: inout Rendering) { rendering.direction(answer) }
}

extension CleanUp: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["cleanup"], summary: "delete trips that tests left behind",
    operands: [.init(placeholder: "TRIP", key: "trips", isOptional: true, isRepeated: true)],
    options: [
      .init(flag: "--except", placeholder: "TRIP", summary: "keep this trip", isRepeated: true),
      CommandTable.preview("list the trips; delete nothing"),
    ],
    details: """
      Finds the trips without items whose name begins with “test trip”, “debug”, “sample”, “demo” or a
      similar word, or the trips that you name. Lists them, and deletes them after you confirm. A backup is taken
      first, and waymark undo restores them.
      """, exampleArguments: "--preview")

  func render(_ answer: CleanupSummary, into rendering: inout Rendering) {
    guard !answer.trips.isEmpty else {
      return rendering.notes.paragraph("No trip looks like one that a test left behind.")
    }
    var table = TextTable([
      .init("ID"), .init("NAME", widthMin: 16), .init("ITEMS", isRight: true), .init("MATCH"),
    ])
    for trip in answer.trips {
      table.rows.append([
        .init(shortRecordID(trip.id.description), .faint), .init(trip.name),
        .init(grouped(Int64(trip.items))),
        .init(trip.mark.isEmpty ? "" : "“\(trip.mark)”"),
      ])
    }
    rendering.data.table(table)
    guard !answer.isPreview else {
      return rendering.notes.paragraph("Nothing was deleted. Next: \(waymark: "cleanup")")
    }
    rendering.notes.paragraph("Deleted \(counted(Int64(answer.deleted), "trip")).")
    rendering.wayBack(answer.backup, answer.operation)
  }
}

extension Restamp: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["restamp"], summary: "re-timestamp changes made while the clock was ahead",
    options: [CommandTable.preview("show what is dated ahead; change nothing")],
    details: """
      Set the machine's clock first. Other devices park changes dated more than ten minutes ahead until that
      time comes. This device ends its log before those changes and re-signs them with the current time,
      in the same order; history and undo are kept. Other devices need not be connected. A backup is taken
      first. If the connected devices disagree with this machine about the time, nothing is changed.
      """, exampleArguments: "--preview")

  func render(_ answer: RestampSummary, into rendering: inout Rendering) {
    guard answer.changeSets > 0, let newest = answer.newest else {
      return rendering.notes.paragraph("No change of this device is dated ahead.")
    }
    let ahead = "\(counted(Int64(answer.changeSets), "change set")) dated ahead, up to \(text(newest))"
    guard !answer.isPreview else {
      return rendering.notes.paragraph(
        "\(ahead); this machine's clock says \(text(answer.now)). Nothing was changed. Next: \(waymark: "restamp")"
      )
    }
    rendering.notes.paragraph("\(ahead), re-signed with the current time.")
    rendering.wayBack(answer.backup, nil)
  }

  private func text(_ time: Date) -> String { CivilTime.text(time.milliseconds) }
}

extension Rendering {
  fileprivate mutating func direction(_ summary: OverrideSummary) {
    let isPreview = summary.isPreview
    if summary.kinds.isEmpty {
      notes.paragraph(
        isPreview || summary.backup == nil
          ? "Nothing to do: the records are already the same." : "No visible record has changed.")
    } else {
      data.table(changes(summary.kinds))
    }
    if isPreview, summary.unknown > 0 {
      notes.paragraph(
        "Also any of \(counted(Int64(summary.unknown), "record")) unknown to this device that belong to the trip."
      )
    }
    if !summary.notAsked.isEmpty {
      let away = summary.notAsked.map { printable($0.name) }.joined(separator: ", ")
      notes.paragraph("Not connected: \(away). Changes that only they have merge as usual when they connect.")
    }
    if summary.turnsSyncOn {
      notes.paragraph(isPreview ? "Sync of records would be turned on." : "Sync of records is on now.")
    }
    if isPreview { return notes.paragraph("Nothing was changed.") }
    for item in summary.elsewhere {
      let records = counted(Int64(item.records), item.kind.rawValue, item.plural)
      notes.paragraph("Changed on other devices in the meantime, and merged as usual: \(printable(records)).")
    }
    wayBack(summary.backup, summary.operation)
  }

  private func changes(_ kinds: [OverrideSummary.KindChanges]) -> TextTable {
    var table = TextTable(
      [.init("KIND", widthMin: 12)]
        + ["ADDED", "CHANGED", "DELETED", "RESTORED"].map { .init($0, isRight: true) })
    for kind in kinds {
      let counts = [kind.added, kind.changed, kind.deleted, kind.restored]
      table.rows.append([.init(kind.plural)] + counts.map { .init(grouped(Int64($0))) })
    }
    return table
  }

  /// Writes the backup that was taken, and the command that undoes the change.
  fileprivate mutating func wayBack(_ backup: String?, _ operation: OperationID?) {
    if let backup { notes.paragraph("Backup: \(printable(backup))") }
    if let operation {
      notes.paragraph("To undo this: \(waymark: "undo \(shortID(operation.description))")")
    }
  }
}
