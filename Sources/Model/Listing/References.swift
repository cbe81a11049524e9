public import Foundation
import JSONDocument
public import Records
package import Replication
package import Storage
import Wire

/// A record by kind and id, with its name, visible or not.
public struct RecordReference: Hashable, Sendable, Codable, Identifiable {
  /// The kind of the record.
  public let kind: RecordKind
  public let id: UUID
  /// The name; nil if the record has none.
  public let name: String?

  package init(kind: RecordKind, id: UUID, name: String?) {
    (self.kind, self.id, self.name) = (kind, id, name)
  }
}

extension RecordReference {
  /// A reference to a record of a store; without a name if the record is damaged and can't be read.
  package init(_ key: RecordKey, in store: Store) {
    let row = try? store.record(key)
    self.init(
      kind: RecordKind(key.kind), id: UUID(key.id),
      name: row.flatMap { Registry.kind(key.kind)?.title(of: $0) })
  }
}

/// How many records of one kind were written, or would be.
public struct RecordCounts: Hashable, Sendable, Codable {
  /// The kind of the records.
  public let kind: RecordKind
  /// New records.
  public let added: Int
  /// Records with changed fields.
  public let changed: Int
  /// Deleted records.
  public let deleted: Int
  /// Restored records.
  public let restored: Int

  package init(kind: RecordKind, added: Int, changed: Int, deleted: Int, restored: Int) {
    self.kind = kind
    (self.added, self.changed, self.deleted, self.restored) = (added, changed, deleted, restored)
  }
}

/// The value of a field of any type, for display; also for fields that this version does not know.
///
/// Keeps the order of parts, and the digits of numbers.
public enum ShownValue: Hashable, Sendable, CustomStringConvertible {
  /// No value.
  case none
  /// True or false.
  case flag(Bool)
  /// A whole number.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  /// Text, and values written as text: days, times, ids.
  case text(String)
  /// Several values in order.
  case list([ShownValue])
  /// A value of several parts, such as an amount with its currency.
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

  /// The value on one line.
  public var description: String {
    switch self {
    case .none: "–"
    case .flag(let flag): flag ? "yes" : "no"
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .text(let text): text
    case .list(let values): values.map(\.description).joined(separator: ", ")
    case .parts(let parts):
      parts.filter { $0.value != .none }.map { "\($0.name) \($0.value)" }.joined(separator: ", ")
    }
  }
}

extension ShownValue: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .none
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
    case .none: try container.encodeNil()
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
  /// Decodes parts from the members of an object.
  package init(fieldsFrom decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: DocumentKey.self)
    self = try container.allKeys.map {
      ShownValue.Part($0.stringValue, try container.decode(ShownValue.self, forKey: $0))
    }
  }

  /// Encodes the parts as members of an object.
  package func encodeFields(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: DocumentKey.self)
    for part in self { try container.encode(part.value, forKey: DocumentKey(part.name)) }
  }
}
