import Platform
import Model
import Records
import Replication
import Storage
public import Wire

extension Node {
  /// Writes several changes as one operation.
  ///
  /// Either all changes are on disk when this returns, or none. If sync is on, they are sent to other devices at once.
  /// Changing many records at once costs little more than changing one.
  ///
  /// To change a record again afterwards, read it again first, watch it, or use ``Changes/update(_:_:)``. A value is
  /// compared with what it was when it was read, and this call does not update the values that you hold.
  /// ``save(_:_:_:)`` returns values to continue with.
  ///
  /// - Parameters:
  ///   - label: the name of the operation in the history; 1 to 32 bytes.
  ///   - body: collects the changes.
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if nothing had to change.
  /// - Throws: ``WaymarkError``, in which case nothing is written. The error with the code `bad_value` names the field
  ///   and what is allowed, `not_found` names what is missing, and `in_use` names an organization that is in use.
  @discardableResult
  public nonisolated func change(
    _ label: String = "app.change", _ body: (inout Changes) throws -> Void
  ) async throws -> OperationID? {
    var changes = Changes()
    try body(&changes)
    return try await apply(changes, label)
  }

  /// Creates a record, or saves what was changed in it since it was read. Saving a deleted record restores it.
  ///
  /// A field is written only if its value differs both from the value that was read and from the value that is in the
  /// store now. Fields that were not edited keep what others have written in the meantime. For a new record, all fields
  /// that are not empty are written.
  ///
  /// - Returns: the record as stored now. Use this value for the next edit. If you edited and saved the old value again
  ///   instead, it would still be compared with what was read at first, so a field that you set back to its first
  ///   content would not be written. If you keep no value, ``update(_:_:)`` reads, edits and saves in one call.
  /// - Throws: ``WaymarkError``; see ``change(_:_:)``.
  public func save<Owner: Record>(_ record: Owner) throws -> Owner {
    var changes = Changes()
    changes.save(record)
    return try core.withWaymarkErrors {
      let isNew = try core.store.record(record.key) == nil
      return try applied(changes, "\(Owner.kind.name).\(isNew ? "add" : "edit")").stored(record)
    }
  }

  /// Reads a record, edits it and saves the changes, with no other write in between.
  ///
  /// ```swift
  /// try await node.update(id) { $0.name = "Roma" }
  /// ```
  ///
  /// - Parameters:
  ///   - id: the id of the record; ``Profile/only`` for the profile.
  ///   - edit: edits the record as stored now.
  /// - Returns: the record as stored now.
  /// - Throws: ``WaymarkError`` with the code `not_found` if there is no such record or it is deleted; other errors of
  ///   ``change(_:_:)``; and the errors of `edit`. If this throws, nothing is written.
  @discardableResult
  public func update<Owner>(
    _ id: Identifier<Owner>, _ edit: @Sendable (inout Owner) throws -> Void
  ) throws -> Owner {
    var record = try core.withWaymarkErrors { try core.store.editable(id) }
    try edit(&record)
    return try save(record)
  }

  /// Creates or changes several records of one kind as one operation.
  ///
  /// - Returns: the records as stored now. Use these values for the next edit.
  /// - Throws: ``WaymarkError``; see ``change(_:_:)``.
  public func save<Owner: Record>(_ records: [Owner]) throws -> [Owner] {
    var changes = Changes()
    changes.save(records)
    return try core.withWaymarkErrors {
      let saved = try applied(changes, "\(Owner.kind.name).save")
      return try records.map { try saved.stored($0) }
    }
  }

  /// Creates or changes records of several kinds as one operation.
  ///
  /// ```swift
  /// let rome = Trip(name: "Rome")
  /// var (trip, hotel) = try await node.save(rome, Lodging(name: "Casa Rosa", tripID: rome.id))
  /// ```
  ///
  /// - Returns: the records as stored now, in the same order. Use these values for the next edit.
  /// - Throws: ``WaymarkError``; see ``change(_:_:)``.
  public func save<First: Record, Second: Record, each Other: Record>(
    _ first: First, _ second: Second, _ others: repeat each Other
  ) throws -> sending (First, Second, repeat each Other) {
    var changes = Changes()
    changes.save(first)
    changes.save(second)
    repeat changes.save(each others)
    let saved = try core.withWaymarkErrors { try applied(changes, "app.change") }
    do {
      return (try saved.stored(first), try saved.stored(second), repeat try saved.stored(each others))
    } catch {
      throw WaymarkError.reading(home, error)
    }
  }

  /// Deletes a record. Records that belong to it are hidden and restored together with it.
  ///
  /// - Parameters:
  ///   - record: the record; only its id is used.
  ///   - isForced: whether to delete an organization that is in use; the records that use it then show the organization
  ///     None instead.
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if there was no such record.
  @discardableResult
  public func delete<Owner: Record>(_ record: Owner, isForced: Bool = false) throws -> OperationID? {
    var changes = Changes()
    changes.delete(record, isForced: isForced)
    return try apply(changes, "\(Owner.kind.name).delete")
  }

  /// Deletes several records of one kind as one operation.
  ///
  /// - Parameters:
  ///   - records: the records; only their ids are used.
  ///   - isForced: whether to delete organizations that are in use; the records that use them then show the organization
  ///     None instead.
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if there were no such records.
  @discardableResult
  public func delete<Owner: Record>(_ records: [Owner], isForced: Bool = false) throws -> OperationID? {
    var changes = Changes()
    for record in records { changes.delete(record, isForced: isForced) }
    return try apply(changes, "\(Owner.kind.name).delete")
  }

  /// Restores a deleted record.
  ///
  /// - Returns: the restored record; nil if it never existed, or if the record that it belongs to is still deleted.
  /// - Throws: ``WaymarkError`` with the code `erased` if nothing is left of the record because it was erased.
  @discardableResult
  public func restore<Owner>(_ id: Identifier<Owner>) throws -> Owner? {
    var changes = Changes()
    changes.restore(id)
    _ = try apply(changes, "\(Owner.kind.name).restore")
    return try readOnQueue(.record(id))
  }

  func apply(_ changes: Changes, _ label: String) throws -> OperationID? {
    try core.withWaymarkErrors {
      try core.write(changes.prepared(label, in: core.store, now: core.wall()).change)
    }
  }

  /// Writes changes as one operation, and returns the prepared changes, from which the saved records can be read.
  private func applied(_ changes: Changes, _ label: String) throws -> Changes.Prepared {
    let prepared = try changes.prepared(label, in: core.store, now: core.wall())
    try core.write(prepared.change)
    return prepared
  }

  /// Restores a record of any kind, such as one that ``LiveQuery/trash`` lists.
  ///
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if nothing had to change.
  /// - Throws: ``WaymarkError`` with the code `not_found` if the record is not in the trash, or `erased` if nothing is left
  ///   of it because it was erased. The error of a record that another deleted record hides names that record.
  @discardableResult
  public func restore(_ record: RecordReference) throws -> OperationID? {
    try core.withWaymarkErrors {
      guard let kind = core.store.schema.kind(named: record.kind.rawValue) else {
        throw WaymarkError.notFound("kind of record", record.kind.rawValue)
      }
      return try core.write(typedRecords(zone: nil).restoring(kind, RecordID(record.id).uuid).change)
    }
  }
}
