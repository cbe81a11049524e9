import Console
import Control
import Model
import Records
import Waymark

/// A command with the same syntax for every listed kind.
protocol KindTerminalCommand: KindCommand, TerminalCommand {
  static func syntax(of kind: Kind) -> CommandSpec
}

extension KindTerminalCommand {
  static var syntax: CommandSpec { syntax(of: Kind.trip) }
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
      operands: [.init(placeholder: "TEXT", key: "text", isOptional: true)],
      options: filters(kind) + [
        .init(
          flag: "--sort", placeholder: "FIELD",
          summary: "sort by this field; in descending order with a dash, as in -name"),
        .init(flag: "--limit", placeholder: "N", summary: limitSummary(kind)),
        .init(
          flag: "--watch", placeholder: nil, summary: "show the list again after each change, until Ctrl-C"),
        .init(flag: "--ndjson", placeholder: nil, summary: "print each record as one line of JSON"),
        .init(flag: "--deleted", placeholder: nil, summary: "list what is in the trash instead"),
      ],
      details: """
        TEXT lists only what contains this text, regardless of case and accents. Without a terminal, each record
        is a line with tabs between its values, beginning with the whole id, and without headings.
        """, exampleArguments: kind.listing?.example.filter)
  }

  private static func limitSummary(_ kind: Kind) -> String {
    let which = kind == Kind.habitEntry ? "the newest N" : "at most N"
    return "list \(which); on a terminal the default is \(Self.limitOnTerminal)"
  }

  /// The greatest number of records that are listed on a terminal unless `--limit` says otherwise.
  static let limitOnTerminal = 1_000

  private static func filters(_ kind: Kind) -> [CommandSpec.Option] {
    let parents = kind.parentKinds.compactMap { Schema.known.kind($0)?.name }.map { parent in
      CommandSpec.Option(
        flag: "--\(parent)", placeholder: parent.uppercased(), summary: "only those of this \(parent)")
    }
    let days: [CommandSpec.Option] = [
      .init(flag: "--from", placeholder: "DAY", summary: "from this day on"),
      .init(flag: "--to", placeholder: "DAY", summary: "up to this day"),
    ]
    if kind == Kind.trip || kind.hasStart {
      return parents + [
        .init(flag: "--upcoming", placeholder: nil, summary: "only what takes place today or later")
      ] + days
    }
    guard kind.fields.contains(where: { $0.type == .datedInstant }) else { return parents }
    return parents + [.init(flag: "--date", placeholder: "DAY", summary: "only on this day")] + days
  }

  func rows(of answer: Answer) -> DocumentRows? { DocumentRows(key: answer.plural) }

  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.list(self, answer) }
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

  func render(_ answer: ShownRecord, into rendering: inout Rendering) {
    rendering.show(answer, Schema.known.kind(named: kind))
  }
}

extension AddRecord: KindTerminalCommand {
  static func syntax(of kind: Kind) -> CommandSpec {
    CommandSpec(
      words: [kind.name, "add"], summary: "add \(kind.phrase)", operands: [fieldsOperand],
      details: kind == Kind.attachment
        ? """
        If file= is given several times, each of the files becomes an attachment. Either all of them are attached, in
        one operation, or none.
        """
        : kind.field(named: "name") != nil
          ? "A single word without = is the name: waymark \(kind.name) add NAME is short for name=NAME."
          : nil,
      exampleArguments: kind.listing?.example.adding)
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    let ids = answer.ids ?? [answer.id]
    guard !rendering.data.isPiped else { return ids.forEach { rendering.data.line($0) } }
    if ids.count > 1 {
      rendering.data.line("Added \(counted(Int64(ids.count), kind, Schema.known.kind(named: kind)?.plural))")
    } else {
      let name = answer.name.map { " \(printable($0))" } ?? ""
      rendering.data.line("Added \(printable(kind))\(name) (\(shortRecordID(answer.id)))")
    }
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
      options: [Kind.organization, Kind.category].contains(kind)
        ? [.init(flag: "--force", placeholder: nil, summary: "delete it even if it is in use")] : [],
      details: kind == Kind.trip
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
      "Hidden until \(kind) “\(above.shownName)” is restored: \(waymark: "\(kind) restore \(shortRecordID(above.id))")"
    )
  }
}

extension ShowTimeline: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["trip", "timeline"], summary: "show everything in a trip in chronological order",
    operands: [.init(placeholder: "TRIP", key: "id")], exampleArguments: "Rome")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    // A program gets the items only.
    let zones = Set(answer.items.flatMap { $0.end == nil ? [$0.startZone] : [$0.startZone, $0.endZone] })
    let zone = zones.count == 1 ? zones.first.flatMap(\.self) : nil
    if !rendering.data.isPiped {
      let note = zone.map { "  times in \(printable($0))" } ?? ""
      rendering.data.line(
        rendering.data.paint(printable(answer.name ?? ""), .strong) + rendering.data.paint(note, .faint))
    }
    guard !answer.items.isEmpty else { return rendering.notes.paragraph("Nothing in this trip yet.") }
    let showsZones = zone == nil || rendering.data.isPiped
    var table = TextTable(
      [.init("START")] + (showsZones ? [.init("ZONE", widthMin: 6)] : [])
        + [.init("END"), .init("WHAT"), .init("NAME", widthMin: 12), .init("COST", isRight: true)])
    table.isList = true
    for item in answer.items {
      table.rows.append(
        [.init(minute(item.start))] + (showsZones ? [.init(item.startZone ?? "")] : []) + [
          .init(rendering.endText(item.end, start: item.start) + otherZone(item)), .init(item.kind),
          .init(item.name ?? "", .strong), .init(item.cost?.description ?? ""),
        ])
    }
    rendering.data.table(table)
  }

  /// The zone of the end after a space, if it is not that of the start, as that of a flight.
  private func otherZone(_ item: Item) -> String {
    guard let zone = item.endZone, zone != item.startZone else { return "" }
    return " " + zone
  }
}

extension ShownReference {
  /// The name, or the short id if there is no name.
  var shownName: String { name.map(printable) ?? shortRecordID(id) }
}

/// The day and time of a value, in the zone of the value itself.
func minute(_ time: String?) -> String {
  time.map { String($0.prefix(16)).replacing("T", with: " ") } ?? "–"
}

extension Rendering {
  /// Writes whether anything was changed.
  mutating func changed(_ isChanged: Bool) {
    notes.paragraph(isChanged ? "Changed." : "No change: it already has this value.")
  }
}
