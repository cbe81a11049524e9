public import ChangeHistory

extension Node {
  /// The conflicts that wait for a look, the same on every device that holds the same changes.
  public func conflicts() throws -> [Conflict] { try read(.conflicts) }

  /// One conflict with all its losers.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if it is settled.
  public func conflict(_ id: Conflict.ID) throws -> Conflict { try conflictWithOptions(id).conflict }

  /// The conflict whose id begins with a text, and what can be decided.
  package func conflictWithOptions(
    _ id: String
  ) throws -> (conflict: Conflict, options: [Conflict.Option]) {
    try sayingWhy {
      var reader = ConflictReader(historyReader)
      let found = try reader.find(id)
      return (try reader.conflict(found), try reader.options(found))
    }
  }

  /// Settles a conflict here and, by an ordinary change, on every device.
  ///
  /// ```swift
  /// for conflict in try await node.conflicts() where conflict.reason == .field {
  ///   try await node.resolve(conflict.id, taking: .winner)
  /// }
  /// ```
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if it is settled or the device wrote no side, and `ambiguous`
  ///   where `.loser` could be several.
  @discardableResult
  public func resolve(_ id: Conflict.ID, taking choice: Conflict.Choice) throws -> Conflict.Resolution {
    switch choice {
    case .winner: try resolve(id, taking: "winner")
    case .loser: try resolve(id, taking: "loser")
    case .device(let device): try resolve(id, taking: device.description)
    }
  }

  /// - Parameter side: as it is typed: `winner`, `loser`, or the name or the beginning of the id of a device.
  package func resolve(_ id: String, taking side: String) throws -> Conflict.Resolution {
    try resolve {
      var resolver = ConflictResolver(historyReader)
      return [try resolver.decision(id, taking: side)]
    }
  }

  /// Settles all conflicts by keeping what shows.
  @discardableResult
  public func resolveAllTakingWinners() throws -> Conflict.Resolution {
    try resolve { try ConflictResolver(historyReader).winners() }
  }

  private func resolve(_ decide: () throws -> [ConflictDecision]) throws -> Conflict.Resolution {
    try sayingWhy {
      try ConflictResolver(historyReader).resolve(try decide(), now: wall()) { drafts, leastClock in
        try write("resolve", drafts, leastClock: leastClock)
      }
    }
  }
}
