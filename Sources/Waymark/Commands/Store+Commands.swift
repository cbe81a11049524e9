import Records
import Replication
import Storage
import Wire

extension Store {
  /// A record that people can see; nil if there is none.
  func visible(_ kind: Kind, _ id: RecordID) throws -> RecordRow? {
    try record(RecordKey(kind: kind.number, id: id)).flatMap { $0.isVisible ? $0 : nil }
  }

  /// All records of a kind that people can see, by id.
  func visible(_ kind: Kind) throws -> [RecordRow] { try records(RecordQuery(kind.number)) }

  /// The device whose write a field shows; nil for a seed.
  func author(of key: RecordKey, field: FieldNumber) throws -> DeviceKey? {
    try record(key).flatMap { try origins(of: $0)[field]?.device }
  }
}

extension RecordRow {
  var isAlive: Bool { life == true }

  func text(_ field: FieldNumber) -> String? { self[field]?.asText }

  /// Everything it holds, what this version does not understand among it.
  var allFields: [FieldNumber: Value] {
    fields.filter { $0.value != .null }.merging(unread) { known, _ in known }
  }
}
