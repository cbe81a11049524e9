import LogStorage
import Membership
import RecordTables
package import Replication
import Storage
import Wire

extension Replicator {
  /// Handles inputs that arrived together and performs their effects. All received sets among them share one
  /// transaction.
  package func handle(_ inputs: [Input], now: Now) {
    turn(now) {
      var effects: [Effect] = []
      for input in inputs {
        switch input {
        case .started: startFiles(now, &effects)
        case .roomAgain: retryFiles()
        case .timer(.trash): trashIsDue(now)
        default: break
        }
        replica.handle(input, now: now, into: &effects)
      }
      perform(effects, now)
      for input in inputs {
        switch input {
        case .drained(let link): serveWaiting(link, now)
        case .closed(let link): transfers.waiting[link] = nil
        default: break
        }
      }
    }
  }

  package func handle(_ input: Input, now: Now) { handle([input], now: now) }

  /// Folds parked sets and applies held erases that are due, so that a command sees them even if no node is running.
  ///
  /// - Returns: whether any were due.
  package func foldDue(now: Now) throws -> Bool {
    let isFoldDue = try store.nextParkedClock.map { $0 <= Self.horizon(now) } ?? false
    let time = clockJumps.time(now)
    let isEraseDue = try store.nextHeldErase.map { due in time.map { due <= $0 } ?? false } ?? false
    guard isFoldDue || isEraseDue else { return false }
    turn(now) { perform([.foldParked], now) }
    return true
  }

  /// Rebuilds the derived tables from the log, in one transaction.
  package func rebuild(now: Now) throws {
    try turn(now) {
      let report = try store.rebuild()
      didCommit(report)
      handle(.committed(committed([], report)), now: now)
    }
  }

  /// Runs one turn, and at its end carries out a pending override that has become ready. A nested call is part of the
  /// outer turn, because a callback of the shell may lead to another input.
  func turn<Result>(_ now: Now, _ body: () throws -> Result) rethrows -> Result {
    depth += 1
    defer {
      depth -= 1
      if depth == 0 { finishOverride(now: now) }
    }
    return try body()
  }

  /// Continues to store the sets that earlier turns have left over.
  package func goOn(now: Now) {
    isGoOnDue = false
    guard isOpen, !waiting.isEmpty else { return }
    turn(now) {
      var following: [Effect] = []
      keep(now, &following)
      perform(following, now)
    }
  }

  /// Returns whether sets received on a link are still waiting to be stored.
  package func isWaiting(_ link: LinkID) -> Bool { waiting[link] != nil }

  func perform(_ effects: [Effect], _ now: Now) {
    var effects = effects
    tellFiles(now, &effects)
    while !effects.isEmpty {
      var following: [Effect] = []
      var hasCome = false
      for effect in effects {
        if case .commit(let received, let link) = effect {
          waiting[link, default: []] += received
          hasCome = true
        } else {
          carryOut(effect, now, &following)
        }
      }
      if hasCome { keep(now, &following) }
      tellDamage(now, &following)
      tellMissing(now, &following)
      tellFiles(now, &following)
      effects = following
    }
    if !unprovenForks.isEmpty { proveForks(now) }
    if !unprovenTrees.isEmpty { proveBranches(now) }
    guard !waiting.isEmpty, !isGoOnDue else { return }
    isGoOnDue = true
    shell?.goOnSoon()
  }

  private func carryOut(_ effect: Effect, _ now: Now, _ following: inout [Effect]) {
    switch effect {
    case .send(let link, let message): shell?.send(message.encoded, to: link, as: .ordinary)
    case .close(let link, let cause): shell?.close(link, cause)
    case .commit: break
    case .serve(let link, let lane, let wants): serve(link, lane, wants, now, &following)
    case .answer(let link, let query): answer(link, query, now, &following)
    case .reply(let link, let reply):
      if let next = shell?.replied(link, reply) { replica.handle(next, now: now, into: &following) }
    case .lookUp(let link, let lane, let tips): lookUp(link, lane, tips, now, &following)
    case .saveStatements(let added, let removed):
      // While the disk is full, earlier statements may not have been stored, or not deleted.
      guard !disk.isFull else { return storeAllStatements() }
      trying { try store.saveStatements(added.map { ($0.id, $0.bytes) }, removed: removed) }
    case .readMissing(let number): readMissing(after: number, now, &following)
    case .readValues(let link, let lane, let sets): readValues(link, lane, sets, now, &following)
    case .storeValues(let values, let link): storeValues(values, from: link, now, &following)
    case .foldParked: foldParked(now, &following)
    case .applyCuts: admitByCircle(now, &following)
    case .release(let lane): release(lane, now, &following)
    case .keepGateFloor: keepGateFloor()
    case .file(let effect): carryOut(effect, now, &following)
    case .schedule(let timer, let wait): shell?.schedule(timer, after: wait)
    case .report(let event): report(event, now, &following)
    }
  }

