import Platform
import Records
import Replication
import Storage
import Wire

/// Several changes that form one operation. Other devices apply the operation as a whole, and a user can undo it as a
/// whole.
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

  /// Creates a record, or writes the fields that were changed since the record was read. A deleted record is
  /// restored.
  ///
  /// To edit the record again after saving it, read it again first, because changes are computed against the state in
  /// which a record was read.
  public mutating func save(_ record: some Record) { steps.append(.save(SavedRecord(record))) }

  /// Reads a record, edits it, and writes the fields that the edit changed. This happens in one step when the
  /// operation is carried out, so nothing else is written in between.
  ///
  /// The operation fails with `not_found` if there is no visible record with this id at that time.
  public mutating func update<Owner>(
    _ id: Identifier<Owner>, _ edit: @escaping @Sendable (inout Owner) -> Void
  ) {
    steps.append(
      .update(Owner.kind, RecordID(id)) { row in
        var record = Owner(row)
        edit(&record)
        return SavedRecord(record)
      })
  }

  /// Creates or changes several records.
  public mutating func save(_ records: [some Record]) {
    for record in records { save(record) }
  }

  /// Deletes a record. Records that belong to it are hidden with it.
  ///
  /// - Parameters:
  ///   - record: the record to delete, of which only the id matters.
  ///   - isForced: whether to delete an organization even if items refer to it; their organization then becomes None.
  public mutating func delete(_ record: some Record, isForced: Bool = false) {
    steps.append(.delete(record.key, force: isForced))
  }

  /// Deletes a record by its id.
  public mutating func delete<Owner>(_ id: Identifier<Owner>, isForced: Bool = false) {
    steps.append(.delete(RecordKey(kind: Owner.kind.number, id: RecordID(id)), force: isForced))
  }

  /// Restores a deleted record.
  public mutating func restore<Owner>(_ id: Identifier<Owner>) {
    steps.append(.restore(RecordKey(kind: Owner.kind.number, id: RecordID(id))))
  }
}

/// A record to save, with its changes.
struct SavedRecord: Sendable {
  let kind: Kind
  let id: RecordID
  /// The values of the fields that were changed since the record was read; for a new record, of all fields that have
  /// a value.
  let changes: [FieldNumber: Value]
  /// Whether the record was not read from the store, so that `changes` has all of its values.
  let isNew: Bool

  init<Owner: Record>(_ record: Owner) {
    self.init(Owner.kind, record.key.id, record.changes, isNew: record.origin.values == nil)
  }

  init(_ kind: Kind, _ id: RecordID, _ changes: [FieldNumber: Value], isNew: Bool) {
    (self.kind, self.id, self.changes, self.isNew) = (kind, id, changes, isNew)
  }
}
