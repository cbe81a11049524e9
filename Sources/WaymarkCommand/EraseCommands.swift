import Console
import Control
import Platform
import Records
import Waymark
import WaymarkCare

extension EraseRecords: TypedConfirmationCommand {
  static let syntax = CommandSpec(
    words: ["erase"], summary: "remove values from all devices for good",
    operands: [.init(placeholder: "RECORD", key: "records", isOptional: true, isRepeated: true)],
    options: [
      .init(
        flag: "--field", placeholder: "FIELD",
        summary: "erase only this field, and the earlier values of the others"),
      .init(flag: "--trash", placeholder: nil, summary: "erase what is in the trash, as waymark trash empty"),
      olderThan,
      .init(flag: "--force", placeholder: nil, summary: "erase an organization or category that is in use"),
      CommandTable.preview("show what would be erased, and where it is; erase nothing"),
    ],
    details: """
      Erases records with everything that belongs to them. RECORD is the name or id of a record of any kind,
      including a deleted one, or `profile`. The values are removed from this device, its history and the
      backups that it makes from now on, and so on every device as soon as it receives the erase; waymark
      status shows which devices have not received it. This can't be undone. You confirm it by typing the
      name of the record, or the number of records; in scripts, use --yes.

      If more than a quarter of a kind is erased, and at least 20 records, the other devices hide them at once
      and keep the values for seven days, in case this device was stolen. See waymark help revoke.

      With --field, the present values of the other fields stay. The earlier values of the record are erased.

      An erase does not reach copies outside of Waymark: exports, earlier backups, images of a disk, and
      blocks that flash memory has replaced. It has no effect on a member whose program does not follow it.
      That a record existed, when it was changed and by which devices remain visible.
      """,
    exampleArguments: "Rome --preview")

  static let olderThan = CommandSpec.Option(
    flag: "--older-than", placeholder: "AGE", summary: "only what was deleted at least this long ago: 30d",
    type: .duration)

  func render(_ answer: EraseSummary, into rendering: inout Rendering) {
    rendering.erase(answer, isOld: olderThanMilliseconds != nil)
  }
}

extension EmptyTrash: TypedConfirmationCommand {
  static let syntax = CommandSpec(
    words: ["trash", "empty"], summary: "erase what is in the trash, on all devices",
    options: [
      EraseRecords.olderThan,
      CommandTable.preview("show what would be erased, and where it is; erase nothing"),
    ],
    details: """
      Erases deleted records of all kinds with everything that belongs to them. This can't be undone. For its
      limits, see waymark help erase. You confirm it by typing the number of records; in scripts, use --yes.
      """,
    exampleArguments: "--older-than 30d --preview")

  func render(_ answer: EraseSummary, into rendering: inout Rendering) {
    rendering.erase(answer, isOld: olderThanMilliseconds != nil)
  }
}

extension TypedConfirmationCommand where Answer == EraseSummary {
  static func confirmation(of preview: EraseSummary) -> (question: String, word: String)? {
    ("Erase \(preview.subject), on all devices? This can't be undone.", preview.confirmation)
  }
}

extension ListTrash: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["trash", "list"], summary: "list the deleted records of all kinds", impliesLastWord: true,
    details: """
      Lists deleted records, and records that are hidden because a record that they belong to is deleted. The
      most recently deleted come first.
      """, exampleArguments: "")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard !answer.items.isEmpty else { return rendering.notes.paragraph("The trash is empty.") }
    var table = TextTable([
      .init("ID"), .init("KIND", widthMin: 8), .init("NAME", widthMin: 16), .init("DELETED"),
      .init("BY", widthMin: 8), .init("WITH", widthMin: 8),
    ])
    table.isList = true
    for item in answer.items {
      let above = item.hiddenBy.map { "\($0.kind) \($0.name ?? shortRecordID($0.id))" }
      table.rows.append([
        rendering.idCell(item.id, item.shortId), .init(item.kind), .init(item.name ?? ""),
        .init(rendering.time.full(item.deletedAt)), .init(item.deletedByName), .init(above ?? ""),
      ])
    }
    rendering.data.table(table)
    rendering.notes.paragraph(
      "To restore one: \(waymark: "KIND restore ID"). To erase all of them: \(waymark: "trash empty")")
  }
}

