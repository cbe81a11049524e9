// Protocol/records.md, "Kinds of apps"

package import Replication
package import Wire

/// The kinds of records that one app defines.
public struct AppSchema: Hashable, Sendable {
  /// The name of the app in reverse domain form: `com.example.packing`.
  public let app: String
  /// The kinds in ascending order of their numbers.
  package let kinds: [AppKind]

  /// - Throws: `SchemaError` if a name or number is not allowed, or is used twice.
  package init(app: String, _ kinds: [AppKind]) throws(SchemaError) {
    self.app = app
    self.kinds = kinds.sorted { $0.number < $1.number }
    try validate()
  }

  /// Creates a schema from kinds that follow the rules.
  init(valid app: String, _ kinds: [AppKind]) {
    self.app = app
    self.kinds = kinds.sorted { $0.number < $1.number }
  }

  /// Returns the schema without kinds that have a number or a name of some other kinds; it can be empty.
  package func without(kindsLike others: [AppKind]) -> AppSchema {
    AppSchema(
      valid: app,
      kinds.filter { kind in
        !others.contains { $0.number == kind.number || $0.sharesName(with: kind) }
      })
  }

  /// Returns these kinds, and those of another version of the same app. If both define a kind or a field, its names and
  /// its type are those of this version, and a local write may do what either version allows. A kind or field of the
  /// other version that does not fit is left out.
  package func merged(with other: AppSchema) -> AppSchema {
    var merged = kinds
    for kind in other.kinds {
      if let index = merged.firstIndex(where: { $0.number == kind.number }) {
        merged[index].addFields(of: kind)
      } else if merged.count < Limits.appKindsMax, !merged.contains(where: { $0.sharesName(with: kind) }) {
        merged.append(kind)
      }
    }
    return AppSchema(valid: app, merged)
  }
}

/// A kind of records as an app defines it.
package struct AppKind: Hashable, Sendable {
  /// The number, in the range for kinds of apps.
  package let number: UInt64
  /// The singular name: `packing-item`.
  package let name: String
  /// The plural name: `packing-items`.
  package let plural: String
  /// The field that refers to a record's parent; nil if records of this kind have no parent.
  package let parent: FieldNumber?
  /// The field that names a record in lists; nil if none does.
  package let title: FieldNumber?
  /// The fields by which lists are sorted, in ascending order.
  package let order: [FieldNumber]
  /// The fields in ascending order of their numbers.
  package private(set) var fields: [AppField]

  package init(
    _ number: UInt64, _ name: String, plural: String, parent: FieldNumber? = nil, title: FieldNumber? = nil,
    order: [FieldNumber] = [], _ fields: [AppField]
  ) {
    (self.number, self.name, self.plural) = (number, name, plural)
    (self.parent, self.title, self.order) = (parent, title, order)
    self.fields = fields.sorted { $0.number < $1.number }
  }

  fileprivate mutating func addFields(of other: AppKind) {
    var names = fields.reduce(into: Self.reservedNames) { $0.formUnion($1.documentNames) }
    for field in other.fields {
      if let index = fields.firstIndex(where: { $0.number == field.number }) {
        fields[index] = fields[index].loosened(by: field)
      } else if fields.count < Limits.appFieldsMax, names.isDisjoint(with: field.documentNames) {
        names.formUnion(field.documentNames)
        fields.append(field)
      }
    }
    fields.sort { $0.number < $1.number }
  }

  func sharesName(with other: AppKind) -> Bool {
    !Set([name, plural]).isDisjoint(with: [other.name, other.plural])
  }
}

/// A field of a kind as an app defines it.
package struct AppField: Hashable, Sendable {
  package let number: FieldNumber
  /// The name in documents and on the command line: `isPacked`.
  package let name: String
  package let type: FieldType
  /// Whether a new record must have a value that is not empty.
  package let isRequired: Bool
  /// The greatest number of characters of a text; nil if only the protocol limits it.
  package let charactersMax: Int?
  /// The words that a text can be; empty if it can be any text.
  package let words: [String]
  /// The value that the field gets in a new record if the author sets none; null to leave it empty.
  package let initial: Value

  package init(
    _ number: FieldNumber, _ name: String, _ type: FieldType, isRequired: Bool = false,
    charactersMax: Int? = nil, words: [String] = [], initial: Value = .null
  ) {
    (self.number, self.name, self.type, self.initial) = (number, name, type, initial)
    (self.isRequired, self.charactersMax, self.words) = (isRequired, charactersMax, words)
  }
}

