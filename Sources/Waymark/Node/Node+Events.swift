import Membership
import Replication
import Storage
import Wire

/// Something a person should know until it is over or the node starts again.
enum NodeNotice: Hashable, Sendable {
  case storeFailed(String)
  case fork(device: DeviceKey)
  case digestMismatch(device: DeviceKey, Lane)
  case settingsBeyondLimits
}

extension Node {
  func notice(_ notice: NodeNotice) {
    if !notices.contains(notice) { notices.append(notice) }
  }

  /// Writes to the log what the replica reports, and keeps what `status` should say.
  func note(_ event: ReplicaEvent) {
    switch event {
    case .peerJoined(let device, let link):
      log.info("peers", "connected to \(name(of: device))")
      network?.identified(link, as: device, at: wall())
    case .laneOpened(let device, let lane): log.info("sync", "\(lane) open with \(name(of: device))")
    case .laneClosed(let device, let lane, let reason):
      log.info("sync", "\(lane) closed with \(name(of: device)): \(Reason(reason).rawValue)")
    case .inSync(let device):
      log.debug("sync", "in sync with \(name(of: device))")
      notices.removeAll {
        if case .digestMismatch(device, _) = $0 { true } else { false }
      }
    case .digestMismatch(let device, let lane):
      log.error("sync", "\(lane): equal change sets, unequal digests with \(name(of: device))")
      notice(.digestMismatch(device: device, lane))
    case .fork(let log, _):
      self.log.warning("log", "two logs of \(name(of: log.device))")
      notice(.fork(device: log.device))
    case .membershipChanged:
      log.info("circle", "\(circle.evaluation.members.count) members")
      learnAddresses()
    case .gateChanged: logGate()
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

  func name(of device: DeviceKey) -> String {
    circle.evaluation.members[device]?.name ?? String(device.description.prefix(8))
  }

  /// Looks at what a transaction changed: the local copy of the settings follows the settings lane.
  func didCommit(_ report: CommitReport) {
    scheduleCheckpoint()
    guard report.foldedAnything else { return }
    if report.kinds.contains(where: { $0.lane == .settings }) { settingsDidFold() }
  }

  func noticeSnapshots(_ now: Moment) -> [NoticeSnapshot] {
    var found = notices.map { notice in
      switch notice {
      case .storeFailed(let why):
        NoticeSnapshot(.diskFull, text: "the store refused to write: \(why)", next: "waymark status")
      case .fork(let device): NoticeSnapshot(.fork, text: "two logs of \(name(of: device)) exist")
      case .digestMismatch(let device, let lane):
        NoticeSnapshot(
          .digestMismatch, text: "\(lane): the same changes gave other data on \(name(of: device))")
      case .settingsBeyondLimits:
        NoticeSnapshot(
          .conflicts, text: "the settings of all devices together are beyond their limits",
          next: "waymark settings list")
      }
    }
    if isDiskFull { found.append(NoticeSnapshot(.diskFull, next: "df -h \(home.path)")) }
    let parked = Lane.allCases.reduce(0) { $0 + store.parkedCount($1) }
    if parked > 0 {
      found.append(
        NoticeSnapshot(.parked, text: "\(parked) change sets dated in the future wait for their time"))
    }
    return found
  }
}
