import Foundation
import Membership
import Replication
import Storage
import Wire

extension Node {
  /// What this node knows about itself now.
  func currentStatus(now: Moment) throws -> NodeStatus {
    let gate = replica.ownGate(now: now)
    let exclusion = exclusion
    let notices = try currentNotices(now)
    let conflicts = try store.conflictCount()
    let peers = try currentPeers(now)
    let causes = RootCauses(
      isServing: network != nil, obstacle: gate.reason.map { Reason($0) }, notices: notices, peers: peers,
      conflicts: conflicts)
    return NodeStatus(
      device: identity.device, name: circle.evaluation.known(identity.device)?.name ?? waiting?.name ?? "",
      circle: circle.id, incarnation: incarnation.description, version: WaymarkVersion.text,
      servingSince: network.map { Date(milliseconds: $0.startedAt) }, address: network?.listening,
      sync: SyncState(gate, begins: premiumBegins(), exclusion: exclusion),
      settings: try lane(.settings, nil), records: try lane(.records, gate.reason.map { Reason($0) }),
      counts: .init(try store.visibleCounts()), conflicts: conflicts, notices: notices,
      peers: peers.map { peer in
        var peer = peer
        peer.consequenceOf = causes.consequence(peer)
        return peer
      }, causes: causes.all, loss: try loss(), storeCheck: storeCheckStatus, keys: home.keyStates)
  }

  private func lane(_ lane: Lane, _ reason: Reason?) throws -> NodeStatus.Lane {
    NodeStatus.Lane(
      isOpen: reason == nil, reason: reason, digest: hexadecimal(store.digest(lane).sum.bytes),
      changeSets: Int(clamping: store.changeSetCount(lane)),
      parked: Int(clamping: try store.parkedCount(lane)))
  }

  // MARK: Peers

  /// Every other member, connected or not, by name.
  func currentPeers(_ now: Moment) throws -> [Peer] {
    let ahead = try authorsAhead(now)
    return circle.evaluation.members.values.filter { $0.device != identity.device }
      .sorted { (name(of: $0.device), $0.device) < (name(of: $1.device), $1.device) }
      .map { describe($0, now, isAhead: ahead.contains($0.device)) }
  }

  private func describe(_ peer: Member, _ now: Moment, isAhead: Bool) -> Peer {
    let session = replica.session(with: peer.device)
    var (state, reason) = standing(of: peer, session)
    if isDiskFull, session != nil, state != .inSync { reason = .diskFull }
    if isAhead, session != nil, reason.severity == .info { reason = .peerClockAhead }
    let address =
      session.flatMap { network?.address(of: $0.link) } ?? lastAddress(of: peer.device)
      ?? circle.addresses(of: peer.device).first
    return Peer(
      device: peer.device, name: name(of: peer.device), state: state, reason: reason, consequenceOf: nil,
      since: (session?.openedAt ?? lastSeen(of: peer.device, now)).map(Date.init(milliseconds:)),
      address: address, addressSource: addressSource(of: peer.device, address),
      roundTrip: session?.roundTrip.map { .milliseconds($0) },
      clockSkew: session?.clockSkew.map { .milliseconds($0) },
      lastSeen: lastSeen(of: peer.device, now).map(Date.init(milliseconds:)),
      lastSync: replica.lastSync[peer.device].map(Date.init(milliseconds:)),
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
    if network.dialing.isPenalised(device, now: steady) { return (.refused, .badSignature) }
    if let refusal = network.refusals[device] { return (.refused, refusal) }
    if network.finder?.clocks[device] != nil { return (.offline, .clocksDiffer) }
    let entries = network.dialing.entries.filter { $0.device == device }
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

  private func peerLane(_ lane: Lane, _ session: Session?) -> Peer.Lane {
    guard let session else {
      return Peer.Lane(isOpen: false, reason: .offline, behind: nil, ahead: nil, isEqual: nil)
    }
    let state = session[lane]
    let mine = replica[lane].heads
    return Peer.Lane(
      isOpen: state.isOpen, reason: state.reason.map { Reason($0) },
      behind: state.behind(mine).map { Int(clamping: $0) },
      ahead: state.theirs.map { Int(clamping: $0.behind(mine)) }, isEqual: state.isDigestEqual)
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
