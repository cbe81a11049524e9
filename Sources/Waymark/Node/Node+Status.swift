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

  func peerInspection(_ now: Moment) -> PeerInspection {
    PeerInspection(
      replica: replica, network: network, circle: circle, device: identity.device, paused: pausedPeers,
      remembered: remembered, isDiskFull: isDiskFull, isExcluded: exclusion != nil,
      now: Now(wall: now, steady: steady))
  }

  /// Every other member, connected or not, by name.
  func peerSnapshots(_ now: Moment) throws -> [PeerSnapshot] {
    peerInspection(now).peers(deviceNames, ahead: try clockAgreement(now).authorsAhead())
  }

  /// When a device was last connected: now, if it is.
  func lastSeen(of device: DeviceKey, _ now: Moment) -> Moment? { peerInspection(now).lastSeen(of: device) }
}
