public import Foundation
import Model
import Storage
import Wire

extension Node {
  /// Returns the operations of all devices, newest first.
  ///
  /// - Parameter limit: the maximum number of operations, at least 1.
  public func history(limit: Int = 20) async throws -> [History.Operation] {
    try await newestOperations(limit).newest
  }

  /// Returns the newest operations, and whether there are more.
  package func newestOperations(
    _ limit: Int
  ) async throws -> (newest: [History.Operation], hasMore: Bool) {
    try await withWaymarkErrors {
      try await inSlices { try await historyReader.operations(limit, $0) }
    }
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
    try await history(limit) { try self.names.record(record, kind) }
  }

  /// Does the same as ``history(of:_:limit:)`` for a record given by name or id prefix; `profile` means the profile.
  package func history(ofRecordNamed name: String, limit: Int) async throws -> History.OfRecord {
    try await history(limit) { try self.names.anyRecord(name) }
  }

  private func history(_ limit: Int, _ find: () throws -> RecordRow) async throws -> History.OfRecord {
    try await withWaymarkErrors {
      try await inSlices { try await historyReader.history(of: try find(), limit, $0) }
    }
  }

  var historyReader: HistoryReader { inspection().history }

  /// Returns the origin of each value of a record: which device wrote it, when, and which values lost to it.
  ///
  /// - Parameters:
  ///   - record: the id of the record.
  ///   - kind: the kind of the record; nil for any kind.
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func explanation(ofRecord record: UUID, _ kind: RecordKind? = nil) async throws -> RecordExplanation
  {
    try await explanation { try self.names.record(record, kind) }
  }

  /// Does the same as ``explanation(ofRecord:_:)`` for a record given by name or id prefix.
  package func explanation(ofRecordNamed name: String) async throws -> RecordExplanation {
    try await explanation { try self.names.anyRecord(name) }
  }

  private func explanation(_ find: () throws -> RecordRow) async throws -> RecordExplanation {
    try await withWaymarkErrors {
      try await inSlices { try await historyReader.explanation(of: try find(), $0) }
    }
  }
}