  private func report(_ event: ReplicaEvent, _ now: Now, _ following: inout [Effect]) {
    shell?.note(event)
    switch event {
    case .membershipChanged:
      leaveEndedLogs(now)
      admitByCircle(now, &following)
      forgetFormerHolders()
    case .laneOpened(let device, .records): inquire(of: device, now, &following)
    case .acknowledgedRevocations: keepAcknowledgements()
    default: break
    }
  }

  /// Asks peers for all damaged sets again, including sets that no peer had the last time.
  package func repair(now: Now) {
    turn(now) {
      var following: [Effect] = []
      tellDamage(now, &following, isRepeated: true)
      perform(following, now)
    }
  }

  /// Reports damaged sets found since the last call, and those that peers have replaced.
  private func tellDamage(_ now: Now, _ following: inout [Effect], isRepeated: Bool = false) {
    let damaged = store.damagedSets
    guard isRepeated || damaged != toldDamage else { return }
    let (known, present) = (Set(toldDamage.map(\.id)), Set(damaged.map(\.id)))
    let (found, repaired) = (
      damaged.filter { !known.contains($0.id) }, toldDamage.filter { !present.contains($0.id) }
    )
    toldDamage = damaged
    if !found.isEmpty { shell?.note(.damaged(found)) }
    if !repaired.isEmpty { shell?.note(.repaired(repaired)) }
    replica.handle(.damaged(damaged.map(\.head)), now: now, into: &following)
  }

  // MARK: Storing

  /// Stores received sets until the shell says that the turn is over. The remaining sets wait for later turns.
  ///
  /// The cost of a set is known only after it has been folded, and a member may write expensive sets. Between them,
  /// commands and other peers must get their turns.
  private func keep(_ now: Now, _ following: inout [Effect]) {
    // On a full disk the sets are dropped. The peers still have them, and are asked again once there is room.
    guard canStore else { return discard(now, &following) }
    let sets = piece()
    guard !sets.isEmpty else { return }
    do {
      try yieldToRemote(to: sets.map(\.set), now, &following)
      let committed = try commit(
        sets, horizon: Self.horizon(now), now, isTurnOver: shell?.beginPiece() ?? { false })
      take(committed.items)
      noteOwnSets(committed.items, now)
      replica.handle(.committed(committed), now: now, into: &following)
      if isRebuilt { logsWereRebuilt(now, &following) }
    } catch {
      storeFailed(error)
      guard canStore else { return discard(now, &following) }
      // Nothing from the batch was stored. The peers still have the sets, and are asked again after they reconnect.
      for link in waiting.keys.sorted() { shell?.close(link, .shuttingDown) }
      waiting = [:]
    }
  }

  /// Returns the waiting sets, one from each link in turn, starting with the link after the one whose set was stored
  /// last. Sets of a lane that has closed since they arrived are dropped; peers send them again when the lane opens.
  private func piece() -> [(set: VerifiedChangeSet, link: LinkID?)] {
    for (link, sets) in waiting {
      let open = sets.filter { replica.isOpen(link, $0.header.log.lane) }
      if open.count < sets.count { waiting[link] = open.isEmpty ? nil : open[...] }
    }
    let links = waiting.keys.sorted()
    let order = links.filter { $0 > newestKept } + links.filter { $0 <= newestKept }
    var sets: [(set: VerifiedChangeSet, link: LinkID?)] = []
    var round = 0
    var isMore = true
    while isMore {
      isMore = false
      for link in order {
        guard let rest = waiting[link]?.dropFirst(round), let set = rest.first else { continue }
        sets.append((set, link))
        isMore = true
      }
      round += 1
    }
    return sets
  }

  /// Removes the sets that the store has processed from the waiting sets.
  private func take(_ items: [Committed.Item]) {
    for (link, taken) in Dictionary(grouping: items, by: \.link) {
      guard let link, let rest = waiting[link]?.dropFirst(taken.count) else { continue }
      waiting[link] = rest.isEmpty ? nil : rest
    }
    if let link = items.last?.link { newestKept = link }
  }

