import Engine
import Enrolment
import Platform
import Home
package import Membership
import Reasons
package import Replication
import Storage
import Transport
import Wire

/// Determines the states of the other members of the circle, with the reasons for those states.
struct PeerInspection {
  private let replica: Replica
  /// The state of serving; nil while the node is not serving.
  private let serving: ServingState?
  private let circle: Circle
  private let device: DeviceKey
  private let peering: Peering
  private let remembered: PeerHistory
  private let isDiskFull: Bool
  /// Whether this device is no longer a member of the circle.
  private let isExcluded: Bool
  private let now: Now

  init(_ connections: Connections, now: Now) {
    replica = connections.replica
    serving = connections.serving
    circle = connections.circle
    device = connections.identity.device
    peering = connections.peering
    remembered = connections.remembered
    isDiskFull = connections.loop.replicator.disk.isFull
    isExcluded = connections.exclusion != nil
    self.now = now
  }

  /// Returns the other members, connected or not, sorted by name.
  ///
  /// - Parameter ahead: the devices whose clocks run ahead.
  func peers(_ names: DeviceNames, ahead: Set<DeviceKey>) -> [Peer] {
    let leaving = circle.evaluation.leaving
    return circle.evaluation.members.values.filter { $0.device != device && leaving[$0.device] == nil }
      .map { (member: $0, name: names.name(of: $0.device)) }
      .sorted { ($0.name, $0.member.device) < ($1.name, $1.member.device) }
      .map { peer($0.member, $0.name, isAhead: ahead.contains($0.member.device)) }
  }

  /// Returns when a device was last connected: the current time if it is connected, and nil if that is not known.
  func lastSeen(of device: DeviceKey) -> Moment? {
    if replica.session(with: device) != nil { return now.wall }
    return serving?.lastSeen[device] ?? remembered.seen[device]?.time
  }

  /// Returns when, and at which address, devices were last connected.
  func seen(among devices: some Sequence<DeviceKey>) -> [DeviceKey: PeerContact] {
    var seen: [DeviceKey: PeerContact] = [:]
    for device in devices {
      guard let time = lastSeen(of: device) else { continue }
      seen[device] = PeerContact(time: time, address: lastAddress(of: device))
    }
    return seen
  }

  private func lastAddress(of device: DeviceKey) -> String? {
    serving?.lastAddress[device] ?? remembered.seen[device]?.address
  }

  private func peer(_ peer: Member, _ name: String, isAhead: Bool) -> Peer {
    let session = replica.session(with: peer.device)
    var (state, reason) = state(of: peer, session)
    if isDiskFull, session != nil, state != .inSync { reason = .diskFull }
    if isAhead, session != nil, reason.severity == .info { reason = .peerClockAhead }
    let address =
      session.flatMap { serving?.address(of: $0.link) } ?? lastAddress(of: peer.device)
      ?? circle.addresses(of: peer.device).first
    return Peer(
      device: peer.device, name: name, state: state, reason: reason, consequenceOf: nil,
      since: (session?.openedAt ?? lastSeen(of: peer.device)).map(Date.init(milliseconds:)),
      address: address,
      addressSource: source(of: address, session, announced: circle.addresses(of: peer.device)),
      roundTrip: session?.roundTrip.map { .milliseconds($0) },
      clockSkew: session?.clockSkew.map { .milliseconds($0) },
      lastSeen: lastSeen(of: peer.device).map(Date.init(milliseconds:)),
      lastSync: replica.lastSync[peer.device].map(Date.init(milliseconds:)),
      settings: lane(.settings, session), records: lane(.records, session))
  }

  /// Returns the source of a peer's address; nil if the address was learned in an earlier run.
  ///
  /// - Parameter announced: the addresses that the peer announced to the circle.
  private func source(of address: String?, _ session: Session?, announced: [String]) -> AddressSource? {
    guard let serving, let address else { return nil }
    if let session, serving.links[session.link]?.dialled == nil { return .incoming }
    if peering.isFound(address) { return .beacon }
    if announced.contains(address) { return .announced }
    return peering.addresses.contains { $0.address == address } ? .given : nil
  }

  private func state(of peer: Member, _ session: Session?) -> (PeerState, Reason) {
    if peering.paused.contains(peer.device) { return (.paused, .paused) }
    guard let session else { return unreachable(peer.device) }
    let lanes = Lane.allCases.map { session[$0] }
    if lanes.contains(where: { !$0.asked.isEmpty }) { return (.receiving, .receiving) }
    if lanes.contains(where: \.isServing) { return (.sending, .sending) }
    // The peer advertised sets, but ended its answer to a request without sending them.
    if lanes.contains(where: { $0.isStalled && !$0.lacking.isEmpty }) {
      return (.receiving, .waitingDependency)
    }
    if session.isInSync {
      // The open lanes are in sync. If the records lane is closed, the reason tells why.
      return (
        .inSync, session.records.isOpen ? .inSync : session.records.reason.map { Reason($0) } ?? .inSync
      )
    }
    if lanes.contains(where: { $0.isDigestEqual == false }) { return (.refused, .digestMismatch) }
    // Both sides have exchanged their state, but the last changes sent are not acknowledged yet.
    let isWaiting = Lane.allCases.contains { session[$0].isOpen && session[$0].theirs != nil }
    return session.isCurrent && isWaiting ? (.sending, .sending) : (.connecting, .connecting)
  }

  private func unreachable(_ device: DeviceKey) -> (PeerState, Reason) {
    if isExcluded { return (.refused, .turnedAway) }
    guard let serving else { return (.offline, .offline) }
    if peering.isPenalised(device, now: now) { return (.refused, .badSignature) }
    switch peering.refusals[device] {
    case .paused: return (.refused, .refusedByPeer)
    case .unreadable: return (.refused, .waitingDependency)
    case .revoked: return (.refused, .revoked)
    case nil: break
    }
    if serving.beacons?.clocks[device] != nil { return (.offline, .clocksDiffer) }
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

  private func lane(_ lane: Lane, _ session: Session?) -> Peer.Lane {
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
  package init(_ reason: GateReason) {
    switch reason {
    case .freeTier: self = .freeTier
    case .entitlementExpired: self = .entitlementExpired
    case .entitlementNotYetValid: self = .entitlementNotYetValid
    case .purchaseRefunded: self = .purchaseRefunded
    case .purchaseUnconfirmed: self = .purchaseUnconfirmed
    case .purchaseUnjudged: self = .purchaseUnjudged
    case .entitlementWithdrawn: self = .entitlementWithdrawn
    case .syncOff: self = .syncOff
    case .revoked: self = .revoked
    case .notAMember: self = .notAMember
    }
  }

  package init(_ reason: LaneReason) {
    switch reason {
    case .mine(let reason): self.init(reason)
    case .peerNotPremium(.entitlementExpired), .peerNotPremium(.purchaseRefunded),
      .peerNotPremium(.purchaseUnconfirmed):
      self = .peerEntitlementExpired
    case .peerNotPremium(.purchaseUnjudged): self = .purchaseUnjudged
    case .peerNotPremium: self = .peerFreeTier
    case .theirs(let code): self.init(theirs: code)
    }
  }

  package init(theirs code: ReasonCode) {
    switch code {
    case .freeTier, .entitlementNotYetValid: self = .peerFreeTier
    case .entitlementExpired: self = .peerEntitlementExpired
    case .clockAhead: self = .peerClockAhead
    case .paused, .peerNotPremium, .tooManyHeads: self = .refusedByPeer
    default: self = .peerSyncOff
    }
  }
}
