import ChangeHistory
import Engine
import Enrolment
import Platform
import Home
import Membership
import Model
import Reasons
package import Replication
import Storage
import Wire

/// The state of a node at one moment, from which `status`, `peers` and `metrics` are built.
package struct NodeInspection {
  let connections: Connections
  let maintenance: StoreMaintenance
  /// The notices that the node's shell has collected since the node started.
  let reported: [NodeNotice]
  let countedOperation: CountedOperation
  /// Why premium could not be renewed; nil if it was, or if that is not due.
  let renewalFailure: WaymarkError?
  let now: Moment

  package init(of node: NodeCore, now: Moment) {
    connections = node.connections
    maintenance = node.maintenance
    reported = node.shell.notices
    countedOperation = node.countedOperation
    renewalFailure = node.renewal.failure
    self.now = now
  }

  var replicator: Replicator { connections.loop.replicator }

  var store: Store { connections.store }

  var replica: Replica { connections.replica }

  var circle: Circle { connections.circle }

  var device: DeviceKey { connections.identity.device }

  // MARK: Status

  package func status() throws -> NodeStatus {
    let gate = replica.ownGate(now: now)
    let serving = connections.serving
    let notices = try notices()
    let conflicts = try store.conflictCount()
    let peers = try peers()
    let causes = RootCauses(
      isServing: serving != nil, obstacle: gate.reason.map { Reason($0) }, notices: notices, peers: peers,
      conflicts: conflicts)
    return NodeStatus(
      device: device, name: circle.evaluation.known(device)?.name ?? connections.waiting?.name ?? "",
      circle: circle.id, incarnation: replicator.incarnation.description, version: WaymarkVersion.text,
      servingSince: serving.map { Date(milliseconds: $0.startedAt) }, address: serving?.listening,
      sync: syncState, settings: try lane(.settings, nil),
      records: try lane(.records, gate.reason.map { Reason($0) }),
      counts: .init(try store.visibleCounts(), store.schema), files: try FileTotals(of: replicator),
      conflicts: conflicts,
      notices: notices,
      peers: peers.map { peer in
        var peer = peer
        peer.consequenceOf = causes.consequence(peer)
        return peer
      }, addresses: try addedAddresses(), notInSync: syncObstacle(peers), causes: causes.all,
      replicationRisk: try replicationRisk(),
      storeCheck: .init(replicator.storeCheck, store),
      keys: maintenance.home.keyStates)
  }

  private func syncObstacle(_ peers: [Peer]) -> NodeStatus.Obstacle? {
    guard !peers.isEmpty, !isInSync(with: nil, Lane.allCases) else { return nil }
    let error = connections.serving == nil ? WaymarkError.notServing : notInSync(with: nil, Lane.allCases)
    return NodeStatus.Obstacle(reason: error.reason, text: error.message, next: error.next)
  }

  private func lane(_ lane: Lane, _ reason: Reason?) throws -> NodeStatus.Lane {
    NodeStatus.Lane(
      isOpen: reason == nil, reason: reason, digest: hexadecimal(store.digest(lane).sum.bytes),
      changeSets: Int(clamping: store.changeSetCount(lane)),
      parked: Int(clamping: try store.parkedCount(lane)))
  }

  /// Whether records sync, and if not, why and what to do about it.
  package var syncState: SyncState {
    SyncState(
      replica.ownGate(now: now), begins: premiumBegins, exclusion: connections.exclusion,
      premiumStep: ownPremiumStep, isInvited: isInvited)
  }

  /// When the earliest entitlement that is not valid yet becomes valid; nil if there is no such entitlement.
  private var premiumBegins: Moment? {
    let now = replica.gateTime(now: now)
    return circle.accepted(for: device).map(\.notBefore).first { now < $0 }
  }

  // MARK: Peers and circle

  private var peerInspection: PeerInspection {
    PeerInspection(connections, now: Now(wall: now, steady: connections.loop.steady))
  }

  /// Returns the other members of the circle, connected or not, sorted by name.
  func peers() throws -> [Peer] {
    peerInspection.peers(connections.names, ahead: try clockAgreement.authorsAhead())
  }

  /// Returns when a device was last connected: the current time if it is connected, and nil if that is not known.
  func lastSeen(of device: DeviceKey) -> Moment? { peerInspection.lastSeen(of: device) }

  package var clockAgreement: ClockAgreement {
    ClockAgreement(
      store: store, sessions: Array(replica.sessions.values), device: device, names: connections.names,
      now: now)
  }

  var history: HistoryReader {
    let names = connections.names
    return HistoryReader(store: store, own: device) { names.name(of: $0) }
  }

  // MARK: Notices

  /// Whether the loss of this device's disk would leave the circle without any admin, and without its root key.
  package var isSingleAdmin: Bool {
    let evaluation = circle.evaluation
    let admins = evaluation.members.values.filter { $0.role == .admin }
    return admins.map(\.device) == [device] && maintenance.home.storage.hasRootKey
  }

  private var singleAdminNotice: NodeStatus.Notice? {
    let evaluation = circle.evaluation
    let others = evaluation.members.keys.filter { $0 != device && evaluation.leaving[$0] == nil }
    guard isSingleAdmin, let other = others.map({ connections.name(of: $0) }).min() else { return nil }
    return NodeStatus.Notice(
      .singleAdmin,
      text:
        "this device is the circle's only admin, and the root key is on the same disk: without this disk, no "
        + "device could invite or revoke any more",
      next: "\(waymark: "members promote \(shellWord(other))"), and keep a copy of "
        + "\(shellWord(maintenance.home.rootKey)) elsewhere")
  }

  private func notices() throws -> [NodeStatus.Notice] {
    let names = connections.names
    var found = reported.map { $0.notice(names) }
    if connections.waiting != nil {
      found.append(
        NodeStatus.Notice(.notAMember, text: AwaitedAdmission.sentence, next: AwaitedAdmission.next))
    }
    let home = maintenance.home
    found += [
      NodeStatus.Notice.damaged(
        store.damagedSets, hasPeers: !connections.others.isEmpty, advice: home.restoreAdvice(now: now), names),
      connections.missingPeers.isEmpty ? nil : connections.serving?.beacons?.notice, connections.exclusion,
      connections.revocationStatus.departure, singleAdminNotice,
    ].compactMap { $0 }
    found += connections.revocationStatus.unheardNotices
    if let unheard = try eraseNotice() { found.append(unheard) }
    found += try missingValueNotices()
    found += NodeStatus.Notice.forks(circle, store, names)
    found += NodeStatus.Notice.branches(
      circle, at: replicator.device, isPending: replicator.isRebuildDue, names)
    if Preferences.isOverLimit(try store.settings()) {
      found.append(NodeStatus.Notice(.settingsBeyondLimits))
    }
    found += [renewalNotice, purchaseNotice, try invitationNotice()].compactMap { $0 }
    found += NodeStatus.Notice.large(self)
    if replicator.disk.isFull {
      found.append(.diskFull(home, isWithholding: Lane.allCases.contains(where: replicator.withholds)))
    }
    found += OverrideReport(replicator: replicator, names: names).notices
    found += try history.massDeletions().map { NodeStatus.Notice.massDeletion($0, store.schema) }
    found += try massEraseNotices()
    if let awaited = try awaitedEraseNotice() { found.append(awaited) }
    let clock = clockAgreement
    found += try [
      replicator.isSpent ? .incarnationsSpent : nil, clock.aheadNotice(), clock.skewNotice(),
      clock.parkedNotice(), unseenNotice,
    ].compactMap { $0 }
    return found
  }
}
