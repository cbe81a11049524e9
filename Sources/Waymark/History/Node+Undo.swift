import Records
import Replication
public import Wire

extension Node {
  /// Returns what undoing an operation would revert and what it would leave unchanged, without writing anything.
  public func undoPreview(of operation: OperationID) async throws -> UndoSummary {
    try await HistoryOperations(core).undo(.operation(operation.description), isPreview: true)
  }

  /// Reverts the values of an operation that are still visible, whichever device wrote it.
  ///
  /// Values that have been changed since, and records that other records use by now, are left unchanged and listed. So
  /// are values whose former values were erased. Undoing an undo restores the operation. Undoing the resolution of a
  /// conflict does not reopen the conflict: ``UndoSummary/resolvedConflicts`` lists the values of its sides.
  ///
  /// - Parameters:
  ///   - operation: an operation of this or another device.
  ///   - isForced: whether to revert even what would otherwise be left unchanged, except where the former values were
  ///     erased.
  /// - Throws: `WaymarkError` with the code `not_found`, `nothing_to_undo`, `erased` if all former values were erased,
  ///   or `needs_yes` if everything would be left unchanged.
  @discardableResult
  public func undo(_ operation: OperationID, isForced: Bool = false) async throws -> UndoSummary {
    try await HistoryOperations(core).undo(.operation(operation.description), isForced: isForced)
  }

  /// Returns what ``undoNewest(isForced:)`` would do, without writing anything.
  public func undoNewestPreview() async throws -> UndoSummary {
    try await HistoryOperations(core).undo(.newest, isPreview: true)
  }

  /// Reverts this device's newest operation that is in effect and not itself an undo. Repeated calls go back step by
  /// step.
  @discardableResult
  public func undoNewest(isForced: Bool = false) async throws -> UndoSummary {
    try await HistoryOperations(core).undo(.newest, isForced: isForced)
  }

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
