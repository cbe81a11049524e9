import Membership
import Replication
import Storage
import Wire

extension Node {
  /// What the documents of `status` and `peers` are made from.
  func snapshot() throws -> NodeSnapshot {
    let now = wall()
    let gate = replica.ownGate(now: now)
    let reason = gate.reason.map { Reason($0) }
    return NodeSnapshot(
      device: identity.device, name: circle.evaluation.known(identity.device)?.name ?? waiting?.name ?? "",
      circle: circle.id,
      incarnation: incarnation,
      isRunning: network != nil, listen: network?.listening, runningSince: network?.startedAt,
      premium: PremiumSnapshot(
        isActive: gate.isPremium, source: gate.source.rawValue, validUntil: gate.validUntil,
        reason: gate.premiumReason.map { Reason($0) }),
      sync: SyncSnapshot(preference: gate.preference, isActive: gate.isOpen, reason: reason),
      settings: try lane(.settings, nil), records: try lane(.records, reason),
      conflicts: try store.conflictCount(), notices: try noticeSnapshots(now), peers: try peerSnapshots(now),
      loss: try lossSnapshot())
  }

  private func lane(_ lane: Lane, _ reason: Reason?) throws -> LaneSnapshot {
    LaneSnapshot(
      isOpen: reason == nil, reason: reason, digest: store.digest(lane).sum,
      changeSets: store.changeSetCount(lane), parked: try store.parkedCount(lane))
  }

  // MARK: Peers

  /// Every other member, connected or not, by name.
  func peerSnapshots(_ now: Moment) throws -> [PeerSnapshot] {
    let ahead = try authorsAhead(now)
    return circle.evaluation.members.values.filter { $0.device != identity.device }
      .sorted { (name(of: $0.device), $0.device) < (name(of: $1.device), $1.device) }
      .map { peerSnapshot($0, now, isAhead: ahead.contains($0.device)) }
  }

  private func peerSnapshot(_ peer: Member, _ now: Moment, isAhead: Bool) -> PeerSnapshot {
    let session = replica.session(with: peer.device)
    var (state, reason) = standing(of: peer, session)
    if isDiskFull, session != nil, state != .inSync { reason = .diskFull }
    if isAhead, session != nil, reason.severity == .info { reason = .peerClockAhead }
    let address =
      session.flatMap { network?.address(of: $0.link) } ?? lastAddress(of: peer.device)
      ?? circle.addresses(of: peer.device).first
    return PeerSnapshot(
      device: peer.device, name: name(of: peer.device), state: state, reason: reason,
      since: session?.openedAt ?? lastSeen(of: peer.device, now),
      address: address, addressSource: addressSource(of: peer.device, address),
      roundTripMilliseconds: session?.roundTrip, clockSkewMilliseconds: session?.clockSkew,
      lastSeen: lastSeen(of: peer.device, now), lastSync: replica.lastSync[peer.device],
      settings: peerLane(.settings, session), records: peerLane(.records, session))
  }

  private func standing(of peer: Member, _ session: Session?) -> (PeerState, Reason) {
    if isPaused(peer.device) { return (.paused, .paused) }
    guard let session else { return unreachable(peer.device) }
    let lanes = Lane.allCases.map { session[$0] }
    if lanes.contains(where: { !$0.asked.isEmpty }) { return (.receiving, .receiving) }
    if lanes.contains(where: \.isServing) { return (.sending, .sending) }
    // It told of sets, was asked, and ended its answer without them.
    if lanes.contains(where: { $0.isStalled && !$0.lacking.isEmpty }) {
      return (.receiving, .waitingDependency)
    }
    if session.isInSync {
      // In sync on what is open; a closed records lane says why.
      return (
        .inSync, session.records.isOpen ? .inSync : session.records.reason.map { Reason($0) } ?? .inSync
      )
    }
    if lanes.contains(where: { $0.isDigestEqual == false }) { return (.refused, .digestMismatch) }
    // Both sides have spoken, and what was sent last is not confirmed yet.
    let isWaiting = Lane.allCases.contains { session[$0].isOpen && session[$0].theirs != nil }
    return session.isCurrent && isWaiting ? (.sending, .sending) : (.connecting, .connecting)
  }

  private func unreachable(_ device: DeviceKey) -> (PeerState, Reason) {
    if exclusion != nil { return (.refused, .turnedAway) }
    guard let network else { return (.offline, .offline) }
    if peering.isPenalised(device, now: time) { return (.refused, .badSignature) }
    switch peering.refusals[device] {
    case .paused: return (.refused, .refusedByPeer)
    case .unreadable: return (.refused, .waitingDependency)
    case .revoked: return (.refused, .revoked)
    case nil: break
    }
    if network.finder?.clocks[device] != nil { return (.offline, .clocksDiffer) }
    let entries = peering.addresses.filter { $0.device == device }
    if entries.contains(where: \.isDialling) { return (.connecting, .connecting) }
    return switch entries.compactMap(\.lastFailure).last {
    case .refused: (.offline, .dialRefused)
    case .timeout: (.offline, .dialTimeout)
    case .noRoute, .unresolved: (.offline, .noRoute)
    case .notAMember: (.refused, .notAMember)
    case .turnedAway: (.refused, .turnedAway)
    case .newerProtocol: (.refused, .newerProtocol)
    case .other, nil: (.offline, .offline)
    }
  }

  private func peerLane(_ lane: Lane, _ session: Session?) -> PeerLaneSnapshot {
    guard let session else {
      return PeerLaneSnapshot(
        isOpen: false, reason: .offline, behind: nil, ahead: nil, digestEqual: nil)
    }
    let state = session[lane]
    let mine = replica[lane].heads
    return PeerLaneSnapshot(
      isOpen: state.isOpen, reason: state.reason.map { Reason($0) },
      behind: state.behind(mine).map { Int(clamping: $0) },
      ahead: state.theirs.map { Int(clamping: $0.behind(mine)) }, digestEqual: state.isDigestEqual)
  }
}

extension Reason {
  init(_ reason: GateReason) {
    switch reason {
    case .freeTier: self = .freeTier
    case .entitlementExpired: self = .entitlementExpired
    case .entitlementNotYetValid: self = .entitlementNotYetValid
    case .syncOff: self = .syncOff
    case .revoked: self = .revoked
    case .notAMember: self = .notAMember
    }
  }

  init(_ reason: LaneReason) {
    switch reason {
    case .mine(let reason): self.init(reason)
    case .peerNotPremium(.entitlementExpired): self = .peerEntitlementExpired
    case .peerNotPremium: self = .peerFreeTier
    case .theirs(let code): self.init(theirs: code)
    }
  }

  init(theirs code: ReasonCode) {
    switch code {
    case .freeTier, .entitlementNotYetValid: self = .peerFreeTier
    case .entitlementExpired: self = .peerEntitlementExpired
    case .clockAhead: self = .peerClockAhead
    case .paused, .peerNotPremium, .tooManyHeads: self = .refusedByPeer
    default: self = .peerSyncOff
    }
  }
}
