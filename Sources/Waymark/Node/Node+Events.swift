import Engine
import JSONDocument
import Membership
import Replication
import Storage
import Wire

/// Something a person should know until it is over or the node starts again.
enum NodeNotice: Hashable, Sendable {
  case storeFailed(String)
  case digestMismatch(device: DeviceKey, Lane)
}

extension Node {
  func notice(_ notice: NodeNotice) {
    guard !notices.contains(notice) else { return }
    notices.append(notice)
    nodeChanged()
  }

  /// Writes to the log what the replica reports, and keeps what `status` should say.
  func note(_ event: ReplicaEvent) {
    switch event {
    case .peerJoined(let device, let link):
      log.info("peers", "connected to \(name(of: device))")
      network?.identified(link, as: device, at: wall())
      handle(.joined(link, device))
      rememberSoon()
    case .laneOpened(let device, let lane): log.info("sync", "\(lane) open with \(name(of: device))")
    case .laneClosed(let device, let lane, let reason):
      log.info("sync", "\(lane) closed with \(name(of: device)): \(Reason(reason).rawValue)")
    case .inSync(let device):
      log.debug("sync", "in sync with \(name(of: device))")
      let open = Lane.allCases.filter { replica.session(with: device)?[$0].isOpen ?? false }
      remembered.seenSets.note(open, upTo: store.newestNumber)
      rememberSoon()
      notices.removeAll {
        if case .digestMismatch(device, _) = $0 { true } else { false }
      }
    case .digestMismatch(let device, let lane):
      log.error("sync", "\(lane): equal change sets, unequal digests with \(name(of: device))")
      notice(.digestMismatch(device: device, lane))
    case .membershipChanged:
      let members = circle.evaluation.members.count
      if members != membersSaid { log.info("circle", "\(plural(members, "device")) in the circle") }
      membersSaid = members
      logExclusion()
      learnAddresses()
    case .statementsCrowded(let signers):
      for signer in signers.sorted() where crowdedSigners.count < 64 && crowdedSigners.insert(signer).inserted
      {
        log.warning("circle", "more certificates than there is room for, signed by \(name(of: signer))")
      }
    case .gateChanged: logGate()
    case .heardRevocations: break
    }
  }

  /// Says what became of the own logs.
  func note(_ event: ReplicatorEvent) {
    switch event {
    case .began(_, let why): log.warning("log", "this device writes a new log from now on: \(why)")
    case .spent(let why):
      log.error("log", "this device can write no more, it has begun too many logs: \(why)")
    case .laidOutAnew:
      log.info("log", "laid out the logs anew: a cut of one of them has changed")
      remembered.seenSets.renumber(upTo: store.newestNumber)
      do { try remembered.seenSets.save(to: store) } catch { replicator.storeFailed(error) }
      settingsDidFold()
      watching.changed(Topic.all)
    case .damaged(let sets):
      log.error(
        "store",
        "the disk has damaged \(plural(sets.count, "stored change set")): \(deviceNames.list(sets)). No peer is sent it; "
          + "peers that have it are asked for it. Next: waymark status")
    case .repaired(let sets):
      log.info(
        "store", "peers sent \(plural(sets.count, "damaged change set")) again: \(deviceNames.list(sets))")
    case .logNotShortened(let why):
      log.warning("store", "the store could not be tidied, and will be after the next change: \(why)")
    case .override(let event):
      if case .dropped = event { nodeChanged() }
      if let line = event.line { log.info("direction", line) }
    case .unprovable(let fork, let why):
      log.error("log", "a fork of \(name(of: fork.set.header.log.device)) can't be proved: \(why)")
    }
  }

  /// Premium and its source, said at start and at every change.
  func logGate() {
    let gate = replica.ownGate(now: wall())
    let until = gate.validUntil.map { " until \(CivilTime.text($0))" } ?? ""
    log.info(
      "gate",
      "premium \(gate.isPremium ? "active" : "inactive") (source \(gate.source.rawValue)\(until)), "
        + "records lane \(gate.reason.map { "closed: \(Reason($0).rawValue)" } ?? "open")")
  }

  package func name(of device: DeviceKey) -> String { deviceNames.name(of: device) }

  /// Looks at what a transaction changed: the local copy of the settings follows the settings lane.
  func didCommit(_ report: CommitReport) {
    scheduleRest(after: report)
    counters.add(report)
    tellWatchers(report)
    // It writes again.
    notices.removeAll { if case .storeFailed = $0 { true } else { false } }
    guard report.foldedAnything else { return }
    if report.kinds.contains(where: { $0.lane == .settings }) { settingsDidFold() }
  }

  func currentNotices(_ now: Moment) throws -> [NodeStatus.Notice] {
    let names = deviceNames
    var found = notices.map { $0.notice(names) }
    if waiting != nil {
      found.append(
        NodeStatus.Notice(
          .notAMember, text: AwaitedAdmission.sentence, next: AwaitedAdmission.next))
    }
    found += [
      NodeStatus.Notice.damaged(
        store.damagedSets, hasPeers: !otherMembers.isEmpty, advice: home.restoreAdvice(now: now), names),
      missingPeers.isEmpty ? nil : network?.finder?.notice, exclusion,
    ].compactMap { $0 }
    found += revocationStatus.unheardNotices
    found += NodeStatus.Notice.forks(circle, store, names)
    if Preferences.isOverLimit(try store.settings()) {
      found.append(NodeStatus.Notice(.settingsBeyondLimits))
    }
    if replicator.disk.isFull {
      found.append(.diskFull(home, isWithholding: Lane.allCases.contains(where: replicator.withholds)))
    }
    found += OverrideReport(replicator: replicator, names: names).notices
    found += try historyReader.massDeletes().map(NodeStatus.Notice.massDelete)
    let clock = clockAgreement(now)
    found += try [
      replicator.isSpent ? .incarnationsSpent : nil, clock.aheadNotice(), clock.skewNotice(),
      clock.parkedNotice(), unseenNotice(now),
    ].compactMap { $0 }
    return found
  }
}
