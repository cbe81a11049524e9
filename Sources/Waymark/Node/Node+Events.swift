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
      network?.identified(link, as: device, at: time)
      // Who was dialled may have been paused before it said who it is.
      rememberSoon()
      if isPaused(device) { hangUp(link) }
    case .laneOpened(let device, let lane): log.info("sync", "\(lane) open with \(name(of: device))")
    case .laneClosed(let device, let lane, let reason):
      log.info("sync", "\(lane) closed with \(name(of: device)): \(Reason(reason).rawValue)")
    case .inSync(let device):
      log.debug("sync", "in sync with \(name(of: device))")
      noteSeen(with: device)
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
      renumberSeen()
      lookForOvertakingAnew()
      settingsDidFold()
      watching.changed(Topic.all)
    case .damaged(let sets):
      log.error(
        "store",
        "the disk has damaged \(plural(sets.count, "stored change set")): \(names(of: sets)). No peer is sent it; "
          + "peers that have it are asked for it. Next: waymark status")
    case .repaired(let sets):
      log.info("store", "peers sent \(plural(sets.count, "damaged change set")) again: \(names(of: sets))")
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

  package func name(of device: DeviceKey) -> String {
    remembered.names[device] ?? circle.evaluation.known(device)?.name ?? String(device.description.prefix(8))
  }

  /// Looks at what a transaction changed: the local copy of the settings follows the settings lane.
  func didCommit(_ report: CommitReport) {
    scheduleRest(after: report)
    counters.add(report)
    tellWatchers(report)
    // It writes again.
    notices.removeAll { if case .storeFailed = $0 { true } else { false } }
    guard report.foldedAnything else { return }
    lookForOvertaking()
    if report.kinds.contains(where: { $0.lane == .settings }) { settingsDidFold() }
  }

  func noticeSnapshots(_ now: Moment) throws -> [NoticeSnapshot] {
    var found = notices.map { notice in
      switch notice {
      case .storeFailed(let why):
        NoticeSnapshot(.storeFailed, text: "the store refused to write: \(why)")
      case .digestMismatch(let device, let lane):
        NoticeSnapshot(
          .digestMismatch, text: "\(lane): the same changes gave other data on \(name(of: device))",
          next: Reason.digestMismatch.next(peer: name(of: device)),
          details: [.init("device", .string(device.description))])
      }
    }
    if waiting != nil {
      found.append(
        NoticeSnapshot(
          .notAMember, text: AwaitedAdmission.sentence, next: AwaitedAdmission.next))
    }
    if let notice = damageNotice() { found.append(notice) }
    if let notice = discoveryNotice() { found.append(notice) }
    if let exclusion { found.append(exclusion) }
    found += unheardNotices()
    found += forkNotices()
    if Preferences.isOverLimit(try storedSettings.held()) {
      found.append(NoticeSnapshot(.settingsBeyondLimits))
    }
    if isDiskFull {
      let next = "make room on its disk: df -h \(shellWord(home.path))"
      // Only a durable note that they may have been sent lets them go.
      let isWithholding = Lane.allCases.contains(where: replicator.withholds)
      found.append(
        isWithholding
          ? NoticeSnapshot(
            .diskFull,
            text:
              "the disk is full; nothing more is stored, and changes made since the start can't be sent yet",
            next: next)
          : NoticeSnapshot(.diskFull, next: next))
    }
    found += directionNotices()
    found += try largeDeletions().map(notice)
    found += try [spentNotice(), clockNotice(now), skewNotice(now), parkedNotice(now), unseenNotice(now)]
      .compactMap { $0 }
    return found
  }
}
