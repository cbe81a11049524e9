public import Platform
import JSONDocument
public import Records
package import Replication
package import Storage
import Wire

/// A reference to a record by its kind and id, together with the record's name. The record need not be visible.
public struct RecordReference: Hashable, Sendable, Codable, Identifiable {
  /// The kind of the record.
  public let kind: RecordKind
  public let id: UUID
  /// The name of the record; nil if it has none.
  public let name: String?

  package init(kind: RecordKind, id: UUID, name: String?) {
    (self.kind, self.id, self.name) = (kind, id, name)
  }

  /// Creates a reference without a name to a record of a kind that is known.
  package init<Owner>(_ id: Identifier<Owner>) {
    self.init(kind: RecordKind(rawValue: Owner.kind.name), id: id.uuid, name: nil)
  }

  /// Returns the id as that of a record of a kind, for calls such as ``Node/record(_:)``; nil if the record is of
  /// another kind.
  ///
  /// ```swift
  /// if let id = reference.id(as: Trip.self) { try await node.restore(id) }
  /// ```
  public func id<Owner: Record>(as type: Owner.Type) -> Owner.ID? { Identifier(id, kind) }
}

extension RecordReference {
  /// Creates a reference to a record in a store. It has no name if the record is damaged and can't be read.
  package init(_ key: RecordKey, in store: Store) {
    let row = try? store.record(key)
    self.init(
      kind: store.schema.name(key.kind), id: UUID(key.id),
      name: row.flatMap { store.schema.kind(key.kind)?.title(of: $0) })
  }
}

/// The numbers of records of one kind that an operation added, changed, deleted and restored, or would if it were
/// carried out.
public struct RecordCounts: Hashable, Sendable, Codable {
  /// The kind of the records.
  public let kind: RecordKind
  /// The number of records that were added.
  public let added: Int
  /// The number of records in which fields were changed.
  public let changed: Int
  /// The number of records that were deleted.
  public let deleted: Int
  /// The number of records that were restored.
  public let restored: Int

  package init(kind: RecordKind, added: Int, changed: Int, deleted: Int, restored: Int) {
    self.kind = kind
    (self.added, self.changed, self.deleted, self.restored) = (added, changed, deleted, restored)
  }
}

/// The value of a field of any type in a form for display. Fields that this version does not know can be displayed,
/// too.
///
/// The order of parts and the digits of numbers are kept.
public enum ShownValue: Hashable, Sendable, CustomStringConvertible {
  /// The field has no value.
  case absent
  /// A value that is true or false.
  case flag(Bool)
  /// A whole number.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  /// Text, or a value that is written as text, such as a day, a time or an id.
  case text(String)
  /// Several values in a fixed order.
  case list([ShownValue])
  /// A value that consists of several parts, such as an amount and its currency.
  case parts([Part])

  /// A named part of a value, or a field of a record.
  public struct Part: Hashable, Sendable {
    /// The name of the part.
    public let name: String
    /// The value of the part.
    public let value: ShownValue

    package init(_ name: String, _ value: ShownValue) {
      self.name = name
      self.value = value
    }
  }

  /// The value as text on one line.
  public var description: String {
    switch self {
    case .absent: "–"
    case .flag(let flag): flag ? "yes" : "no"
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .text(let text): text
    case .list(let values): values.map(\.description).joined(separator: ", ")
    case .parts(let parts):
      parts.filter { $0.value != .absent }.map { "\($0.name) \($0.value)" }.joined(separator: ", ")
    }
  }
}

extension ShownValue: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .absent
    } else if let flag = try? container.decode(Bool.self) {
      self = .flag(flag)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let number = try? container.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let list = try? container.decode([ShownValue].self) {
      self = .list(list)
    } else {
      self = .parts(try [Part](fieldsFrom: decoder))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .absent: try container.encodeNil()
    case .flag(let flag): try container.encode(flag)
    case .integer(let number): try container.encode(number)
    case .number(let number): try container.encode(number)
    case .text(let text): try container.encode(text)
    case .list(let values): try container.encode(values)
    case .parts(let parts): try parts.encodeFields(to: encoder)
    }
  }
}

extension [ShownValue.Part] {
  /// Decodes parts from the members of a JSON object.
  package init(fieldsFrom decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: DocumentKey.self)
    self = try container.allKeys.map {
      ShownValue.Part($0.stringValue, try container.decode(ShownValue.self, forKey: $0))
    }
  }

  /// Encodes the parts as members of a JSON object.
  package func encodeFields(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: DocumentKey.self)
    for part in self { try container.encode(part.value, forKey: DocumentKey(part.name)) }
  }
}
