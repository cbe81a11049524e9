import Membership
package import Replication
package import Storage
package import Wire

extension Replicator {
  /// Writes an operation: authors its change sets, commits them durably, then announces them to peers.
  ///
  /// Entries of both lanes become sets of the same operation, in one transaction.
  ///
  /// - Parameter leastClock: raises the first clock of the records lane (a profile's own time of change).
  /// - Returns: the ids of the sets, which are durable.
  /// - Throws: `WriteRefusal`, and errors of the store; then nothing was written.
  @discardableResult
  package func write(
    _ operation: OperationDraft, _ drafts: consuming [EntryDraft], leastClock: Clock = .zero, now: Now
  ) throws -> [ChangeSetID] {
    precondition(!isSpent, "a device writes on that has begun too many logs")
    guard canStore else { throw WriteRefusal.cannotStore }
    var sets: [VerifiedChangeSet] = []
    var rest = consume drafts
    for lane in Lane.allCases {
      let entries = rest.filter { $0.key.kind.lane == lane }
      guard !entries.isEmpty else { continue }
      // An import may be large: the author frees entries once they are encoded.
      rest.removeAll { $0.key.kind.lane == lane }
      let log = LogKey(device: device, incarnation: incarnation, lane: lane)
      var author = Author(position: try store.authorPosition(circle: circle.id, log: log), key: signing)
      sets += try author.write(consume entries, operation: operation, wall: now.wall, leastClock: leastClock)
    }
    guard !sets.isEmpty else { return [] }
    // This device's own writes are never parked, however far its clock is ahead.
    let committed = try commit(sets.map { ($0, nil) }, horizon: Clock(raw: .max))
    handle(.committed(committed), now: now)
    return sets.map(\.id)
  }

  /// Repairs the effects of a clock that was ahead: cuts this device's logs after the last sets with a plausible time
  /// and re-authors the rest under a new incarnation, dated now.
  ///
  /// All of it is one transaction, so a kill leaves either everything or nothing done. The incarnation token is written
  /// after it; if that is lost, the next start begins another incarnation.
  ///
  /// - Throws: `ReauthoringError`, and errors of the store; then nothing was changed.
  package func restamp(_ ended: [EndedLog], now: Now) throws {
    try turn(now) { try reauthor(behind: ended, now) }
  }

  private func reauthor(behind ended: [EndedLog], _ now: Now) throws {
    guard try mayBegin() else { throw ReauthoringError.lastIncarnation }
    // Changes due to time alone are announced first, while the circle in memory still equals the one in the store.
    handle(.statementsAdded([]), now: now)
    // On a full disk they differ: statements held in memory only would cut logs, and be gone at the next start.
    guard canStore else { throw ReauthoringError.diskIsFull }
    let next = Incarnation(random16())
    let cuts = try ended.map { end in
      try Statement(
        signing: LogCut(circle: circle.id, log: end.log, tip: end.tip?.id, issued: now.wall), with: signing)
    }
    var known = circle
    guard known.insert(cuts).refused.isEmpty else { throw ReauthoringError.tooManyStatements }
    let (evaluation, device) = (known.evaluation, device)
    let order = Reauthoring(
      circle: circle.id, ended: ended, incarnation: next, time: .now(now.wall),
      admission: { evaluation.admission(of: $0, at: device) }, horizon: Self.horizon(now))
    let report = try store.reauthor(order, by: { Author(position: $0, key: signing) }) { _ in
      try store.addStatements(cuts.map { ($0.id, $0.bytes) })
      // The clock that was ahead may have passed an end of premium that has not come yet.
      try store.setGateFloor(nil)
      try store.setMeta(MetaKey.incarnation, next.bytes)
    }
    didCommit(report)
    replica.gateFloor = nil
    do { try begin(next, "changes made while its clock was ahead are restamped", now) } catch {
      storeFailed(error)
    }
    // Peers get the cuts first, then the re-authored sets.
    handle(.statementsAdded(cuts.map(\.bytes)), now: now)
    var following: [Effect] = []
    logsWereRebuilt(now, &following)
    perform(following, now)
  }
}

/// The reason why this device can't write.
package enum WriteRefusal: Error {
  /// The disk is full, or has failed.
  case cannotStore
  /// The device has begun the maximum number of incarnations.
  case incarnationsSpent
}

/// The reason why this device's sets can't be re-authored.
package enum ReauthoringError: Error {
  /// The device has begun the maximum number of incarnations.
  case lastIncarnation
  /// The circle has no room for the cuts.
  case tooManyStatements
  /// The disk is full, so some statements of the circle may not be in the store.
  case diskIsFull
}
