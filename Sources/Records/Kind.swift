// Protocol/records.md

package import Replication
package import Wire

/// A kind of record: its number in change sets, its names for people, and its fields.
package final class Kind: Sendable {
  package let number: KindNumber
  /// The singular on the command line: `trip`.
  package let name: String
  /// The plural, in lists: `trips`.
  package let plural: String
  /// The table with every stored record, visible or not.
  package let table: String
  /// The view of visible records; nil if the kind has none.
  package let view: String?
  /// The field with the record that this one belongs to: a record is hidden while its parent is hidden.
  package let parent: FieldNumber?
  /// Ascending by number.
  package let fields: [Field]
  /// The sort order of lists, for users and applications; ties are broken by id.
  package let order: [ListOrder]
  /// The names of the count in status; nil if records of this kind are not counted.
  package let count: CountName?
  /// The lists of the command line; nil for a kind without commands of its own.
  package let listing: KindListing?

  package var lane: Lane { number.lane }
  package var mergeClass: MergeClass { number.mergeClass }

  private let positions: [FieldNumber: Int]
  private let byName: [String: Field]

  init(
    _ number: UInt64, _ name: String, plural: String, table: String, view: String?,
    parent: FieldNumber? = nil, count: CountName? = nil, order: [ListOrder] = [], fields: [Field],
    listing: KindListing? = nil
  ) {
    guard let known = KindNumber(number) else { preconditionFailure("kind \(number) has no range") }
    self.number = known
    self.name = name
    self.plural = plural
    self.table = table
    self.view = view
    self.parent = parent
    self.count = count
    self.order = order
    self.fields = fields
    self.listing = listing
    positions = Dictionary(uniqueKeysWithValues: zip(fields.map(\.number), fields.indices))
    let names = fields.flatMap { field in field.names.map { ($0, field) } }
    byName = Dictionary(names, uniquingKeysWith: { first, _ in first })
  }

  /// The field with a number; nil for one that a newer version has added.
  package func field(_ number: FieldNumber) -> Field? { positions[number].map { fields[$0] } }

  /// The position of a field in `fields`.
  package func position(of number: FieldNumber) -> Int? { positions[number] }

  /// The field with this name, or with a part of this name, as in `formats.md` or as an alias.
  package func field(named name: String) -> Field? { byName[name] }

  /// The number of a field that this program refers to by name.
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

/// One field of a kind, that is, one cell.
package final class Field: Sendable {
  package let number: FieldNumber
  /// The name in exported files: `startDate`.
  package let name: String
  package let type: FieldType
  /// The rule for local writes; merging ignores it.
  package let rule: Rule
  /// One column for each component of the type.
  package let columns: [Column]
  /// The name of each component in JSON and on the command line: `start`, `startTZId`.
  package let parts: [String]
  /// Aliases that the command line accepts for a part.
  package let aliases: [String: String]
  /// The value in a new record whose author does not set the field.
  package let initial: InitialValue?

  /// - Parameters:
  ///   - columns: the names of the columns, one for each component of the type.
  ///   - parts: the names of the components; the name of the field if there is only one.
  init(
    _ number: FieldNumber, _ name: String, _ type: FieldType, _ columns: [String], parts: [String]? = nil,
    aliases: [String: String] = [:], _ rule: Rule = .none, initial: InitialValue? = nil
  ) {
    let storage = type.columnTypes
    precondition(columns.count == storage.count, "\(name) has \(storage.count) columns")
    self.number = number
    self.name = name
    self.type = type
    self.rule = rule
    self.columns = zip(columns, storage).map { Column(name: $0, type: $1) }
    self.parts = parts ?? [name]
    self.aliases = aliases
    self.initial = initial
  }

  /// Every name that the command line accepts for this field or a part of it.
  package var names: [String] { parts + aliases.keys.sorted() }

  /// The index of the part with a name of the command line.
  package func part(named name: String) -> Int? { parts.firstIndex(of: aliases[name] ?? name) }
}

/// The value of a field in a new record whose author does not set it.
package enum InitialValue: Hashable, Sendable {
  case value(Value)
  /// The time at which the record is created.
  case now
}

extension Kind {
  /// The values of fields that the author of a new record did not set; the time is in milliseconds since 1970.
  ///
  /// - Parameter given: the values that the author did set.
  package func defaults(now: Int64, for given: [FieldNumber: Value] = [:]) -> [FieldNumber: Value] {
    var values: [FieldNumber: Value] = [:]
    for field in fields {
      switch field.initial {
      case .value(let value): values[field.number] = value
      // Exported files have whole seconds, and values written here must survive an export and import unchanged.
      case .now: values[field.number] = .integer(wholeSecond(now))
      case nil: break
      }
    }
    if number == KindNumbers.habit, Registry.isCounted(given) {
      values[Registry.habit.number("kind")] = .text("numeric")
    }
    return values
  }

  /// The kinds whose records fields of this kind refer to by key.
  package var kindsNamedByKey: [Kind] {
    fields.compactMap { field in
      if case .keyReference(let number) = field.type { Registry.kind(number) } else { nil }
    }
  }

  /// The kinds that the parent of a record can have.
  package var parentKinds: [KindNumber] {
    guard let parent, let field = field(parent) else { return [] }
    switch field.type {
    case .reference(let kind): return [kind]
    case .owner: return Registry.ownerNumbers
    default: return []
    }
  }
}

/// A column of a kind's table.
package struct Column: Hashable, Sendable {
  package let name: String
  package let type: ColumnType
}

/// The declared type of a column.
package enum ColumnType: String, Sendable {
  case integer = "INTEGER"
  case real = "REAL"
  case text = "TEXT"
  case blob = "BLOB"
}

/// The type of a field. Every type allows null, which means no value.
package enum FieldType: Hashable, Sendable {
  case bool
  case integer
  case float
  case text
  /// Sixteen bytes.
  case uuid
  /// Integer milliseconds since 1970 UTC.
  case timestamp
  /// [milliseconds, IANA zone or null].
  case instant
  /// [milliseconds, IANA zone or null, day `YYYY-MM-DD` in that zone].
  case datedInstant
  /// [amount as exact decimal text, ISO 4217 code or null].
  case money
  /// [latitude, longitude] in degrees.
  case coordinate
  /// The id of a record of a kind.
  case reference(KindNumber)
  /// The text that names a record of a kind in exported files; the record's id is derived from it.
  case keyReference(KindNumber)
  /// [kind number, id]: a record of one of several kinds.
  case owner
  /// Bytes up to 32 KiB, or the ids of the Content records that hold them, in order.
  case blob
  /// Bytes up to 48 KiB.
  case bytes
  case list(ListShape)
  /// Any value.
  case any

  /// The column types of the components.
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
    case .blob: [.blob, .blob]
    }
  }
}

