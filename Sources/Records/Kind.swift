// Protocol/records.md

package import Replication
package import Wire

/// A kind of record: its number in change sets, the names that people see, and its fields.
package final class Kind: Sendable {
  package let number: KindNumber
  /// The singular name, as on the command line: `trip`.
  package let name: String
  /// The plural name, as in lists: `trips`.
  package let plural: String
  /// The name of the table that contains every stored record of this kind, visible or not.
  package let table: String
  /// The name of the view that contains only the visible records; nil if the kind has no view.
  package let view: String?
  /// The field that refers to a record's parent; nil if records of this kind have no parent. A record is hidden while
  /// its parent is hidden.
  package let parent: FieldNumber?
  /// The field that names a record; nil if the names of the fields decide.
  package let title: FieldNumber?
  /// The fields in ascending order of their numbers.
  package let fields: [Field]
  /// The order in which lists are sorted, for users as well as applications; ties are broken by id.
  package let order: [ListOrder]
  /// The names under which status shows how many records of this kind there are; nil if it does not count them.
  package let count: CountName?
  /// How the command line lists records of this kind; nil for a kind that has no commands of its own.
  package let listing: KindListing?

  package var lane: Lane { number.lane }
  /// Whether an app defines the kind.
  package var isOfApp: Bool { AppKind.numbers.contains(UInt64(number.rawValue)) }
  package var mergeClass: MergeClass { number.mergeClass }

  private let positions: [FieldNumber: Int]
  private let byName: [String: Field]

  init(
    _ number: UInt64, _ name: String, plural: String, table: String, view: String?,
    parent: FieldNumber? = nil, title: FieldNumber? = nil, count: CountName? = nil,
    order: [ListOrder] = [], fields: [Field],
    listing: KindListing? = nil
  ) {
    guard let known = KindNumber(number) else { preconditionFailure("kind number \(number) is in no range") }
    self.number = known
    self.name = name
    self.plural = plural
    self.table = table
    self.view = view
    self.parent = parent
    self.title = title
    self.count = count
    self.order = order
    self.fields = fields
    self.listing = listing
    positions = Dictionary(zip(fields.map(\.number), fields.indices), uniquingKeysWith: { first, _ in first })
    let names = fields.flatMap { field in field.names.map { ($0, field) } }
    byName = Dictionary(names, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the field with a number; nil for a field that a newer version has added.
  package func field(_ number: FieldNumber) -> Field? { positions[number].map { fields[$0] } }

  /// The fields that hold when something starts and ends; nil for a kind without them.
  package var span: (start: Field, end: Field)? {
    for names in [("start", "end"), ("startDate", "endDate"), ("departure", "arrival")] {
      if let start = byName[names.0], let end = byName[names.1] { return (start, end) }
    }
    return nil
  }

  /// The field that refers to the record's own address; nil for a kind without one. The address is typed and shown as
  /// part of the record.
  package var addressField: Field? {
    fields.first { $0.type == .reference(KindNumbers.address) && $0.name == "address" }
  }

  /// Returns the position of a field in `fields`.
  package func position(of number: FieldNumber) -> Int? { positions[number] }

  /// Returns the field that has this name or a part with this name, as exported files spell it or as an alias.
  package func field(named name: String) -> Field? { byName[name] }

  /// Returns the number of a field that this program refers to by name. The field must exist.
  package func number(_ name: String) -> FieldNumber {
    guard let field = fields.first(where: { $0.name == name }) else {
      preconditionFailure("\(self.name) has no field \(name)")
    }
    return field.number
  }
}

extension Kind: Hashable {
  package static func == (left: Kind, right: Kind) -> Bool { left.number == right.number }
  package func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// One field of a kind. Every record of the kind has one cell for it.
package final class Field: Sendable {
  package let number: FieldNumber
  /// The name of the field in exported files: `startDate`.
  package let name: String
  package let type: FieldType
  /// The rule that local writes must follow; merging ignores it.
  package let rule: Rule
  /// The columns of the field, one for each component of its type.
  package let columns: [Column]
  /// The names of the components in JSON and on the command line: `start`, `startTZId`.
  package let parts: [String]
  /// Other names that the command line accepts, each with the name of the part that it stands for.
  package let aliases: [String: String]
  /// The value that the field gets in a new record if the author does not set it; nil to leave the field empty.
  package let initial: InitialValue?

  /// Whether the program itself maintains the field, so that help does not explain it.
  package let isInternal: Bool

  /// - Parameters:
  ///   - columns: the names of the columns, one for each component of the type.
  ///   - parts: the names of the components; nil for a field whose only component has the name of the field.
  init(
    _ number: FieldNumber, _ name: String, _ type: FieldType, _ columns: [String], parts: [String]? = nil,
    aliases: [String: String] = [:], _ rule: Rule = .none, initial: InitialValue? = nil,
    isInternal: Bool = false
  ) {
    let storage = type.columnTypes
    precondition(columns.count == storage.count, "\(name) must have \(storage.count) columns")
    self.number = number
    self.name = name
    self.type = type
    self.rule = rule
    self.columns = zip(columns, storage).map { Column(name: $0, type: $1) }
    self.parts = parts ?? [name]
    self.aliases = aliases
    self.initial = initial
    self.isInternal = isInternal
  }

  /// All names that the command line accepts for this field or one of its parts.
  package var names: [String] { parts + aliases.keys.sorted() }

  /// Returns the key for the name of the record that a field with this name refers to: `tripName` for `trip`, `habitName` for
  /// `habitID`.
  package static func nameKey(_ name: String) -> String {
    for suffix in ["ID", "Id"] where name.hasSuffix(suffix) { return name.dropLast(2) + "Name" }
    return name + "Name"
  }

  /// Returns the index of the part that a name or alias refers to on the command line; nil if there is none.
  package func part(named name: String) -> Int? { parts.firstIndex(of: aliases[name] ?? name) }
}

/// The value that a field gets in a new record if the author does not set it.
package enum InitialValue: Hashable, Sendable {
  case value(Value)
  /// The time at which the record is created.
  case now
}

extension Kind {
  /// Returns the initial values of a new record's fields, which apply where the author sets no value.
  ///
  /// - Parameters:
  ///   - now: the time of creation, in milliseconds since 1970.
  ///   - given: the values that the author did set.
  package func defaults(now: Int64, for given: [FieldNumber: Value] = [:]) -> [FieldNumber: Value] {
    var values: [FieldNumber: Value] = [:]
    for field in fields {
      switch field.initial {
      case .value(let value): values[field.number] = value
      // Exported files have whole seconds, and values that are written here must survive an export and import
      // unchanged.
      case .now: values[field.number] = .integer(wholeSecond(now))
      case nil: break
      }
    }
    if number == KindNumbers.habit, Kind.isCounted(given) {
      values[Kind.habit.number("kind")] = .text("numeric")
    }
    return values
  }

  /// The kinds of the records to which fields of this kind refer by key.
  package var kindsNamedByKey: [Kind] {
    fields.compactMap { field in
      if case .keyReference(let number) = field.type { Schema.builtIn.kind(number) } else { nil }
    }
  }

  /// The kinds that the parent of a record of this kind can have.
  package var parentKinds: [KindNumber] {
    guard let parent, let field = field(parent) else { return [] }
    switch field.type {
    case .reference(let kind): return [kind]
    case .owner: return Kind.ownerNumbers
    default: return []
    }
  }
}

/// A column of a kind's table.
package struct Column: Hashable, Sendable {
  package let name: String
  package let type: ColumnType
}

/// The type of a column as declared in SQL.
package enum ColumnType: String, Sendable {
  case integer = "INTEGER"
  case real = "REAL"
  case text = "TEXT"
  case blob = "BLOB"
}

/// The type of a field. Every type allows null, which means that the field has no value.
package enum FieldType: Hashable, Sendable {
  case bool
  case integer
  case float
  case text
  /// A UUID as 16 bytes.
  case uuid
  /// An integer: milliseconds since 1970 UTC.
  case timestamp
  /// A time and its zone: [milliseconds, IANA zone or null].
  case instant
  /// A time, its zone and its day: [milliseconds, IANA zone or null, day `YYYY-MM-DD` in that zone].
  case datedInstant
  /// An amount and its currency: [exact decimal as text, ISO 4217 code or null].
  case money
  /// A place: [latitude, longitude] in degrees.
  case coordinate
  /// A reference to a record of the given kind, by the record's id.
  case reference(KindNumber)
  /// A reference to a record of the given kind by its key, the text that identifies the record in exported files and
  /// from which the record's id is derived.
  case keyReference(KindNumber)
  /// A reference to a record of one of several kinds: [kind number, id].
  case owner
  /// Up to 32 KiB of bytes, or a file reference: [size, file id].
  case blob
  /// Up to 48 KiB of bytes.
  case bytes
  case list(ListShape)
  /// A value of any type.
  case any

  /// The column type of each component.
  package var columnTypes: [ColumnType] {
    switch self {
    case .bool, .integer, .timestamp: [.integer]
    case .float: [.real]
    case .text, .keyReference, .list, .any: [.text]
    case .uuid, .reference, .bytes: [.blob]
    case .instant: [.integer, .text]
    case .datedInstant: [.integer, .text, .text]
    case .money: [.text, .text]
    case .coordinate: [.real, .real]
    case .owner: [.integer, .blob]
    case .blob: [.blob, .blob, .integer]
    }
  }
}

/// The shape of a structured value.
package enum ListShape: Hashable, Sendable {
  /// Times of day: [[hour, minute], …].
  case reminders
  /// "daily", or the weekdays in ascending order, 1 = Monday … 7 = Sunday.
  case schedule
  /// "oncePerDay", or the minimum number of minutes between two reminders.
  case frequency
  /// Named weights: [[name, weight], …], in ascending order of the names' bytes.
  case weights
  /// Changes of a time zone: [[from zone, to zone, milliseconds], …].
  case zoneChanges
}

/// The rule that a local write to a field must follow. Merging accepts any value, so that replicas cannot diverge.
package struct Rule: Sendable {
  /// Whether a new record must have a non-empty value for this field.
  package var isRequired = false
  package var charactersMax: Int?
  /// The allowed words; empty if any text is allowed.
  package var words: [String] = []
  package var integers: ClosedRange<Int64>?
  package var numbers: ClosedRange<Double>?
  package var isColor = false
  /// Whether the text is the name of a time zone. Only a person's typed text is checked.
  package var isZone = false
  package var itemsMax: Int?

  package static let none = Rule()

  static func text(_ charactersMax: Int, isRequired: Bool = false) -> Rule {
    Rule(isRequired: isRequired, charactersMax: charactersMax)
  }
  static func words(_ words: String...) -> Rule { Rule(words: words) }
  static func integers(_ range: ClosedRange<Int64>) -> Rule { Rule(integers: range) }
  static func numbers(_ range: ClosedRange<Double>) -> Rule { Rule(numbers: range) }
  static let required = Rule(isRequired: true)
  static let zone = Rule(charactersMax: 100, isZone: true)
  static let color = Rule(isColor: true)
}
