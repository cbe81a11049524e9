public import ChangeHistory

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
}
