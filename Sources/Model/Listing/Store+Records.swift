import Platform
import Home
import Reasons
package import Records
package import Replication
package import Storage
package import Wire

extension RecordSource {
  /// Returns the record with an id; nil if it is not visible.
  package func visible(_ kind: Kind, _ id: RecordID) throws -> RecordRow? {
    try record(RecordKey(kind: kind.number, id: id)).flatMap { $0.isVisible ? $0 : nil }
  }

  /// Returns all visible records of a kind, ordered by id.
  package func visible(_ kind: Kind) throws -> [RecordRow] { try records(RecordQuery(kind.number)) }

  /// Returns all visible items of a trip in chronological order. Items that start at the same time are ordered by
  /// kind, and items without a start time come last.
  package func timeline(of trip: RecordKey) throws -> [(kind: Kind, record: RecordRow)] {
    let items = try Kind.owners.flatMap { kind in
      let start = kind.number("start")
      return try children(of: trip, kind.number).map { record in
        (start: record[start]?.part(0).asInteger ?? .max, kind: kind, record: record)
      }
    }
    return items.sorted {
      ($0.start, $0.kind.name, $0.record.key.id) < ($1.start, $1.kind.name, $1.record.key.id)
    }
    .map { ($0.kind, $0.record) }
  }

  /// Returns a reference to a record, with its name; the record may be deleted.
  package func reference(_ key: RecordKey) throws -> RecordReference {
    RecordReference(kind: schema.name(key.kind), id: UUID(key.id), name: try title(key))
  }

  /// Returns the name of a record, visible or not. A setting is named by its key, and a habit entry by its habit and
  /// day.
  package func title(_ key: RecordKey) throws -> String? {
    guard let kind = schema.kind(key.kind), let record = try record(key) else { return nil }
    if kind.number == KindNumbers.setting { return record.text(kind.number("key")) }
    guard kind.number == KindNumbers.habitEntry else { return kind.title(of: record) }
    let habit = record[kind.number("habitID")]?.asRecordID
      .map { RecordKey(kind: KindNumbers.habit, id: $0) }
    let parts = [try habit.flatMap(title), record[kind.number("date")]?.part(2).asText]
    return parts.compactMap(\.self).joined(separator: " ")
  }

}

extension Store {
  /// Returns the device that wrote the value that a field has; nil if the value comes from a seed.
  package func author(of key: RecordKey, field: FieldNumber) throws -> DeviceKey? {
    try record(key).flatMap { try origins(of: $0)[field]?.device }
  }
}

extension RecordRow {
  package func text(_ field: FieldNumber) -> String? { self[field]?.asText }
}

extension RecordSource {
  /// Returns the profile record, which every store has.
  package func heldProfile() throws -> RecordRow {
    guard let profile = try record(FixedRecords.profile) else {
      throw WaymarkError.failed(.store, "The store has no profile record.", next: .waymark("status"))
    }
    return profile
  }
}
