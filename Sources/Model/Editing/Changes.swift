public import Foundation
import Records
import Replication
import Storage
import Wire

/// Several changes that go together: one operation, which others see as a whole and a person can undo as a whole.
///
/// ```swift
/// try await node.change("new trip") { changes in
///   changes.save(trip)
///   changes.save(hotel)
///   changes.delete(oldTrip)
/// }
/// ```
public struct Changes: Sendable {
  enum Step: Sendable {
    case save(SavedRecord)
    case update(Kind, RecordID, @Sendable (RecordRow) -> SavedRecord)
    case delete(RecordKey, force: Bool)
    case restore(RecordKey)
  }

  private(set) var steps: [Step] = []

  package init() {}

  /// Makes a record, or writes what was changed since it was read; a deleted one comes back.
  ///
  /// To edit the record again afterwards, read it again: the value that is passed still counts from its own read.
  public mutating func save(_ record: some Record) { steps.append(.save(SavedRecord(record))) }

  /// Reads a record when the change is carried out, and writes what the edit has changed: nothing is written in between.
  ///
  /// The change is refused with `not_found` if people can't see such a record then.
  public mutating func update<Owner: Record>(
    _ type: Owner.Type, _ id: UUID, _ edit: @escaping @Sendable (inout Owner) -> Void
  ) {
    steps.append(
      .update(type.kind, RecordID(id)) { row in
        var record = Owner(row)
        edit(&record)
        return SavedRecord(record)
      })
  }

  /// Makes or changes several records.
  public mutating func save(_ records: [some Record]) {
    for record in records { save(record) }
  }

  /// Deletes a record; what belongs to it is hidden with it.
  ///
  /// - Parameters:
  ///   - record: of which only the id counts.
  ///   - force: also an organization that is in use; its users read as None then.
  public mutating func delete(_ record: some Record, force: Bool = false) {
    steps.append(.delete(record.key, force: force))
  }

  /// Deletes a record of which only the id is at hand.
  public mutating func delete<Owner: Record>(_ type: Owner.Type, _ id: UUID, force: Bool = false) {
    steps.append(.delete(RecordKey(kind: type.kind.number, id: RecordID(id)), force: force))
  }

  /// Brings a deleted record back.
  public mutating func restore<Owner: Record>(_ type: Owner.Type, _ id: UUID) {
    steps.append(.restore(RecordKey(kind: type.kind.number, id: RecordID(id))))
  }
}

/// A record on its way into the store.
struct SavedRecord: Sendable {
  let kind: Kind
  let id: RecordID
  /// What was changed since it was read; all that it says if it was made here.
  let changes: [FieldNumber: Value]

  init<Owner: Record>(_ record: Owner) {
    kind = Owner.kind
    id = record.key.id
    changes = record.changes
  }

  init(_ kind: Kind, _ id: RecordID, _ changes: [FieldNumber: Value]) {
    (self.kind, self.id, self.changes) = (kind, id, changes)
  }
}
