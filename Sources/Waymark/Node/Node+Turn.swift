import Membership
import Replication
import Storage
import Wire

extension Node {
  /// Takes in one event and carries out what follows from it.
  func handle(_ input: Input) { handle([input]) }

  /// Takes in events that came together: the sets among them share one transaction.
  func handle(_ inputs: [Input]) {
    var effects: [Effect] = []
    for input in inputs { replica.handle(input, now: wall(), into: &effects) }
    obey(effects)
  }

  func obey(_ effects: [Effect]) {
    var effects = effects
    while !effects.isEmpty {
      var following: [Effect] = []
      var sets: [(set: VerifiedChangeSet, link: LinkID?)] = []
      for effect in effects {
        if case .commit(let received, let link) = effect {
          for set in received { sets.append((set, link)) }
        } else {
          carryOut(effect, &following)
        }
      }
      if !sets.isEmpty { store(sets, &following) }
      effects = following
    }
    if !unprovenForks.isEmpty { proveForks() }
    finishDirection()
    evaluateWaiters()
  }

  private func carryOut(_ effect: Effect, _ following: inout [Effect]) {
    switch effect {
    case .send(let link, let message): send(message.encoded, to: link)
    case .close(let link, let cause): close(link, cause)
    case .commit: break
    case .serve(let link, let lane, let wants): serve(link, lane, wants, &following)
    case .answer(let link, let query): answer(link, query, &following)
    case .reply(let link, let reply): asked(link, reply, &following)
    case .lookUp(let link, let lane, let tips): lookUp(link, lane, tips, &following)
    case .saveStatements(let added, let removed): save(added, removed)
    case .foldParked: foldParked(&following)
    case .release(let lane): release(lane, &following)
    case .schedule(let timer, let moment): schedule(timer, at: moment)
    case .report(let event):
      note(event)
      if event == .membershipChanged { admitByCircle(&following) }
    }
  }

  private func store(
    _ sets: [(set: VerifiedChangeSet, link: LinkID?)], _ following: inout [Effect]
  ) {
    // While the disk is full nothing can be kept; the peers have it and are asked again when there is room.
    guard !isDiskFull else { return }
    do {
      try giveWay(to: sets.map(\.set), &following)
      let committed = try commit(sets, horizon: horizon)
      noteOwnSets(committed.items)
      replica.handle(.committed(committed), now: wall(), into: &following)
      if isLaidOutAnew { logsWereLaidOut(&following) }
    } catch {
      storeFailed(error)
      guard !isDiskFull else { return }
      // Nothing of the batch is in the store. The peers keep it and are asked again after the reconnect.
      for link in Set(sets.compactMap(\.link)) { close(link, .shuttingDown) }
    }
  }

  /// Folds parked sets whose time has come: a command sees them also where no node runs.
  func foldDue() throws {
    guard let next = try store.nextParkedClock, next <= horizon else { return }
    obey([.foldParked])
  }

  private func foldParked(_ following: inout [Effect]) {
    do {
      let report = try store.foldParked(horizon: horizon, noting: noteDeletions)
      didCommit(report)
      replica.handle(.committed(try committed([], report)), now: wall(), into: &following)
    } catch {
      storeFailed(error)
    }
  }

  private func save(_ added: [Statement], _ removed: [StatementID]) {
    do {
      try store.saveStatements(added.map { ($0.id, $0.bytes) }, removed: removed)
    } catch {
      storeFailed(error)
    }
  }

  private func serve(_ link: LinkID, _ lane: Lane, _ wants: [Want], _ following: inout [Effect]) {
    do {
      let part = try store.read(lane, wants, bytesMax: Self.serveBytes, setsMax: Self.serveSets)
      if !part.sets.isEmpty { send(Message.encodedSets(lane, part.sets.map(\.raw)), to: link) }
      replica.handle(
        .served(link, lane, sent: part.sets.map(\.head), rest: part.rest, isCongested: isCongested(link)),
        now: wall(), into: &following)
    } catch {
      storeFailed(error)
      close(link, .shuttingDown)
    }
  }

  /// Statements may cut logs, or end a cut: then other sets are stored and folded than before.
  private func admitByCircle(_ following: inout [Effect]) {
    do {
      let (evaluation, device) = (circle.evaluation, identity.device)
      guard try store.admit(by: { evaluation.admission(of: $0, at: device) }, horizon: horizon) else {
        return
      }
      logsWereLaidOut(&following)
    } catch {
      storeFailed(error)
    }
  }

  func logsWereLaidOut(_ following: inout [Effect]) {
    isLaidOutAnew = false
    log.info("log", "laid out the logs anew: a cut of one of them has changed")
    renumberSeen()
    settingsDidFold()
    let rebuilt = Input.rebuilt(
      settings: Replica.LaneState(heads: store.heads(.settings), digest: store.digest(.settings)),
      records: Replica.LaneState(heads: store.heads(.records), digest: store.digest(.records)),
      newestForeignClock: store.newestFoldedClock(otherThan: identity.device))
    replica.handle(rebuilt, now: wall(), into: &following)
  }

  private func lookUp(_ link: LinkID, _ lane: Lane, _ tips: [LogHead], _ following: inout [Effect]) {
    do {
      let lacking = try store.lacking(tips)
      replica.handle(.lookedUp(link, lane, lacking: lacking), now: wall(), into: &following)
    } catch {
      storeFailed(error)
    }
  }

  func storeFailed(_ error: any Error) {
    guard !isNoRoom(error) else { return diskIsFull() }
    log.error("store", "the store refused a transaction: \(error)")
    notice(.storeFailed("\(error)"))
  }

  private func schedule(_ timer: ReplicaTimer, at moment: Moment) {
    timers.schedule(.replica(timer), at: moment, now: wall()) { [weak self] in
      self?.assumeIsolated { $0.fired(timer, due: moment) }
    }
  }

  private func fired(_ timer: ReplicaTimer, due: Moment) {
    // The wall clock may have been set back meanwhile, and long waits come in parts.
    guard wall() >= due else { return schedule(timer, at: due) }
    handle(.timer(timer))
  }

  /// How much of the log one message carries: large enough for throughput, small enough that a lane closes soon.
  private static let serveBytes = 512 * 1024
  private static let serveSets = 2_048
}

extension StoredChangeSet {
  /// What the peer has once this set is sent.
  fileprivate var head: LogHead { LogHead(log: log, sequence: sequence, id: id, foldedSequence: 0) }
}