  private func discard(_ now: Now, _ following: inout [Effect]) {
    let links = waiting.keys.sorted()
    waiting = [:]
    replica.handle(.notKept(links), now: now, into: &following)
  }

  /// Stores the statements and values for which the full disk had no room, and asks peers for the dropped sets again.
  func roomAgain(_ now: Now) {
    storeAllStatements()
    keepGateFloor()
    keepAcknowledgements()
    // Cuts that arrived while the disk was full still have to be applied to the store.
    var following: [Effect] = []
    admitByCircle(now, &following)
    perform(following, now)
    guard canStore else { return }
    handle(.roomAgain, now: now)
  }

  var canStore: Bool { disk.canStore }

  /// Commits sets received from peers, in one transaction.
  ///
  /// - Parameter isTurnOver: called after each set; once it returns true, the remaining sets are left out.
  func commit(
    _ items: [(set: VerifiedChangeSet, link: LinkID?)], horizon: Clock, _ now: Now,
    isTurnOver: () -> Bool = { false }
  ) throws -> Committed {
    let senders = items.compactMap { item in
      item.link.flatMap { replica.sessions[$0]?.device }.map { (set: item.set, device: $0) }
    }
    let noting = { (report: CommitReport) in
      try self.store.noteValueSenders(senders)
      try self.noting(report)
    }
    let report = try store.commit(
      items.map(\.set), horizon: horizon, holding: holding(now), noting: noting, isTurnOver: isTurnOver,
      endsAtExcess: true)
    let placed = zip(items, report.placements).map { item, placement in
      Committed.Item(set: item.set, link: item.link, placement: placement)
    }
    didCommit(report)
    return committed(placed, report)
  }

  /// Commits sets written by this device, in one transaction. They are never parked, however far its clock is ahead.
  ///
  /// - Parameter next: returns the next set; nil after the last one.
  func commit(_ now: Now, _ next: () throws -> VerifiedChangeSet?) throws -> CommitReport {
    let report = try store.commit(
      horizon: Clock(raw: .max), holding: holding(now), noting: noting, endsAtExcess: true, next: next)
    didCommit(report)
    return report
  }

  /// Returns the outcome of a commit of this device's own sets.
  func ownCommitted(_ sets: [VerifiedChangeSet], _ report: CommitReport) -> Committed {
    committed(
      zip(sets, report.placements).map { Committed.Item(set: $0, link: nil, placement: $1) }, report)
  }

  private func noting(_ report: CommitReport) throws { try shell?.noting(report) }

  func didCommit(_ report: CommitReport) {
    unprovenForks += report.forks
    unprovenTrees.formUnion(report.excessiveTrees)
    if report.isRebuilt { isRebuilt = true }
    if report.foldedAnything { traceOvertaking() }
    noteFiles(report)
    noteFormerFiles(report)
    shell?.didCommit(report)
  }

  private func committed(_ items: [Committed.Item], _ report: CommitReport) -> Committed {
    let foreign = report.foldedClocks.filter { $0.key != device }.values.max() ?? .zero
    return Committed(
      items: items, heads: report.heads, goneHeads: report.goneHeads, settingsDigest: report.settingsDigest,
      recordsDigest: report.recordsDigest, newestForeignClock: foreign,
      nextParkedClock: report.nextParkedClock, nextHeldErase: (try? store.nextHeldErase) ?? nil)
  }

  private func foldParked(_ now: Now, _ following: inout [Effect]) {
    trying {
      let time = clockJumps.time(now)
      if let time, let erased = try store.applyDueErases(now: time) { didCommit(erased) }
      let report = try store.foldParked(horizon: Self.horizon(now), holding: holding(now), noting: noting)
      didCommit(report)
      var committed = committed([], report)
      // Only sets that wait for their time get a timer. For sets that wait for other sets, it would fire forever.
      committed.nextParkedClock = try store.nextParkedClock(after: Self.horizon(now))
      if time == nil, let next = committed.nextHeldErase {
        committed.nextHeldErase = max(next, now.wall + Limits.clockDriftMilliseconds)
      }
      replica.handle(.committed(committed), now: now, into: &following)
    }
  }

