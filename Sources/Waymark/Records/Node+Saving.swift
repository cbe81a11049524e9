public import Foundation
import Records
import Replication
import Storage
public import Wire

extension Node {
  /// Writes several changes as one operation.
  ///
  /// All of it is on the disk when this returns, or nothing; it reaches other devices at once if sync is on. Many records
  /// in one change cost little more than one. To change one of them again, read it first, watch it, or use
  /// ``Changes/update(_:_:_:)``: the value that was passed still counts from its own read. ``save(_:_:_:)`` gives values back to go
  /// on with.
  ///
  /// - Parameters:
  ///   - label: what the history calls it; 1 to 32 bytes.
  ///   - body: says what to change.
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if everything was so already.
  /// - Throws: ``WaymarkError``: `bad_value` names the field and what is allowed, `not_found` what is missing, `in_use`
  ///   an organization with users. Nothing is written then.
  @discardableResult
  public nonisolated func change(
    _ label: String = "app.change", _ body: (inout Changes) throws -> Void
  ) async throws -> OperationID? {
    var changes = Changes()
    try body(&changes)
    return try await apply(changes, label)
  }

  /// Makes a record, or writes what was changed since it was read; a deleted one comes back.
  ///
  /// A field is written if the value differs from what it was when the value was read, and from what the store holds now.
  /// Fields that the person left alone keep what others have written to them since. A record that was made here writes
  /// all fields that are not empty.
  ///
  /// - Returns: the record as the store has it now. Edit and save this one the next time: the value that was passed still
  ///   counts from its own read, so that a field which is set back to what it was then would not be written. Where there
  ///   is no value to keep, ``update(_:_:_:)`` reads, edits and saves at once.
  /// - Throws: ``WaymarkError``; see ``change(_:_:)``.
  public func save<Owner: Record>(_ record: Owner) throws -> Owner {
    var changes = Changes()
    changes.save(record)
    return try sayingWhy {
      let isNew = try store.record(record.key) == nil
      return try applied(changes, "\(Owner.kind.name).\(isNew ? "add" : "edit")").stored(record)
    }
  }

  /// Reads a record, edits it and saves what the edit has changed, in one transaction: nothing is written in between.
  ///
  /// ```swift
  /// try await node.update(Trip.self, id) { $0.name = "Roma" }
  /// ```
  ///
  /// - Parameters:
  ///   - type: the kind of record.
  ///   - id: which one; ``Profile/only`` for the profile.
  ///   - edit: changes what the store holds now.
  /// - Returns: the record as the store has it now.
  /// - Throws: ``WaymarkError`` with the code `not_found` if people can't see such a record; else see
  ///   ``change(_:_:)``. What `edit` throws; nothing is written then.
  @discardableResult
  public func update<Owner: Record>(
    _ type: Owner.Type, _ id: UUID, _ edit: @Sendable (inout Owner) throws -> Void
  ) throws -> Owner {
    var record = try sayingWhy { try store.editable(type, id) }
    try edit(&record)
    return try save(record)
  }

  /// Makes or changes several records of one kind as one operation.
  ///
  /// - Returns: the records as the store has them now: edit and save these the next time.
  /// - Throws: ``WaymarkError``; see ``change(_:_:)``.
  public func save<Owner: Record>(_ records: [Owner]) throws -> [Owner] {
    var changes = Changes()
    changes.save(records)
    return try sayingWhy {
      let saved = try applied(changes, "\(Owner.kind.name).save")
      return try records.map { try saved.stored($0) }
    }
  }

  /// Makes or changes records of several kinds as one operation.
  ///
  /// ```swift
  /// let rome = Trip(name: "Rome")
  /// var (trip, hotel) = try await node.save(rome, Lodging(name: "Casa Rosa", tripID: rome.id))
  /// ```
  ///
  /// - Returns: the records as the store has them now, in the same order: edit and save these the next time.
  /// - Throws: ``WaymarkError``; see ``change(_:_:)``.
  public func save<First: Record, Second: Record, each Other: Record>(
    _ first: First, _ second: Second, _ others: repeat each Other
  ) throws -> sending (First, Second, repeat each Other) {
    var changes = Changes()
    changes.save(first)
    changes.save(second)
    repeat changes.save(each others)
    let saved = try sayingWhy { try applied(changes, "app.change") }
    do {
      return (try saved.stored(first), try saved.stored(second), repeat try saved.stored(each others))
    } catch {
      throw WaymarkError.reading(home, error)
    }
  }

  /// Deletes a record; what belongs to it is hidden with it, and comes back with it.
  ///
  /// - Parameters:
  ///   - record: of which only the id counts.
  ///   - force: also an organization that is in use; its users read as None then.
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if there was no such record.
  @discardableResult
  public func delete<Owner: Record>(_ record: Owner, force: Bool = false) throws -> OperationID? {
    var changes = Changes()
    changes.delete(record, force: force)
    return try apply(changes, "\(Owner.kind.name).delete")
  }

  /// Deletes several records of one kind as one operation.
  ///
  /// - Parameters:
  ///   - records: of which only the ids count.
  ///   - force: also organizations that are in use; their users read as None then.
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if there were no such records.
  @discardableResult
  public func delete<Owner: Record>(_ records: [Owner], force: Bool = false) throws -> OperationID? {
    var changes = Changes()
    for record in records { changes.delete(record, force: force) }
    return try apply(changes, "\(Owner.kind.name).delete")
  }

  /// Brings a deleted record back.
  ///
  /// - Returns: the record; nil if there never was one, or while what it belongs to is deleted.
  @discardableResult
  public func restore<Owner: Record>(_ type: Owner.Type, _ id: UUID) throws -> Owner? {
    var changes = Changes()
    changes.restore(type, id)
    _ = try apply(changes, "\(Owner.kind.name).restore")
    return try record(type, id)
  }

  func apply(_ changes: Changes, _ label: String) throws -> OperationID? {
    try sayingWhy { try write(changes.prepared(label, in: store, now: wall()).change) }
  }

  /// Writes changes as one operation, and says how to read what was saved.
  private func applied(_ changes: Changes, _ label: String) throws -> Changes.Prepared {
    let prepared = try changes.prepared(label, in: store, now: wall())
    try write(prepared.change)
    return prepared
  }

  /// Writes a change as one operation; nothing if there is nothing to write.
  @discardableResult
  package func write(_ change: PreparedChange) throws -> OperationID? {
    guard !change.isEmpty else { return nil }
    return try write(change.verb, change.entries, leastClock: change.leastClock)
  }
}
