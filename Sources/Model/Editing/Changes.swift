public import Foundation
import Records
import Replication
import Storage
import Wire

/// Several changes as one operation: other devices apply it as a whole, and a user can undo it as a whole.
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

  /// Creates a record, or writes what was changed since it was read; a deleted record is restored.
  ///
  /// To edit the record again afterwards, read it again: changes are computed against the state at the time of the
  /// read.
  public mutating func save(_ record: some Record) { steps.append(.save(SavedRecord(record))) }

  /// Reads a record and writes what the edit changes, as one step when the change is carried out: nothing is
  /// written in between.
  ///
  /// The change fails with `not_found` if there is no such visible record then.
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

  /// Creates or changes several records.
  public mutating func save(_ records: [some Record]) {
    for record in records { save(record) }
  }

  /// Deletes a record; what belongs to it is hidden with it.
  ///
  /// - Parameters:
  ///   - record: the record; only its id matters.
  ///   - force: whether to delete an organization even if items refer to it; these then read as None.
  public mutating func delete(_ record: some Record, force: Bool = false) {
    steps.append(.delete(record.key, force: force))
  }

  /// Deletes a record by its id.
  public mutating func delete<Owner: Record>(_ type: Owner.Type, _ id: UUID, force: Bool = false) {
    steps.append(.delete(RecordKey(kind: type.kind.number, id: RecordID(id)), force: force))
  }

  /// Restores a deleted record.
  public mutating func restore<Owner: Record>(_ type: Owner.Type, _ id: UUID) {
    steps.append(.restore(RecordKey(kind: type.kind.number, id: RecordID(id))))
  }
}

/// A record to be saved.
struct SavedRecord: Sendable {
  let kind: Kind
  let id: RecordID
  /// The fields that were changed since the record was read; for a new record, all fields with a value.
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
