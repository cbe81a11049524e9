import Control
import JSONDocument
import Records
import Waymark

/// A command with the same syntax for every listed kind.
protocol KindTerminalCommand: KindCommand, TerminalCommand {
  static func syntax(of kind: Kind) -> CommandSpec
}

extension KindTerminalCommand {
  static var syntax: CommandSpec { syntax(of: Registry.listed[0]) }
  static var syntaxes: [CommandSpec] { Registry.listed.map { syntax(of: $0) } }
}

private let recordOperand = CommandSpec.Operand(placeholder: "ID", key: "id")
private let fieldsOperand = CommandSpec.Operand(
  placeholder: "FIELD=VALUE", key: "fields", type: .field, isRepeated: true)

extension Kind {
  /// `a trip`, `an activity`, `a habit entry`
  fileprivate var phrase: String {
    let noun = count?.one ?? name
    return ("aeiou".contains(noun.prefix(1)) ? "an " : "a ") + noun
  }
}

extension ListRecords: KindTerminalCommand {
  static func syntax(of kind: Kind) -> CommandSpec {
    CommandSpec(
      words: [kind.name, "list"], summary: "list \(kind.count?.many ?? kind.plural)",
      options: filters(kind) + [
        .init(flag: "--deleted", placeholder: nil, summary: "list what is in the trash instead")
      ], exampleArguments: "")
  }

  private static func filters(_ kind: Kind) -> [CommandSpec.Option] {
    let parents = kind.parentKinds.compactMap { Registry.kind($0)?.name }.map { parent in
      CommandSpec.Option(
        flag: "--\(parent)", placeholder: parent.uppercased(), summary: "only those of this \(parent)")
    }
    guard kind.fields.contains(where: { $0.type == .datedInstant }) else { return parents }
    return parents + [
      .init(flag: "--date", placeholder: "DAY", summary: "only on this day"),
      .init(flag: "--from", placeholder: "DAY", summary: "from this day on"),
      .init(flag: "--to", placeholder: "DAY", summary: "up to this day"),
    ]
  }

  func rows(of answer: Answer) -> DocumentRows? { DocumentRows(key: answer.plural) }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard let listing = Registry.kind(named: kind)?.listing else { return }
    guard !answer.items.isEmpty else {
      return rendering.notes.paragraph("No \(answer.plural) \(deleted ? "in the trash" : "yet").")
    }
    let ids = distinctPrefixes(answer.items.map(\.record.id))
    func id(_ item: Item) -> TextTable.Cell { .init(ids[item.record.id] ?? item.record.id, .faint) }
    guard deleted else {
      var table = TextTable(
        [.init("ID")]
          + listing.columns.map { .init($0.heading, isRight: $0.isRight, widthMin: $0.widthMin) })
      table.rows = answer.items.map { item in
        [id(item)] + listing.columns.map { .init(text($0.content, of: item.record)) }
      }
      return rendering.data.table(table)
    }
    var table = TextTable([
      .init("ID"), .init("NAME", widthMin: 16), .init("DELETED"), .init("BY", widthMin: 8),
      .init("WITH", widthMin: 8),
    ])
    for item in answer.items {
      let above = item.deletion?.hiddenBy.map { "\($0.kind) \($0.shownName)" }
      table.rows.append([
        id(item), .init(text(listing.title, of: item.record)),
        .init(rendering.time.full(item.deletion?.deletedAt)), .init(item.deletion?.deletedByName ?? ""),
        .init(above ?? ""),
      ])
    }
    rendering.data.table(table)
    rendering.notes.paragraph("To restore one: \(waymark: "\(kind) restore ID")")
  }

  private func text(_ content: ListColumn.Content, of record: ShownRecord) -> String {
    switch content {
    case .first(let names): names.lazy.compactMap { record[$0]?.cellText }.first ?? ""
    case .all(let names): names.compactMap { record[$0]?.cellText }.joined(separator: " ")
    case .day(let name): record[name]?.string.map { String($0.prefix(10)) } ?? "–"
    case .minute(let name): minute(record[name])
    case .money(let name): record[name]?.moneyText ?? ""
    case .sums(let name): (record[name]?.array ?? []).compactMap(\.moneyText).joined(separator: " + ")
    case .number(let name): grouped(record[name]?.integer ?? 0)
    case .bytes(let name): record[name]?.integer.map { "\(grouped($0)) B" } ?? ""
    case .file(let name): record[name]?.fileState?.text ?? ""
    case .flag(let name): record[name]?.boolean == false ? "no" : "yes"
    }
  }
}

extension ShowRecord: KindTerminalCommand {
  static func syntax(of kind: Kind) -> CommandSpec {
    CommandSpec(
      words: [kind.name, "show"], summary: "show \(kind.phrase)", operands: [recordOperand],
      options: kind.fields.contains { $0.type == .blob }
        ? [
          .init(
            flag: "--output", placeholder: "FILE",
            summary: "write its content to a file; fetch it first if it is on another device", type: .path)
        ] : [],
      exampleArguments: kind.listing?.example.id)
  }