/// The shapes of structured values.
package enum ListShape: Hashable, Sendable {
  /// [[hour, minute], …]
  case reminders
  /// "daily", or the days of the week, ascending, 1 = Monday … 7 = Sunday.
  case schedule
  /// "oncePerDay", or the minutes between two reminders.
  case frequency
  /// [[name, weight], …], names ascending as bytes.
  case weights
  /// [[from zone, to zone, milliseconds], …]
  case zoneChanges
}

/// The rule that a local write to a field must obey. Merging accepts any value, so that replicas cannot diverge.
package struct Rule: Sendable {
  /// Whether a new record must have a value that is not empty.
  package var isRequired = false
  package var charactersMax: Int?
  /// The allowed words; empty for any text.
  package var words: [String] = []
  package var integers: ClosedRange<Int64>?
  package var numbers: ClosedRange<Double>?
  package var isColor = false
  package var itemsMax: Int?

  package static let none = Rule()

  static func text(_ charactersMax: Int, isRequired: Bool = false) -> Rule {
    Rule(isRequired: isRequired, charactersMax: charactersMax)
  }
  static func words(_ words: String...) -> Rule { Rule(words: words) }
  static func integers(_ range: ClosedRange<Int64>) -> Rule { Rule(integers: range) }
  static func numbers(_ range: ClosedRange<Double>) -> Rule { Rule(numbers: range) }
  static let required = Rule(isRequired: true)
  static let color = Rule(isColor: true)
}
