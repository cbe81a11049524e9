public import ChangeHistory
import NodeOperations
import Records
import Replication
public import Wire

extension Node {
  /// Returns the unresolved conflicts, which are the same on all devices that hold the same changes.
  public func conflicts() throws -> [Conflict] { try readOnQueue(.conflicts) }

  /// Returns a conflict with all of its losing values.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if there is no such conflict or it has been resolved.
  public func conflict(_ id: Conflict.ID) throws -> Conflict {
    try HistoryOperations(core).conflictWithOptions(id).conflict
  }

  /// Resolves a conflict by writing an ordinary change, which syncs to all devices.
  ///
  /// ```swift
  /// for conflict in try await node.conflicts() where conflict.reason == .field {
  ///   try await node.resolve(conflict.id, taking: .winner)
  /// }
  /// ```
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if the conflict has been resolved or the chosen device wrote
  ///   none of its values, and `ambiguous` if `.loser` matches several values.
  @discardableResult
  public func resolve(_ id: Conflict.ID, taking choice: Conflict.Choice) throws -> Conflict.Resolution {
    switch choice {
    case .winner: try HistoryOperations(core).resolve(id, taking: "winner")
    case .loser: try HistoryOperations(core).resolve(id, taking: "loser")
    case .device(let device): try HistoryOperations(core).resolve(id, taking: device.description)
    }
  }

  /// Resolves all conflicts in favor of the visible values.
  @discardableResult
  public func resolveAllTakingWinners() throws -> Conflict.Resolution {
    try HistoryOperations(core).resolveAllTakingWinners()
  }

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
  /// step, but not past an erase, which nothing reverts: undo an older operation by its id, ``undo(_:isForced:)``.
  ///
  /// - Throws: `WaymarkError` with the code `nothing_to_undo`, `erased` if the newest operation is an erase, or `needs_yes`
  ///   if everything would be left unchanged.
  @discardableResult
  public func undoNewest(isForced: Bool = false) async throws -> UndoSummary {
    try await HistoryOperations(core).undo(.newest, isForced: isForced)
  }

}
