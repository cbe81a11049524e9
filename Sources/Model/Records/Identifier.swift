public import Platform
import Home
package import Records
import Replication
import Sodium
import Storage
package import Wire

/// The id of a record of one kind, such as ``Trip``: a UUID that can't be confused with the id of a record of another
/// kind.
public struct Identifier<Owner: Record>: Hashable, Sendable {
  /// The id without the kind of its record.
  public let uuid: UUID

  /// Creates the id of a record of this kind from a UUID.
  public init(_ uuid: UUID) { self.uuid = uuid }

  /// Parses a UUID in the form `8-4-4-4-12`, with hexadecimal digits in upper or lower case; nil for any other text.
  public init?(_ text: String) {
    guard let uuid = UUID(uuidString: text) else { return nil }
    self.uuid = uuid
  }

  /// Returns an id for a new record. It is a version 7 UUID (RFC 9562), so that records that are created one after
  /// the other are stored close together.
  public static func new() -> Identifier {
    Identifier(RecordID(milliseconds: Date.now.milliseconds, random: random16()))
  }

  package init(_ id: RecordID) { uuid = UUID(id) }

  /// Creates an id from one whose kind is known only at run time; nil if the record is of another kind.
  package init?(_ uuid: UUID, _ kind: RecordKind) {
    guard kind.rawValue == Owner.kind.name else { return nil }
    self.uuid = uuid
  }

  /// The all-zero UUID, which is the id of no record: a reference has it as long as it is not set.
  public static var zero: Identifier { Identifier(RecordID(.zero)) }
}

extension Identifier: Comparable {
  public static func < (left: Identifier, right: Identifier) -> Bool { left.uuid < right.uuid }
}

extension Identifier: CustomStringConvertible {
  /// The id as text, with hexadecimal digits in upper case.
  public var description: String { uuid.uuidString }
}

extension Identifier: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = Identifier(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected a UUID")
    }
    self = id
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension Identifier: FieldContent, QueryValue {
  init?(_ value: Value) {
    guard let id = value.asRecordID else { return nil }
    self.init(id)
  }

  var value: Value { uuid.value }

  public var queryOperand: QueryOperand { uuid.queryOperand }
}

extension UUID {
  package init(_ id: some Identifier16) {
    let bytes = id.bytes
    self.init(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9],
        bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }
}

extension RecordID {
  package init(_ id: UUID) {
    let bytes = withUnsafeBytes(of: id.uuid) { Array($0) }
    guard let raw = RecordID(bytes: bytes) else { preconditionFailure("a UUID is not 16 bytes long") }
    self = raw
  }

  package init(_ id: Identifier<some Record>) { self.init(id.uuid) }
}