  func render(_ answer: ShownRecord, into rendering: inout Rendering) { rendering.show(answer, kind) }
}

extension AddRecord: KindTerminalCommand {
  static func syntax(of kind: Kind) -> CommandSpec {
    CommandSpec(
      words: [kind.name, "add"], summary: "add \(kind.phrase)", operands: [fieldsOperand],
      details: kind == Registry.attachment
        ? """
        If file= is given several times, each of the files becomes an attachment. Either all of them are attached, in
        one operation, or none.
        """ : nil,
      exampleArguments: kind.listing?.example.adding)
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    for id in answer.ids ?? [answer.id] { rendering.data.line(id) }
  }
}

extension EditRecord: KindTerminalCommand {
  static func syntax(of kind: Kind) -> CommandSpec {
    CommandSpec(
      words: [kind.name, "edit"], summary: "change \(kind.phrase)",
      operands: [recordOperand, fieldsOperand],
      exampleArguments: kind.listing.map { "\($0.example.id) \($0.example.change)" })
  }

  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.changed(answer.changed) }
}

extension DeleteRecord: KindTerminalCommand {
  static func syntax(of kind: Kind) -> CommandSpec {
    CommandSpec(
      words: [kind.name, "delete"], summary: "delete \(kind.phrase)", operands: [recordOperand],
      options: [Registry.organization, Registry.category].contains(kind)
        ? [.init(flag: "--force", placeholder: nil, summary: "delete it even if it is in use")] : [],
      details: kind == Registry.trip
        ? "Asks first if the trip is protected, or if ID is only the beginning of its name or id." : nil,
      exampleArguments: kind.listing?.example.id)
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    let with = answer.contents.isEmpty ? "" : " with \(ContentCount.text(answer.contents))"
    rendering.notes.paragraph("Deleted \(kind) “\(printable(answer.name ?? answer.id))”\(with).")
    if let operation = answer.operation {
      rendering.notes.paragraph("To undo this: \(waymark: "undo \(shortID(operation.description))")")
    }
  }
}

extension RestoreRecord: KindTerminalCommand {
  static func syntax(of kind: Kind) -> CommandSpec {
    CommandSpec(
      words: [kind.name, "restore"], summary: "restore a deleted \(kind.name), with all its changes",
      operands: [recordOperand], exampleArguments: kind.listing?.example.id)
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.notes.paragraph("Restored \(kind) “\(printable(answer.name ?? answer.id))”.")
    guard let above = answer.hiddenBy else { return }
    let kind = printable(above.kind)
    rendering.notes.paragraph(
      "Hidden until \(kind) “\(above.shownName)” is restored: \(waymark: "\(kind) restore \(shortID(above.id))")"
    )
  }
}

extension ShowTimeline: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["trip", "timeline"], summary: "show everything in a trip in chronological order",
    operands: [.init(placeholder: "TRIP", key: "id")], exampleArguments: "Rome")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.data.line(printable(answer.name ?? ""), .strong)
    guard !answer.items.isEmpty else { return rendering.notes.paragraph("Nothing in this trip yet.") }
    var table = TextTable([
      .init("START"), .init("ZONE", widthMin: 8), .init("END"), .init("WHAT"), .init("NAME", widthMin: 16),
      .init("COST", isRight: true),
    ])
    for item in answer.items {
      table.rows.append([
        .init(minute(item.start)), .init(item.startZone ?? ""), .init(minute(item.end)), .init(item.kind),
        .init(item.name ?? "", .strong), .init(item.cost?.moneyText ?? ""),
      ])
    }
    rendering.data.table(table)
  }
}

extension ShownReference {
  /// The name, or the beginning of the id if there is no name.
  fileprivate var shownName: String { name.map(printable) ?? shortID(id) }
}

private func minute(_ value: JSON?) -> String {
  value?.string.map { String($0.prefix(16)).replacing("T", with: " ") } ?? "–"
}

extension JSON {
  /// The text of a table cell for a string or a number; nil for any other value.
  fileprivate var cellText: String? { string ?? number }
}

extension Rendering {
  /// Writes every field that has a value. A structured value is written in the form in which the user types it.
  mutating func show(_ record: ShownRecord, _ kind: String) {
    let members = record.members.filter { !$0.value.isNull && $0.value != [] }
    if members.isEmpty { notes.paragraph("Nothing yet.") }
    data.pairs(
      members.map { member in
        let typed = RecordText.typed(member.value, kind: kind, field: member.key)
        return (member.key, typed.map(printable) ?? member.value.fileText ?? member.value.plainText)
      })
  }

  /// Writes whether anything was changed.
  mutating func changed(_ isChanged: Bool) {
    notes.paragraph(isChanged ? "Changed." : "No change: it already has this value.")
  }
}
