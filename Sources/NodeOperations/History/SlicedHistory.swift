package import ChangeHistory
import Platform
import Model
package import NodeRuntime
package import Storage
import Wire

/// Reads the change history in slices, so that the node does other work meanwhile.
package struct SlicedHistory {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Returns the newest operations, and whether there are more.
  package func newestOperations(
    _ limit: Int
  ) async throws -> (newest: [History.Operation], hasMore: Bool) {
    try await core.withWaymarkErrors {
      try await core.inSlices { try await core.historyReader.operations(limit, $0) }
    }
  }

  /// Returns the writes to a record given by name or id prefix, newest first; `profile` means the profile.
  package func history(ofRecordNamed name: String, limit: Int) async throws -> History.OfRecord {
    try await history(limit) { try core.names.anyRecord(name) }
  }

  /// Returns the writes to the record that `find` finds, newest first.
  package func history(_ limit: Int, _ find: () throws -> RecordRow) async throws -> History.OfRecord {
    try await core.withWaymarkErrors {
      try await core.inSlices { try await core.historyReader.history(of: try find(), limit, $0) }
    }
  }

  /// Returns the origin of each value of a record given by name or id prefix.
  package func explanation(ofRecordNamed name: String) async throws -> RecordExplanation {
    try await explanation { try core.names.anyRecord(name) }
  }

  /// Returns the origin of each value of the record that `find` finds.
  package func explanation(_ find: () throws -> RecordRow) async throws -> RecordExplanation {
    try await core.withWaymarkErrors {
      try await core.inSlices { try await core.historyReader.explanation(of: try find(), $0) }
    }
  }
}
