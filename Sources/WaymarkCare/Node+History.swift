public import Model
import Storage
import Wire

extension Node {
  /// Returns the operations of all devices, newest first.
  ///
  /// - Parameter limit: the maximum number of operations, at least 1.
  public func history(limit: Int = 20) async throws -> [History.Operation] {
    try await SlicedHistory(core).newestOperations(limit).newest
  }

  /// Returns the writes to a record, newest first, each with the device that made it and the values that it replaced.
  /// The record may be deleted.
  ///
  /// - Parameters:
  ///   - id: the id of the record.
  ///   - limit: the maximum number of writes, at least 1.
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func history<Owner>(of id: Identifier<Owner>, limit: Int = 20) async throws -> History.OfRecord {
    try await history(of: RecordReference(id), limit: limit)
  }

  /// Returns the writes to a record of any kind, newest first.
  ///
  /// - Parameters:
  ///   - record: the record, which may be deleted; only its kind and id are used.
  ///   - limit: the maximum number of writes, at least 1.
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func history(of record: RecordReference, limit: Int = 20) async throws -> History.OfRecord {
    try await SlicedHistory(core).history(limit) { try core.names.record(record) }
  }

  /// Returns the origin of each value of a record: which device wrote it, when, and which values lost to it.
  ///
  /// - Parameter id: the id of the record, which may be deleted.
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func explanation<Owner>(of id: Identifier<Owner>) async throws -> RecordExplanation {
    try await explanation(of: RecordReference(id))
  }

  /// Returns the origin of each value of a record of any kind.
  ///
  /// - Parameter record: the record, which may be deleted; only its kind and id are used.
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func explanation(of record: RecordReference) async throws -> RecordExplanation {
    try await SlicedHistory(core).explanation { try core.names.record(record) }
  }

  // MARK: Mass deletions

  /// Returns the operations of other devices that deleted more than a quarter of the records of a kind and have been
  /// neither undone nor acknowledged.
  public func massDeletions() throws -> [MassDeletion] { try readOnQueue(.massDeletions) }

  /// Confirms that all current mass deletions were intended, so that they are no longer reported.
  public func acknowledgeMassDeletes() throws {
    try core.withWaymarkErrors {
      try MassDeletions.acknowledge(in: core.store)
      core.loop.nodeChanged()
    }
  }
}