extension AppField {
  /// Returns the field with rules that allow what either definition allows.
  fileprivate func loosened(by other: AppField) -> AppField {
    guard type == other.type else { return self }
    let longest = charactersMax.flatMap { own in other.charactersMax.map { max(own, $0) } }
    let known = Set(words)
    let all = words + other.words.filter { !known.contains($0) }
    let isFree = words.isEmpty || other.words.isEmpty || all.count > Limits.appWordsMax
    return AppField(
      number, name, type, isRequired: isRequired && other.isRequired, charactersMax: longest,
      words: isFree ? [] : all, initial: initial)
  }
}

/// The error for a schema that breaks a rule of records.md.
package struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What breaks the rule: `the kind “item”`.
  package let subject: String
  /// The rule, as a clause that completes the sentence: `needs a name such as packing-item`.
  package let rule: String

  package init(subject: String, rule: String) { (self.subject, self.rule) = (subject, rule) }

  package var description: String { "\(subject.prefix(1).uppercased() + subject.dropFirst()) \(rule)." }
}

// MARK: Rules

extension AppSchema {
  private func validate() throws(SchemaError) {
    let subject = "the app “\(app)”"
    guard Self.isAppName(app) else {
      throw SchemaError(
        subject: subject, rule: "needs a name in reverse domain form, such as com.example.packing")
    }
    guard (1...Limits.appKindsMax).contains(kinds.count) else {
      throw SchemaError(subject: subject, rule: "can have from 1 to \(Limits.appKindsMax) kinds")
    }
    for (index, kind) in kinds.enumerated() {
      try kind.validate()
      for other in kinds[..<index] {
        guard kind.number != other.number else {
          throw SchemaError(subject: kind.subject, rule: "has the number of another kind, \(kind.number)")
        }
        guard !kind.sharesName(with: other) else {
          throw SchemaError(subject: kind.subject, rule: "has a name of the kind “\(other.name)”")
        }
      }
    }
  }

  static func isAppName(_ name: String) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count >= 2 && name.utf8.count <= Limits.appNameBytesMax
      && parts.allSatisfy { isWord($0, mayBeginWithDigit: true) }
  }

  /// Whether a text consists of lower-case letters and digits of ASCII, with single hyphens between them.
  fileprivate static func isWord(_ text: Substring, mayBeginWithDigit: Bool = false) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard let first = text.utf8.first, mayBeginWithDigit || isLetter(first) else { return false }
    return parts.allSatisfy { part in !part.isEmpty && part.utf8.allSatisfy { isLetter($0) || isDigit($0) } }
  }

  fileprivate static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
  }
  fileprivate static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}

extension AppKind {
  /// The numbers for kinds of apps.
  package static let numbers: ClosedRange<UInt64> = 2_048...4_095

  fileprivate var subject: String { "the kind “\(name)”" }

  var isValid: Bool { (try? validate()) != nil }

