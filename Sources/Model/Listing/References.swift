public import Foundation
import JSONDocument
public import Records
package import Replication
package import Storage
import Wire

/// A record by its kind and id, with its name, whether people can see it or not.
public struct RecordReference: Hashable, Sendable, Codable, Identifiable {
  /// The kind of the record.
  public let kind: RecordKind
  public let id: UUID
  /// Nil if it has none.
  public let name: String?

  package init(kind: RecordKind, id: UUID, name: String?) {
    (self.kind, self.id, self.name) = (kind, id, name)
  }
}

extension RecordReference {
  /// A record as it is in a store; a damaged one can't be read, and has no name.
  package init(_ key: RecordKey, in store: Store) {
    let row = try? store.record(key)
    self.init(
      kind: RecordKind(key.kind), id: UUID(key.id),
      name: row.flatMap { Registry.kind(key.kind)?.title(of: $0) })
  }
}

/// How many records of one kind were written, or would be, and how.
public struct RecordCounts: Hashable, Sendable, Codable {
  /// The kind of the records.
  public let kind: RecordKind
  /// Records that are new.
  public let added: Int
  /// Records of which fields were written.
  public let changed: Int
  /// Records that were deleted.
  public let deleted: Int
  /// Records that were brought back.
  public let restored: Int

  package init(kind: RecordKind, added: Int, changed: Int, deleted: Int, restored: Int) {
    self.kind = kind
    (self.added, self.changed, self.deleted, self.restored) = (added, changed, deleted, restored)
  }
}

/// The value of a field, of any type, for showing it; also of fields that this version does not know.
///
/// Keeps the order of what it consists of, and the digits of numbers.
public enum ShownValue: Hashable, Sendable, CustomStringConvertible {
  /// Nothing, or no value yet.
  case none
  /// True or false.
  case flag(Bool)
  /// A whole number.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  /// Text, and what is written as text: days, times, ids.
  case text(String)
  /// Several values in order.
  case list([ShownValue])
  /// A value of several parts, as an amount with its currency.
  case parts([Part])

  /// A named part of a value, or a field of a record.
  public struct Part: Hashable, Sendable {
    /// What it is called.
    public let name: String
    /// What it holds.
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
  /// Reads the members of an object.
  package init(fieldsFrom decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: DocumentKey.self)
    self = try container.allKeys.map {
      ShownValue.Part($0.stringValue, try container.decode(ShownValue.self, forKey: $0))
    }
  }

  /// Writes them as the members of an object.
  package func encodeFields(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: DocumentKey.self)
    for part in self { try container.encode(part.value, forKey: DocumentKey(part.name)) }
  }
}
