package import ChangeHistory
package import struct ChangeHistory.Conflict
import LogStorage
package import NodeRuntime
import Replication
import Storage
import Wire

/// Undoes operations and resolves conflicts.
package struct HistoryOperations {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Reverts an operation, or shows what that would revert.
  package func undo(
    _ target: UndoTarget, isForced: Bool = false, isPreview: Bool = false
  ) async throws -> UndoSummary {
    try await core.withWaymarkErrors {
      try await core.inSlices { pace in
        try await Undoer(history: core.historyReader, isForced: isForced) { core.wall() }
          .undo(target, isPreview: isPreview, pace) { undone, drafts, leastClock in
            try core.write(LogStorage.Operation.undoVerb, target: undone, drafts, leastClock: leastClock)
          }
      }
    }
  }

  /// Returns the conflict that an id prefix identifies, and the options for resolving it.
  package func conflictWithOptions(
    _ id: String
  ) throws -> (conflict: Conflict, options: [Conflict.Option]) {
    try core.withWaymarkErrors {
      var reader = ConflictReader(core.historyReader)
      let found = try reader.find(id)
      return (try reader.conflict(found), try reader.options(found))
    }
  }

  /// Resolves the conflict that an id prefix identifies.
  ///
  /// - Parameter side: `winner`, `loser`, or a device's name or id prefix.
  package func resolve(_ id: String, taking side: String) throws -> Conflict.Resolution {
    try resolve {
      var resolver = ConflictResolver(core.historyReader)
      return [try resolver.decision(id, taking: side)]
    }
  }

  /// Resolves all conflicts in favor of the visible values.
  package func resolveAllTakingWinners() throws -> Conflict.Resolution {
    try resolve { try ConflictResolver(core.historyReader).winners() }
  }

  private func resolve(_ decide: () throws -> [ConflictDecision]) throws -> Conflict.Resolution {
    try core.withWaymarkErrors {
      try ConflictResolver(core.historyReader).resolve(try decide(), now: core.wall()) { drafts, leastClock in
        try core.write(ConflictResolver.verb, drafts, leastClock: leastClock)
      }
    }
  }
}