  fileprivate func validate() throws(SchemaError) {
    guard Self.numbers.contains(number) else {
      throw SchemaError(
        subject: subject,
        rule: "needs a number from \(Self.numbers.lowerBound) to \(Self.numbers.upperBound), not \(number)")
    }
    // No built-in kind and no command has a hyphen in its name.
    for name in [name, plural] {
      guard name.contains("-"), name.utf8.count <= Limits.schemaNameBytesMax, AppSchema.isWord(name[...])
      else {
        throw SchemaError(
          subject: subject,
          rule: "needs names of lower-case words joined by hyphens, such as packing-item and packing-items")
      }
    }
    guard name != plural else {
      throw SchemaError(subject: subject, rule: "needs a plural that differs from its name")
    }
    guard (1...Limits.appFieldsMax).contains(fields.count) else {
      throw SchemaError(subject: subject, rule: "can have from 1 to \(Limits.appFieldsMax) fields")
    }
    var numbers: Set<FieldNumber> = []
    var names: Set<String> = Self.reservedNames
    for field in fields {
      let subject = "the field “\(field.name)” of \(subject)"
      guard (1...Fields.max).contains(field.number), numbers.insert(field.number).inserted else {
        throw SchemaError(
          subject: subject, rule: "needs a number of its own, from 1 to \(Fields.max), not \(field.number)")
      }
      guard field.hasValidName else {
        throw SchemaError(subject: subject, rule: "needs a name of letters and digits such as isPacked")
      }
      for name in field.documentNames {
        guard names.insert(name).inserted else {
          throw SchemaError(subject: subject, rule: "needs another name, because \(name) is used already")
        }
      }
      guard field.type.appName != nil else {
        throw SchemaError(subject: subject, rule: "has a type that only built-in kinds have")
      }
      guard field.words.count <= Limits.appWordsMax, field.words.allSatisfy(AppField.isWord) else {
        throw SchemaError(
          subject: subject,
          rule: "can have \(Limits.appWordsMax) words of at most \(Limits.schemaNameBytesMax) bytes")
      }
    }
    try validateReferences()
  }

  private func validateReferences() throws(SchemaError) {
    for number in order + [title, parent].compactMap(\.self) {
      guard fields.contains(where: { $0.number == number }) else {
        throw SchemaError(subject: subject, rule: "refers to a field \(number) that it does not have")
      }
    }
    if let title, fields.first(where: { $0.number == title })?.type != .text {
      throw SchemaError(subject: subject, rule: "needs a title that is a text")
    }
    guard let parent, let field = fields.first(where: { $0.number == parent }) else { return }
    guard case .reference(let kind) = field.type, kind.rawValue != number else {
      throw SchemaError(
        subject: subject, rule: "needs a parent that is a reference to a record of another kind")
    }
  }

  /// The names that documents use for other things next to the fields of a record.
  private static let reservedNames: Set<String> = [
    "id", "shortId", "kind", "fields", "conflicts", "deleted", "deletedAt", "deletedBy", "deletedByName",
    "hiddenBy", "output",
  ]
}

