public import ChangeHistory

extension Node {
  /// Returns the unresolved conflicts, which are the same on all devices that hold the same changes.
  public func conflicts() throws -> [Conflict] { try read(.conflicts) }

  /// Returns a conflict with all of its losing values.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if there is no such conflict or it has been resolved.
  public func conflict(_ id: Conflict.ID) throws -> Conflict { try conflictWithOptions(id).conflict }

  /// Returns the conflict that an id prefix identifies, and the options for resolving it.
  package func conflictWithOptions(
    _ id: String
  ) throws -> (conflict: Conflict, options: [Conflict.Option]) {
    try withWaymarkErrors {
      var reader = ConflictReader(historyReader)
      let found = try reader.find(id)
      return (try reader.conflict(found), try reader.options(found))
    }
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
    case .winner: try resolve(id, taking: "winner")
    case .loser: try resolve(id, taking: "loser")
    case .device(let device): try resolve(id, taking: device.description)
    }
  }

  /// - Parameter side: `winner`, `loser`, or a device's name or id prefix.
  package func resolve(_ id: String, taking side: String) throws -> Conflict.Resolution {
    try resolve {
      var resolver = ConflictResolver(historyReader)
      return [try resolver.decision(id, taking: side)]
    }
  }

  /// Resolves all conflicts in favor of the visible values.
  @discardableResult
  public func resolveAllTakingWinners() throws -> Conflict.Resolution {
    try resolve { try ConflictResolver(historyReader).winners() }
  }

  private func resolve(_ decide: () throws -> [ConflictDecision]) throws -> Conflict.Resolution {
    try withWaymarkErrors {
      try ConflictResolver(historyReader).resolve(try decide(), now: wall()) { drafts, leastClock in
        try write(ConflictResolver.verb, drafts, leastClock: leastClock)
      }
    }
  }
}