extension Rendering {
  fileprivate mutating func erase(_ summary: EraseSummary, isOld: Bool) {
    guard !summary.records.isEmpty else {
      return notes.paragraph(isOld ? "Nothing in the trash is that old." : "The trash is empty.")
    }
    table(summary)
    if let field = summary.field {
      data.paragraph(
        "Erases \(printable(field)), and the earlier values of the other fields. Their present values stay.")
    }
    places(summary)
    guard !summary.isPreview else { return notes.paragraph("Nothing was erased.") }
    notes.paragraph("Erased \(printable(summary.subject)).")
    guard summary.devices.contains(where: { !$0.hasErased }) else { return }
    notes.paragraph("\(waymark: "status") shows which devices have not erased it yet.")
  }

  /// Writes a line for each record that was named, with the number of records that belong to it.
  private mutating func table(_ summary: EraseSummary) {
    let named = summary.records.filter { $0.with == nil }
    let belonging = belonging(summary.records)
    var table = TextTable([
      .init("ID"), .init("KIND", widthMin: 8), .init("NAME", widthMin: 16), .init("STATE"),
      .init("WITH IT", widthMin: 16),
    ])
    table.wrapsLast = true
    for record in named.prefix(Self.erasedShownMax) {
      table.rows.append([
        .init(shortRecordID(record.id.uuidString), .faint), .init(record.kind.rawValue),
        .init(record.name ?? ""),
        .init(record.isDeleted ? "in the trash" : "visible"), .init(belonging[record.id] ?? ""),
      ])
    }
    data.table(table)
    let rest = named.count - Self.erasedShownMax
    if rest > 0 { data.line("and \(counted(Int64(rest), "more record"))") }
  }

  private static let erasedShownMax = 50

  /// Returns, for each record that was named, the records that are erased with it: `3 lodgings, 1 attachment`.
  private func belonging(_ records: [EraseSummary.ErasedRecord]) -> [UUID: String] {
    var owners: [UUID: UUID] = [:]
    var counts: [UUID: [(kind: RecordKind, count: Int64)]] = [:]
    // A record comes after the one that it belongs to.
    for record in records {
      guard let parent = record.with else {
        owners[record.id] = record.id
        continue
      }
      guard let owner = owners[parent.id] else { continue }
      owners[record.id] = owner
      if let index = counts[owner]?.firstIndex(where: { $0.kind == record.kind }) {
        counts[owner]?[index].count += 1
      } else {
        counts[owner, default: []].append((record.kind, 1))
      }
    }
    return counts.mapValues { kinds in
      kinds.map { kind, count in
        counted(count, kind.rawValue, Schema.known.kind(named: kind.rawValue)?.plural ?? "\(kind)s")
      }.joined(separator: ", ")
    }
  }

  /// Writes which devices and backups hold the values.
  private mutating func places(_ summary: EraseSummary) {
    let names = summary.devices.map { printable($0.name) }
    data.paragraph(
      names.isEmpty
        ? "No other device is known to hold it." : "Also held by: \(names.joined(separator: ", ")).")
    if summary.isHeldElsewhere {
      data.paragraph(
        "The other devices hide this at once but keep the values for 7 days, because this is more than a quarter."
      )
    }
    guard !summary.backups.isEmpty else { return }
    let them = summary.backups.count == 1 ? "This backup holds" : "These backups hold"
    data.line("\(them) it and \(summary.backups.count == 1 ? "is" : "are") not changed:")
    for backup in summary.backups {
      data.line("  \(printable(backup.path)), made \(time.full(backup.created))")
    }
  }
}
