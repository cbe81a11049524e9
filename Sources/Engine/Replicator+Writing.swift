import Membership
package import Replication
package import Storage
package import Wire

extension Replicator {
  /// Writes what a person did: authors its change sets, commits them durably, then tells the peers.
  ///
  /// Entries of both lanes become sets of the one operation, in one transaction.
  ///
  /// - Parameter leastClock: raises the first clock of the records lane (a profile's own time of change).
  /// - Returns: the sets, which are durable.
  /// - Throws: `WriteRefusal`, and what the store throws; then nothing was written.
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
      // An import may be large: the author lets go of entries once they are encoded.
      rest.removeAll { $0.key.kind.lane == lane }
      let log = LogKey(device: device, incarnation: incarnation, lane: lane)
      var author = Author(position: try store.authorPosition(circle: circle.id, log: log), key: signing)
      sets += try author.write(consume entries, operation: operation, wall: now.wall, leastClock: leastClock)
    }
    guard !sets.isEmpty else { return [] }
    // One's own writes never wait for their time, however far the clock has run ahead.
    let committed = try commit(sets.map { ($0, nil) }, horizon: Clock(raw: .max))
    handle(.committed(committed), now: now)
    return sets.map(\.id)
  }

  /// The cure for a clock that ran ahead: ends the own logs behind the last sets with a good date, and writes the
  /// rest again under a new incarnation, dated now.
  ///
  /// All of it is one transaction: who is killed meanwhile has done everything or nothing. The place of the
  /// incarnation comes after it; without it the next start begins another incarnation.
  ///
  /// - Throws: `ReauthoringError`, and what the store throws; then nothing was changed.
  package func restamp(_ ended: [EndedLog], now: Now) throws {
    try turn(now) { try reauthor(behind: ended, now) }
  }

  private func reauthor(behind ended: [EndedLog], _ now: Now) throws {
    guard try mayBegin() else { throw ReauthoringError.lastIncarnation }
    // What time alone has changed is said first, as long as the circle in memory is the one in the store.
    handle(.statementsAdded([]), now: now)
    // While the disk is full it is not: what only memory knows would cut logs, and be gone at the next start.
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
      // The clock that ran ahead may have seen an end that has not come yet.
      try store.setGateFloor(nil)
      try store.setMeta(MetaKey.incarnation, next.bytes)
    }
    didCommit(report)
    replica.gateFloor = nil
    do { try begin(next, "what its clock had dated ahead is dated anew", now) } catch {
      storeFailed(error)
    }
    // Peers hear of the ends first, then of what comes in their place.
    handle(.statementsAdded(cuts.map(\.bytes)), now: now)
    var following: [Effect] = []
    logsWereRebuilt(now, &following)
    perform(following, now)
  }
}

/// Why nothing of one's own is written.
package enum WriteRefusal: Error {
  /// The disk is full, or has failed.
  case cannotStore
  /// The device has begun as many incarnations as it may.
  case incarnationsSpent
}

/// Why own sets can't be written again.
package enum ReauthoringError: Error {
  /// The device has begun as many incarnations as it may.
  case lastIncarnation
  /// The circle has no room for the cuts.
  case tooManyStatements
  /// What has come to be known of the circle is not all in the store.
  case diskIsFull
}
