public import Platform
import Home
import JSONDocument
public import Reasons
public import Records
import Replication
import Storage
import Wire

// The fields of an app's own kinds.

extension RecordField {
  /// A text; the property is empty if the field has no value.
  ///
  /// - Parameters:
  ///   - number: the number of the field, from 1 to 65,535.
  ///   - name: the name of the field on the command line and in exports.
  ///   - path: the property.
  ///   - isRequired: whether every record must have a text that is not empty. Only other devices whose app has no such
  ///     rule can clear it.
  ///   - charactersMax: the maximum number of characters.
  public static func text(
    _ number: Int, _ name: String, _ path: Path<String>, isRequired: Bool = false, charactersMax: Int = 10_000
  ) -> RecordField {
    text(name, path).defined(number, .text, isRequired: isRequired, charactersMax: charactersMax)
  }

  /// A text, or nil.
  public static func text(
    _ number: Int, _ name: String, _ path: Path<String?>, charactersMax: Int = 10_000
  ) -> RecordField {
    field(name, path).defined(number, .text, charactersMax: charactersMax)
  }

  /// A Boolean; the property has the default value if the field has none.
  public static func flag(
    _ number: Int, _ name: String, _ path: Path<Bool>, default value: Bool = false
  ) -> RecordField {
    field(name, path, absent: value).defined(number, .bool, initial: .bool(value))
  }

  /// A whole number; the property has the default value if the field has none.
  public static func integer(
    _ number: Int, _ name: String, _ path: Path<Int>, default value: Int = 0
  ) -> RecordField {
    field(name, path, absent: value).defined(number, .integer, initial: .integer(Int64(value)))
  }

  /// A whole number, or nil.
  public static func integer(_ number: Int, _ name: String, _ path: Path<Int?>) -> RecordField {
    field(name, path).defined(number, .integer)
  }

  /// A number; the property has the default value if the field has none.
  public static func number(
    _ number: Int, _ name: String, _ path: Path<Double>, default value: Double = 0
  ) -> RecordField {
    field(name, path, absent: value).defined(number, .float, initial: .float(wireFloat(value)))
  }

  /// A number, or nil.
  public static func number(_ number: Int, _ name: String, _ path: Path<Double?>) -> RecordField {
    field(name, path).defined(number, .float)
  }

  /// A point in time, to the millisecond, or nil.
  public static func date(_ number: Int, _ name: String, _ path: Path<Date?>) -> RecordField {
    field(name, path).defined(number, .timestamp)
  }

  /// A point in time, to the millisecond; the property has the default value if the field has none.
  public static func date(
    _ number: Int, _ name: String, _ path: Path<Date>, default value: Date
  ) -> RecordField {
    field(name, path, absent: value).defined(number, .timestamp)
  }

  /// A time and the IANA name of the zone in which it is shown. They are one field: neither changes without the other.
  public static func time(
    _ number: Int, _ name: String, _ path: Path<Date?>, zone: Path<String?>
  ) -> RecordField {
    time(name, path, zone: zone).defined(number, .instant)
  }

  /// An amount of money, or nil.
  public static func money(_ number: Int, _ name: String, _ path: Path<Money?>) -> RecordField {
    field(name, path).defined(number, .money)
  }

  /// A geographic coordinate, or nil.
  public static func coordinate(_ number: Int, _ name: String, _ path: Path<Coordinate?>) -> RecordField {
    field(name, path).defined(number, .coordinate)
  }

  /// The id of a record of this or another kind, which the type of the property names. A new record must have one; the
  /// property is the all-zero UUID if the field has no value.
  ///
  /// Saving checks that a parent exists. Any other reference can refer to a record that was deleted.
  public static func reference<Target: Record>(
    _ number: Int, _ name: String, _ path: Path<Identifier<Target>>
  ) -> RecordField {
    RecordField(
      name: name, read: { $1[keyPath: path] = Identifier($0) ?? .zero },
      write: { $0[keyPath: path] == .zero ? .null : $0[keyPath: path].value }, parts: [Part(path: path)]
    ).defined(number, isRequired: true) { .reference(Target.fields.number) }
  }

  /// The id of a record of this or another kind, which the type of the property names, or nil.
  public static func reference<Target: Record>(
    _ number: Int, _ name: String, _ path: Path<Identifier<Target>?>
  ) -> RecordField {
    field(name, path).defined(number) { .reference(Target.fields.number) }
  }

