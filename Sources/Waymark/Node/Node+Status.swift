import Engine
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
      }, causes: causes.all, loss: try loss(), storeCheck: .init(replicator.storeCheck, store),
      keys: home.keyStates)
  }

  private func lane(_ lane: Lane, _ reason: Reason?) throws -> NodeStatus.Lane {
    NodeStatus.Lane(
      isOpen: reason == nil, reason: reason, digest: hexadecimal(store.digest(lane).sum.bytes),
      changeSets: Int(clamping: store.changeSetCount(lane)),
      parked: Int(clamping: try store.parkedCount(lane)))
  }

  func peerInspection(_ now: Moment) -> PeerInspection {
    PeerInspection(
      replica: replica, network: network, circle: circle, device: identity.device, peering: peering,
      remembered: remembered, isDiskFull: replicator.disk.isFull, isExcluded: exclusion != nil,
      now: Now(wall: now, steady: steady))
  }

  /// Every other member, connected or not, by name.
  func currentPeers(_ now: Moment) throws -> [Peer] {
    peerInspection(now).peers(deviceNames, ahead: try clockAgreement(now).authorsAhead())
  }

  /// When a device was last connected: now, if it is.
  func lastSeen(of device: DeviceKey, _ now: Moment) -> Moment? { peerInspection(now).lastSeen(of: device) }
}