extension AppField {
  /// Whether a text can be a word of a field. Control characters could confuse a terminal.
  fileprivate static func isWord(_ text: String) -> Bool {
    (1...Limits.schemaNameBytesMax).contains(text.utf8.count)
      && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

  fileprivate var hasValidName: Bool {
    guard let first = name.utf8.first, AppSchema.isLetter(first), name.utf8.count <= Limits.schemaNameBytesMax
    else {
      return false
    }
    return name.utf8.allSatisfy { byte in
      AppSchema.isLetter(byte) || AppSchema.isDigit(byte)
        || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
  }

  /// All names that documents and the command line use for the field.
  fileprivate var documentNames: [String] {
    if case .reference = type { return [name, nameOfReferenced] }
    var names = parts + aliases.keys + (parts.contains(name) ? [] : [name])
    // Documents repeat times in UTC.
    if [.timestamp, .instant, .datedInstant].contains(type) { names.append(name + "UTC") }
    return names
  }

  private var nameOfReferenced: String {
    for suffix in ["ID", "Id"] where name.hasSuffix(suffix) { return name.dropLast(2) + "Name" }
    return name + "Name"
  }

  /// The names of the field's components in documents.
  fileprivate var parts: [String] {
    switch type {
    case .instant: [name, name + "TZId"]
    case .datedInstant: [name, name + "TZId", name + "Day"]
    case .money: [name, name + "Currency"]
    case .coordinate: [name + "Latitude", name + "Longitude"]
    default: [name]
    }
  }

  fileprivate var aliases: [String: String] {
    switch type {
    case .instant, .datedInstant: [name + "TZ": name + "TZId"]
    default: [:]
    }
  }
}

// MARK: The kinds of a store

/// A schema that a store knows.
package struct KnownApp: Hashable, Sendable {
  package let schema: AppSchema
  /// Whether an app on this device has opened the store with the schema. Otherwise it was learned from other devices.
  package let isGiven: Bool

  package init(_ schema: AppSchema, isGiven: Bool) { (self.schema, self.isGiven) = (schema, isGiven) }
}

extension Schema {
  /// Returns what of some schemas a store can hold together. Given schemas come before learned ones, so that what another
  /// device writes never displaces a kind of an app on this device. Left out are kinds whose number or name an earlier
  /// schema uses, kinds without a known parent, kinds with too many ancestors, and what exceeds the limits.
  package static func accepted(_ apps: [KnownApp]) -> [KnownApp] {
    var room = Room()
    return (apps.filter(\.isGiven) + apps.filter { !$0.isGiven }).prefix(Limits.appsMax).compactMap { app in
      let kinds = room.take(app.schema.kinds)
      return kinds.isEmpty ? nil : KnownApp(AppSchema(valid: app.schema.app, kinds), isGiven: app.isGiven)
    }
  }

  /// The built-in kinds and those of apps.
  package convenience init(_ apps: [KnownApp]) {
    self.init(Schema.builtIn.kinds + Self.accepted(apps).flatMap { $0.schema.kinds.compactMap { Kind($0) } })
  }

  /// What the kinds that were accepted so far leave to others.
  private struct Room {
    private var depths = Dictionary(
      uniqueKeysWithValues: Schema.builtIn.kinds.map { (UInt64($0.number.rawValue), 0) })
    private var names = Set(Schema.builtIn.kinds.flatMap { [$0.name, $0.plural] })
    private var kinds = 0
    private var fields = 0

    /// Accepts kinds in any order: a kind may follow the kind of its parent or come before it.
    mutating func take(_ offered: [AppKind]) -> [AppKind] {
      var waiting = offered.filter {
        depths[$0.number] == nil && names.isDisjoint(with: [$0.name, $0.plural])
      }
      var taken: [AppKind] = []
      while let index = waiting.firstIndex(where: { depth(of: $0) != nil }) {
        let kind = waiting.remove(at: index)
        guard let depth = depth(of: kind), depth <= Limits.appParentsMax, kinds < Limits.knownKindsMax,
          fields + kind.fields.count <= Limits.knownFieldsMax
        else { continue }
        depths[kind.number] = depth
        names.formUnion([kind.name, kind.plural])
        (kinds, fields) = (kinds + 1, fields + kind.fields.count)
        taken.append(kind)
      }
      return taken
    }

    /// The number of kinds of apps from a kind up to a built-in kind; nil if the kind of its parent is not known.
    private func depth(of kind: AppKind) -> Int? {
      guard let parent = kind.parentKind else { return 1 }
      return depths[parent].map { $0 + 1 }
    }
  }
}

extension AppKind {
  /// The kind of the records that are parents of records of this kind; nil for a kind without a parent.
  fileprivate var parentKind: UInt64? {
    guard let parent, case .reference(let kind)? = fields.first(where: { $0.number == parent })?.type else {
      return nil
    }
    return UInt64(kind.rawValue)
  }
}

extension AppSchema {
  /// Checks that all kinds of a given schema were accepted.
  ///
  /// - Throws: `SchemaError` for a kind that the store can't hold.
  package func check(acceptedIn apps: [KnownApp]) throws(SchemaError) {
    let accepted = apps.first { $0.schema.app == app }?.schema.kinds ?? []
    for kind in kinds where !accepted.contains(where: { $0.number == kind.number }) {
      let owner = apps.first { known in
        known.schema.app != app
          && known.schema.kinds.contains { $0.number == kind.number || $0.sharesName(with: kind) }
      }
      throw SchemaError(
        subject: kind.subject,
        rule: owner.map { "has a number or name that the app \($0.schema.app) uses in this store" }
          ?? "needs a parent of a kind that the store knows, with at most \(Limits.appParentsMax) kinds of apps in a row"
      )
    }
  }
}

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
    case .reference: .first([nameOfReferenced])
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
