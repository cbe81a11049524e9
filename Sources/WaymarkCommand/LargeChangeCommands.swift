import Control
import Foundation
import Waymark

extension Mirror: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["mirror"], summary: "make the records here, and so everywhere, those of another device",
    options: [
      .init(flag: "--from", placeholder: "PEER", summary: "the device whose records are wanted"), only,
      trip,
      CommandTable.preview("say what would change, and change nothing"),
    ],
    details: """
      What only this device holds is taken back in one operation; what that device holds comes by
      sync, which is turned on. A device that was away brings nothing back, unless somebody changed
      something there meanwhile: that merges as usual, and waymark status says so.
      """, exampleArguments: "--from laptop --preview")

  fileprivate static let only = CommandSpec.Option(
    flag: "--only", placeholder: "KIND", summary: "only records of this kind")

  fileprivate static let trip = CommandSpec.Option(
    flag: "--trip", placeholder: "T", summary: "only this trip and all that belongs to it")

  func render(_ answer: OverrideSummary, into rendering: inout Rendering) { rendering.direction(answer) }
}

extension AssertRecords: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["assert"], summary: "make the records everywhere those of this device",
    options: [Mirror.only, Mirror.trip, CommandTable.preview("say what would change, and change nothing")],
    details: """
      What the connected devices hold and this one does not is taken back in one operation.
      After waymark restore, to make the restored state win: waymark sync off, waymark run, and when
      the others are there waymark assert, which turns sync on again.
      """, exampleArguments: "--preview")

  func render(_ answer: OverrideSummary, into rendering: inout Rendering) { rendering.direction(answer) }
}

extension CleanUp: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["cleanup"], summary: "take away trips that tests left behind",
    options: [CommandTable.preview("show them only")],
    details: """
      Looks for such words as “test trip”, “debug”, “sample” or “demo” in the names of trips, shows
      the trips, and deletes them only after a yes. A backup is taken first, and waymark undo brings
      them back.
      """, exampleArguments: "--preview")

  func render(_ answer: CleanupSummary, into rendering: inout Rendering) {
    guard !answer.trips.isEmpty else {
      return rendering.notes.paragraph("No trip looks as if a test had left it behind.")
    }
    let ids = distinctPrefixes(answer.trips.map(\.id.uuidString))
    var table = TextTable([
      .init("ID"), .init("NAME", widthMin: 16), .init("ITEMS", isRight: true), .init("BECAUSE OF"),
    ])
    for trip in answer.trips {
      let id = trip.id.uuidString
      table.rows.append([
        .init(ids[id] ?? id, .faint), .init(trip.name), .init(grouped(Int64(trip.items))),
        .init("“\(trip.mark)”"),
      ])
    }
    rendering.data.table(table)
    guard !answer.isPreview else {
      return rendering.notes.paragraph("Nothing is deleted. Next: \(waymark: "cleanup")")
    }
    rendering.notes.paragraph("Deleted \(counted(Int64(answer.deleted), "trip")).")
    rendering.wayBack(answer.backup, answer.operation)
  }
}

extension Restamp: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["restamp"], summary: "date anew what was written while this machine's clock ran ahead",
    options: [CommandTable.preview("say what is dated ahead, and change nothing")],
    details: """
      Set the machine's clock first. Changes dated more than ten minutes ahead wait on all other devices
      until that time has come. This device ends its log before them and writes them again with the
      present time, in the same order: history and undo stay. Works with or without other devices. A backup
      is taken first. Where the connected devices have another time than this machine, nothing is done.
      """, exampleArguments: "--preview")

  func render(_ answer: RestampSummary, into rendering: inout Rendering) {
    guard answer.changeSets > 0, let newest = answer.newest else {
      return rendering.notes.paragraph("Nothing that this device wrote is dated ahead.")
    }
    let ahead = "\(counted(Int64(answer.changeSets), "change set")) dated ahead, up to \(text(newest))"
    guard !answer.isPreview else {
      return rendering.notes.paragraph(
        "\(ahead); this machine's clock says \(text(answer.now)). Nothing is changed. Next: \(waymark: "restamp")"
      )
    }
    rendering.notes.paragraph("\(ahead), written again with the present time.")
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
          ? "Nothing differs: all records are so already." : "Nothing that is visible has changed.")
    } else {
      data.table(changes(summary.kinds))
    }
    if isPreview, summary.unknown > 0 {
      notes.paragraph(
        "Besides, what belongs to the trip of \(counted(Int64(summary.unknown), "record")) that this device has "
          + "never seen.")
    }
    if !summary.notAsked.isEmpty {
      let away = summary.notAsked.map { printable($0.name) }.joined(separator: ", ")
      notes.paragraph("Not there: \(away). What only they hold merges as usual when they come.")
    }
    if summary.turnsSyncOn {
      notes.paragraph(isPreview ? "Sync of records would be turned on." : "Sync of records is on now.")
    }
    if isPreview { return notes.paragraph("Nothing is written.") }
    for item in summary.elsewhere {
      let records = counted(Int64(item.records), item.kind.rawValue, item.plural)
      notes.paragraph("Changed on other devices meanwhile, and merged as usual: \(printable(records)).")
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

  /// The backup that was taken, and the undo.
  fileprivate mutating func wayBack(_ backup: String?, _ operation: OperationID?) {
    if let backup { notes.paragraph("Backup: \(printable(backup))") }
    if let operation {
      notes.paragraph("To take it back: \(waymark: "undo \(shortID(operation.description))")")
    }
  }
}
