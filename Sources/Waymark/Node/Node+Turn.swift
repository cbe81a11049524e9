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
    evaluateWaiters()
  }

  private func carryOut(_ effect: Effect, _ following: inout [Effect]) {
    switch effect {
    case .send(let link, let message): send(message.encoded, to: link)
    case .close(let link, let cause): close(link, cause)
    case .commit: break
    case .serve(let link, let lane, let wants): serve(link, lane, wants, &following)
    case .saveStatements(let added, let removed): save(added, removed)
    case .foldParked: foldParked(&following)
    case .schedule(let timer, let moment): schedule(timer, at: moment)
    case .report(let event): note(event)
    }
  }

  private func store(
    _ sets: [(set: VerifiedChangeSet, link: LinkID?)], _ following: inout [Effect]
  ) {
    // While the disk is full nothing can be kept; the peers have it and are asked again when there is room.
    guard !isDiskFull else { return }
    do {
      let committed = try commit(sets, horizon: horizon)
      replica.handle(.committed(committed), now: wall(), into: &following)
    } catch {
      storeFailed(error)
      guard !isDiskFull else { return }
      // Nothing of the batch is in the store. The peers keep it and are asked again after the reconnect.
      for link in Set(sets.compactMap(\.link)) { close(link, .shuttingDown) }
    }
  }

  private func foldParked(_ following: inout [Effect]) {
    do {
      let report = try store.foldParked(horizon: horizon)
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
