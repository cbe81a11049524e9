public import Foundation
import Model
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
  ///   - record: the id of the record.
  ///   - kind: the kind of the record; nil for any kind.
  ///   - limit: the maximum number of writes, at least 1.
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func history(of record: UUID, _ kind: RecordKind? = nil, limit: Int = 20) async throws
    -> History.OfRecord
  {
    try await SlicedHistory(core).history(limit) { try core.names.record(record, kind) }
  }

  /// Returns the origin of each value of a record: which device wrote it, when, and which values lost to it.
  ///
  /// - Parameters:
  ///   - record: the id of the record.
  ///   - kind: the kind of the record; nil for any kind.
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func explanation(ofRecord record: UUID, _ kind: RecordKind? = nil) async throws -> RecordExplanation
  {
    try await SlicedHistory(core).explanation { try core.names.record(record, kind) }
  }
}