  /// A word from a list of at most 64. A word that this version of the app does not know reads as the default value, but is
  /// kept. Queries compare the stored words, and need a type that conforms to ``QueryValue``.
  public static func word<Word: RawRepresentable & CaseIterable & Sendable>(
    _ number: Int, _ name: String, _ path: Path<Word>, default value: Word
  ) -> RecordField where Word.RawValue == String {
    RecordField(
      name: name, read: { $1[keyPath: path] = $0.asText.flatMap { Word(rawValue: $0) } ?? value },
      write: { .text($0[keyPath: path].rawValue) },
      parts: [Part(path: path, absent: .text(value.rawValue))]
    ).defined(
      number, .text, words: Word.allCases.map(\.rawValue), initial: .text(value.rawValue))
  }

  /// A word from a list of at most 64, or nil. A word that this version of the app does not know reads as nil, but is kept.
  /// Queries compare the stored words, and need a type that conforms to ``QueryValue``.
  public static func word<Word: RawRepresentable & CaseIterable & Sendable>(
    _ number: Int, _ name: String, _ path: Path<Word?>
  ) -> RecordField where Word.RawValue == String {
    RecordField(
      name: name, read: { $1[keyPath: path] = $0.asText.flatMap { Word(rawValue: $0) } },
      write: { ($0[keyPath: path]?.rawValue).map(Value.text) ?? .null }, parts: [Part(path: path)]
    ).defined(number, .text, words: Word.allCases.map(\.rawValue))
  }

  /// Up to 48 KiB of bytes, or nil.
  public static func data(_ number: Int, _ name: String, _ path: Path<Data?>) -> RecordField {
    RecordField(
      name: name,
      read: { value, record in
        if case .bytes(let bytes) = value {
          record[keyPath: path] = Data(bytes)
        } else {
          record[keyPath: path] = nil
        }
      }, write: { $0[keyPath: path].map { .bytes(Array($0)) } ?? .null }, parts: [Part(path: path)]
    ).defined(number, .bytes)
  }

  /// A list of texts. All of them are one value: of two concurrent changes to the list, one wins.
  /// It can't be used in orders, filters or sorting.
  public static func texts(_ number: Int, _ name: String, _ path: Path<[String]>) -> RecordField {
    RecordField(
      name: name,
      read: { value, record in
        if case .array(let items) = value {
          record[keyPath: path] = items.compactMap(\.asText)
        } else {
          record[keyPath: path] = []
        }
      },
      write: { record in
        let items = record[keyPath: path]
        return items.isEmpty ? .null : .array(items.map(Value.text))
      }, parts: [Part(path: path, isComparable: false)]
    ).defined(number, .any)
  }
}

extension RecordField {
  private func defined(
    _ number: Int, _ type: FieldType, isRequired: Bool = false, charactersMax: Int? = nil,
    words: [String] = [], initial: Value = .null
  ) -> RecordField {
    defined(
      number, isRequired: isRequired, charactersMax: charactersMax, words: words, initial: initial
    ) { type }
  }

  private func defined(
    _ number: Int, isRequired: Bool = false, charactersMax: Int? = nil, words: [String] = [],
    initial: Value = .null, _ type: @escaping @Sendable () -> FieldType
  ) -> RecordField {
    var field = self
    // A number beyond the range is refused when the schema is made.
    let known = FieldNumber(exactly: number) ?? 0
    field.number = known
    let name = name
    field.definition = {
      AppField(
        known, name, type(), isRequired: isRequired, charactersMax: charactersMax, words: words,
        initial: initial)
    }
    return field
  }
}

extension AppSchema {
  /// Describes the kinds of an app for ``Node/open(_:name:issuers:purchases:schema:log:)``.
  ///
  /// - Parameters:
  ///   - app: the name of the app in reverse domain form, such as `com.example.packing`.
  ///   - types: the types of the app's own records.
  /// - Throws: ``WaymarkError`` with the code `schema` if a name or number is not allowed or is used twice.
  ///   ``Node/open(_:name:issuers:purchases:schema:log:)`` also throws it if the kind of a parent is missing, or if another
  ///   app on this device uses a number or name.
  public init(_ app: String, _ types: any Record.Type...) throws(WaymarkError) {
    let kinds = types.compactMap { $0.appKind }
    do throws(SchemaError) {
      guard kinds.count == types.count else {
        throw SchemaError(subject: "a schema", rule: "can't contain built-in kinds")
      }
      try self.init(app: app, kinds)
    } catch {
      throw WaymarkError.badSchema(error)
    }
  }
}

extension Record {
  fileprivate static var appKind: AppKind? { fields.appKind }
}

extension WaymarkError {
  /// The error for a record whose kind is not in the schema with which the node was opened.
  static func unknownKind(_ kind: Kind) -> WaymarkError {
    .failed(
      .unknownKind,
      "Unknown kind \(kind.name): it is not in the schema that this node was opened with.",
      next: "pass a schema that contains it to `Node.open`")
  }
}