  /// Applies the cuts and quotas that follow from the circle's statements. This may change which sets are stored and folded.
  ///
  /// Nothing is applied while the disk is full: the store is rebuilt from the statements stored in it, and there may
  /// have been no room for new ones.
  ///
  /// Any member can make statements that cut its own logs a little further each time. So unless revocations or grants
  /// have changed, a rebuild comes no earlier than ten times the duration of the last one after it. Until then, the
  /// store applies the old cuts.
  private func admitByCircle(_ now: Now, _ following: inout [Effect]) {
    guard canStore else { return }
    // A grant allows more files as well.
    if !transfers.overQuota.isEmpty { transfers.isIncomplete = true }
    let decisions = circle.evaluation.decisionsOfAdmins
    isRebuildDue = now.steady < nextRebuild && decisions == appliedDecisions
    guard !isRebuildDue else {
      shell?.schedule(.applyCuts, after: nextRebuild - now.steady)
      return
    }
    trying {
      let (evaluation, device) = (circle.evaluation, device)
      let admission = { (log: LogKey) in evaluation.admission(of: log, at: device) }
      let quota = { (author: DeviceKey, lane: Lane) in evaluation.quota(of: author, lane, at: device) }
      let elapsed = shell?.beginMeasuring() ?? { 0 }
      let isChanged = try store.admit(
        by: admission, quota: quota, horizon: Self.horizon(now), holding: holding(now))
      appliedDecisions = decisions
      guard isChanged else { return }
      nextRebuild = now.steady + elapsed() * (1 + Limits.rebuildShare)
      logsWereRebuilt(now, &following)
      try leaveShortenedLogs(now)
    }
  }

  func logsWereRebuilt(_ now: Now, _ following: inout [Effect]) {
    isRebuilt = false
    unprovenTrees.formUnion(store.excessiveTrees)
    shell?.note(.logsRebuilt)
    traceOvertakingFromStart()
    let rebuilt = Input.rebuilt(
      settings: Replica.LaneState(store, .settings), records: Replica.LaneState(store, .records),
      newestForeignClock: store.newestFoldedClock(otherThan: device))
    replica.handle(rebuilt, now: now, into: &following)
  }

  // MARK: Reading

  private func serve(
    _ link: LinkID, _ lane: Lane, _ wants: [Want], _ now: Now, _ following: inout [Effect]
  ) {
    tryingFor(link) {
      let part = try store.read(lane, wants, bytesMax: Self.serveBytes, setsMax: Self.serveSets)
      if !part.sets.isEmpty {
        shell?.send(Message.encodedSets(lane, part.sets.map(\.raw)), to: link, as: .ordinary)
      }
      replica.handle(
        .served(link, lane, sent: part.sets.map(\.head), rest: part.rest, isCongested: isCongested(link)),
        now: now, into: &following)
    }
  }

  private func answer(_ link: LinkID, _ query: Query, _ now: Now, _ following: inout [Effect]) {
    tryingFor(link) {
      let answer = isCongested(link) ? nil : try store.answer(query.lane, query.question)
      replica.handle(.answered(link, query, answer), now: now, into: &following)
    }
  }

  private func lookUp(
    _ link: LinkID, _ lane: Lane, _ tips: [LogHead], _ now: Now, _ following: inout [Effect]
  ) {
    trying {
      let lacking = try store.lacking(tips)
      replica.handle(.lookedUp(link, lane, lacking: lacking), now: now, into: &following)
    }
  }

  func isCongested(_ link: LinkID, for sendClass: SendClass = .ordinary) -> Bool {
    shell?.isCongested(link, for: sendClass) ?? false
  }

  /// Makes the statements in the store equal to those of the circle.
  private func storeAllStatements() {
    trying { try store.replaceStatements(circle.statements(notIn: []).map { ($0.id, $0.bytes) }) }
  }

  /// Runs `body` and reports an error to the disk state. The work is repeated once the store has recovered.
  func trying(_ body: () throws -> Void) {
    do { try body() } catch { storeFailed(error) }
  }

  /// Does the same as `trying`, and also closes the link on failure. Otherwise the peer would wait for the answer;
  /// after it has reconnected, it asks again.
  private func tryingFor(_ link: LinkID, _ body: () throws -> Void) {
    do {
      try body()
    } catch {
      storeFailed(error)
      shell?.close(link, .shuttingDown)
    }
  }

  /// The size of one message with sets: large enough for throughput, and small enough that a lane can close soon.
  private static let serveBytes = 512 * 1024
  private static let serveSets = 2_048
}

extension StoredChangeSet {
  /// The head that the peer has after receiving this set.
  fileprivate var head: LogHead { LogHead(log: log, sequence: sequence, id: id, foldedSequence: 0) }
}
