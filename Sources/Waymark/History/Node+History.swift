public import Foundation
import Model
import Storage
import Wire

extension Node {
  /// What was done in the circle, newest first.
  ///
  /// - Parameter limit: from 1 on.
  public func history(limit: Int = 20) async throws -> [History.Operation] {
    try await newestOperations(limit).newest
  }

  /// The newest operations, and whether there are more.
  package func newestOperations(
    _ limit: Int
  ) async throws -> (newest: [History.Operation], hasMore: Bool) {
    try await sayingWhy {
      try await inSlices { try await historyReader.operations(limit, $0) }
    }
  }

  /// Who wrote what to a record, and what each write replaced, newest first; also of a record that is deleted.
  ///
  /// - Parameters:
  ///   - record: the id of the record.
  ///   - kind: nil for whatever has the id.
  ///   - limit: from 1 on.
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func history(of record: UUID, _ kind: RecordKind? = nil, limit: Int = 20) async throws
    -> History.OfRecord
  {
    try await history(limit) { try self.names.record(record, kind) }
  }

  /// As ``history(of:_:limit:)``, of the record that a name or the beginning of an id means; `profile` is the profile.
  package func history(ofRecordNamed name: String, limit: Int) async throws -> History.OfRecord {
    try await history(limit) { try self.names.anyRecord(name) }
  }

  private func history(_ limit: Int, _ find: () throws -> RecordRow) async throws -> History.OfRecord {
    try await sayingWhy {
      try await inSlices { try await historyReader.history(of: try find(), limit, $0) }
    }
  }

  var historyReader: HistoryReader { inspection().history }

  /// Where each value of a record came from: who wrote it, when, and what it won against.
  ///
  /// - Parameters:
  ///   - record: the id of the record.
  ///   - kind: nil for whatever has the id.
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func explanation(ofRecord record: UUID, _ kind: RecordKind? = nil) async throws -> RecordExplanation
  {
    try await explanation { try self.names.record(record, kind) }
  }

  /// As ``explanation(ofRecord:_:)``, of the record that a name or the beginning of an id means.
  package func explanation(ofRecordNamed name: String) async throws -> RecordExplanation {
    try await explanation { try self.names.anyRecord(name) }
  }

  private func explanation(_ find: () throws -> RecordRow) async throws -> RecordExplanation {
    try await sayingWhy {
      try await inSlices { try await historyReader.explanation(of: try find(), $0) }
    }
  }
}
