import Membership
import RecordTables
package import Replication
package import Storage
package import Wire

extension Replicator {
  /// Writes an operation: signs its change sets, commits them durably, then announces them to peers.
  ///
  /// Entries in both lanes become sets of the same operation and are committed in one transaction.
  ///
  /// - Parameter leastClock: the least clock for the first set in the records lane. A profile's own time of change
  ///   requires it.
  /// - Returns: the ids of the sets, which are durable.
  /// - Throws: `WriteRefusal`, `ChangeSetError.beyondQuota`, or an error of the store. In each case nothing was written.
  @discardableResult
  package func write(
    _ operation: OperationDraft, _ drafts: consuming [EntryDraft], leastClock: Clock = .zero, now: Now
  ) throws -> [ChangeSetID] {
    // Nothing is encoded in vain while the disk is full.
    guard canStore else { throw WriteRefusal.cannotStore }
    return try write(
      OperationContents(operation, consume drafts, seed: random16), leastClock: leastClock, now: now)
  }

  /// Writes an operation whose entries have been encoded already. Otherwise as the function above.
  @discardableResult
  package func write(
    _ contents: consuming OperationContents, leastClock: Clock = .zero, now: Now
  ) throws -> [ChangeSetID] {
    precondition(!isSpent, "a device continues to write although it has no incarnation left")
    guard canStore else { throw WriteRefusal.cannotStore }
    guard contents.entryCount > 0 else { return [] }
    var authors = try authors(of: consume contents)
    var (ids, pushable, bytes) = ([ChangeSetID](), [VerifiedChangeSet](), 0)
    // An operation may be large, so each set is freed once it is stored, unless all of them can be pushed to peers.
    let report = try commit(now) {
      guard let set = try Self.nextSet(&authors, leastClock, now) else { return nil }
      ids.append(set.id)
      bytes += set.raw.byteCount
      pushable = bytes <= Replica.pushBytesMax ? pushable + [set] : []
      return set
    }
    handle(.committed(ownCommitted(pushable, report)), now: now)
    return ids
  }

  /// Does what `write` does before it commits, so that a preview can tell whether the operation fits.
  ///
  /// - Throws: `ChangeSetError.beyondQuota`, or an error of the store.
  package func checkQuota(_ contents: consuming OperationContents, now: Now) throws {
    // No entry is larger than a change set.
    let most = UInt64(contents.entryCount) * UInt64(Limits.setBytesMax)
    let room = try Lane.allCases.map {
      try store.room(in: LogKey(device: device, incarnation: incarnation, lane: $0))
    }
    guard room.contains(where: { most > $0 }) else { return }
    var authors = try authors(of: consume contents)
    while try Self.nextSet(&authors, .zero, now) != nil {}
  }

  /// Returns the authors of an operation's sets in the order of the lanes, each before its first set.
  private func authors(of contents: consuming OperationContents) throws -> [Author] {
    let operation = contents.operation
    return try contents.finish().map { lane, contents in
      let log = LogKey(device: device, incarnation: incarnation, lane: lane)
      var author = Author(
        position: try store.authorPosition(circle: circle.id, log: log), key: signing, seed: random16)
      author.begin(contents, of: operation)
      return author
    }
  }

  /// Returns the next set of an operation; nil after the last one.
  private static func nextSet(
    _ authors: inout [Author], _ leastClock: Clock, _ now: Now
  ) throws -> VerifiedChangeSet? {
    while !authors.isEmpty {
      if let set = try authors[0].nextSet(wall: now.wall, leastClock: leastClock) { return set }
      authors.removeFirst()
    }
    return nil
  }

  /// Repairs the effects of a clock that was ahead: cuts this device's logs after the last sets with a plausible time,
  /// and re-authors the later sets under a new incarnation with the current time.
  ///
  /// All changes to the store are one transaction, so if the process is killed, either everything was done or nothing.
  /// The incarnation token is written after the transaction. If the token is lost, the next start begins another
  /// incarnation.
  ///
  /// - Throws: `ReauthoringError`, or an error of the store. In either case nothing was changed.
  package func restamp(_ ended: [EndedLog], now: Now) throws {
    try turn(now) { try reauthor(behind: ended, now) }
  }

  private func reauthor(behind ended: [EndedLog], _ now: Now) throws {
    guard let next = try newIncarnation() else { throw ReauthoringError.lastIncarnation }
    // Membership changes that are due to the passing of time are reported first, while the circle in memory still
    // equals the stored one.
    handle(.statementsAdded([]), now: now)
    // On a full disk the two circles differ: statements that exist only in memory would cut logs, and would be gone
    // after the next start.
    guard canStore else { throw ReauthoringError.diskIsFull }
    let cuts = try ended.map { end in
      try Statement(
        signing: LogCut(circle: circle.id, log: end.log, tip: end.tip?.id, issued: now.wall), with: signing)
    }
    var known = circle
    guard known.insert(cuts).refused.isEmpty else { throw ReauthoringError.tooManyStatements }
    let (evaluation, device) = (known.evaluation, device)
    let order = Reauthoring(
      circle: circle.id, ended: ended, incarnation: next, time: .now(now.wall),
      admission: { evaluation.admission(of: $0, at: device) }, horizon: Self.horizon(now),
      holding: holding(now))
    let report: CommitReport
    do {
      report = try store.reauthor(order, by: { Author(position: $0, key: signing, seed: random16) }) { _ in
        try store.addStatements(cuts.map { ($0.id, $0.bytes) })
        // The clock that was ahead may have passed an end of premium that still lies in the future.
        try store.setGateFloor(nil)
        try store.setMeta(MetaKey.incarnation, next.bytes)
      }
    } catch ChangeSetError.beyondQuota {
      throw ReauthoringError.quotaUsed
    }
    didCommit(report)
    replica.gateFloor = nil
    do { try begin(next, "changes made while its clock was ahead are restamped", now) } catch {
      storeFailed(error)
    }
    // Peers receive the cuts first, then the re-authored sets.
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
  /// The re-authored sets would exceed the share of this device's quota that a new incarnation has.
  case quotaUsed
}
