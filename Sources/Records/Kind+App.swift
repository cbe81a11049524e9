// Protocol/records.md, "Kinds of apps": an app's definition as a kind of the store, with its place on the command line.

import Replication
import Wire

extension Kind {
  /// Creates a kind from an app's definition; nil if its number is in no range.
  package convenience init?(_ kind: AppKind) {
    guard KindNumber(kind.number) != nil else { return nil }
    let fields = kind.fields.map { Field($0) }
    let names = Dictionary(kind.fields.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    let word = kind.name.split(separator: "-").joined(separator: " ")
    self.init(
      kind.number, kind.name, plural: kind.plural, table: "app_\(kind.number)_rows",
      view: "app_" + kind.plural.split(separator: "-").joined(separator: "_"), parent: kind.parent,
      title: kind.title,
      count: CountName(kind.plural, word, kind.plural.split(separator: "-").joined(separator: " ")),
      order: kind.order.compactMap { names[$0].map { .ascending($0.name) } }, fields: fields,
      listing: KindListing(kind))
  }
}

extension Field {
  fileprivate convenience init(_ field: AppField) {
    let count = field.type.columnTypes.count
    // The names of columns consist of numbers, so that no name of a field means something to SQL.
    let columns = (0..<count).map { $0 == 0 ? "f\(field.number)" : "f\(field.number)_\($0)" }
    self.init(
      field.number, field.name, field.type, columns, parts: field.parts, aliases: field.aliases,
      Rule(isRequired: field.isRequired, charactersMax: field.charactersMax, words: field.words),
      initial: field.initial == .null ? nil : .value(field.initial))
  }
}

extension KindListing {
  /// The listing of an app's kind: the record's name, then the fields that fit.
  fileprivate init(_ kind: AppKind) {
    let title = kind.fields.first { $0.number == kind.title }
    let others = kind.fields.filter { $0.number != kind.title && $0.listContent != nil }.prefix(4)
    let first = title.map { [ListColumn($0.heading, widthMin: 12, .first([$0.name]))] } ?? []
    let required = kind.fields.filter { $0.isRequired && $0.number != kind.title }
    let adding = (title.map { [$0] } ?? []) + required
    let example = title == nil ? "0196f0a2" : "Example"
    self.init(
      title: .first(title.map { [$0.name] } ?? []),
      columns: (title == nil ? [ListColumn("ID", .first(["shortId"]))] : first)
        + others.compactMap { field in
          field.listContent.map { ListColumn(field.heading, widthMin: 8, $0) }
        },
      example: Example(
        example,
        add: adding.map { "\($0.name)=\($0.number == kind.title ? example : $0.sample)" }
          .joined(separator: " "),
        edit: (others.first ?? title).map { "\($0.name)=\($0.sample)" } ?? ""))
  }
}

extension AppField {
  /// The heading of the field's column in a list: `PACKED` for `isPacked`, `BAG` for `bagID`.
  fileprivate var heading: String {
    var words = ""
    for letter in name {
      if letter.isUppercase, words.last?.isLowercase == true { words.append(" ") }
      words.append(letter)
    }
    var parts = words.uppercased().split(separator: " ")
    if parts.count > 1, case .bool = type, parts[0] == "IS" { parts.removeFirst() }
    if parts.count > 1, case .reference = type, parts.last == "ID" { parts.removeLast() }
    return parts.joined(separator: " ")
  }

  /// How a list shows the field; nil if it does not.
  fileprivate var listContent: ListColumn.Content? {
    switch type {
    case .text, .integer, .float: .first([name])
    case .bool: .flag(name, ifAbsent: false)
    case .timestamp, .instant: .minute(name)
    case .datedInstant: .first([name + "Day"])
    case .money: .money(name)
    case .reference: .first([Field.nameKey(name)])
    case .blob: .file(name)
    default: nil
    }
  }

  /// A value that could be typed, for help.
  fileprivate var sample: String {
    switch type {
    case .bool: "yes"
    case .integer, .float: "2"
    case .timestamp, .instant, .datedInstant: "2026-05-03"
    case .money: "12.50"
    case .reference: "ID"
    default: words.first ?? "text"
    }
  }
}
