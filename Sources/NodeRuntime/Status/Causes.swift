import Home
import Reasons
import Wire

/// Finds the root causes of current problems, and tells which peers' states are only consequences of them.
///
/// For example, a device without a network can't reach any peer. The missing network is then reported once, for this
/// device, instead of once for each peer.
struct RootCauses {
  let isServing: Bool
  /// Why records don't sync from this device; nil if they do.
  let obstacle: Reason?
  let notices: [NodeStatus.Notice]
  let peers: [Peer]
  let conflicts: Int

  /// The root causes, the most severe first.
  var all: [NodeStatus.Cause] {
    var causes = notices.map { notice in
      cause(notice.reason, text: notice.text, next: notice.next)
    }
    causes += [ownCause, gateCause, networkCause, conflictCause].compactMap(\.self)
    for peer in peers where peer.reason != .inSync && consequence(peer) == nil {
      causes.append(
        NodeStatus.Cause(
          reason: peer.reason, text: peer.sentence, next: peer.next,
          peer: DeviceReference(device: peer.device, name: peer.name), consequences: []))
    }
    let order: [Severity] = [.error, .warning, .info]
    return order.flatMap { severity in causes.filter { $0.reason.severity == severity } }
  }

  /// Returns the root cause of which a peer's state is only a consequence; nil if the peer is in sync or its state is a
  /// root cause itself.
  func consequence(_ peer: Peer) -> Reason? {
    guard peer.reason != .inSync else { return nil }
    let known = notices.map(\.reason)
    // The peer turned this device away because this device is not a member.
    if peer.reason == .turnedAway, let found = known.first(where: { $0 == .revoked || $0 == .notAMember }) {
      return found
    }
    if !isServing { return peer.reason == .paused ? nil : .notRunning }
    if let obstacle, peer.reason == obstacle { return obstacle }
    if [.diskFull, .peerClockAhead].contains(peer.reason), known.contains(peer.reason) { return peer.reason }
    if peer.reason == .digestMismatch,
      notices.contains(where: { $0.reason == .digestMismatch && $0.device == peer.device })
    {
      return .digestMismatch
    }
    if peer.reason == .noRoute, hasNoNetwork { return .noRoute }
    return nil
  }

  private func cause(_ reason: Reason, text: LocalizableText? = nil, next: Step? = nil) -> NodeStatus.Cause {
    NodeStatus.Cause(
      reason: reason, text: text ?? reason.sentence(), next: text == nil ? reason.next() : next, peer: nil,
      consequences: peers.filter { consequence($0) == reason }.map(\.name))
  }

  /// Whether this machine seems to have no network: there is no route to several peers, and no peer is connected.
  private var hasNoNetwork: Bool {
    peers.count { $0.reason == .noRoute } > 1 && peers.allSatisfy { $0.roundTrip == nil }
  }

  private var ownCause: NodeStatus.Cause? { isServing || peers.isEmpty ? nil : cause(.notRunning) }

  private var gateCause: NodeStatus.Cause? {
    // A notice already reports that this device is not a member.
    guard let obstacle, !notices.contains(where: { $0.reason == obstacle }) else { return nil }
    return cause(obstacle)
  }

  private var networkCause: NodeStatus.Cause? {
    guard hasNoNetwork else { return nil }
    return cause(
      .noRoute, text: "this machine can't reach any of the other devices",
      next: "check that this machine is connected to a network")
  }

  private var conflictCause: NodeStatus.Cause? {
    guard conflicts > 0 else { return nil }
    return NodeStatus.Cause(
      reason: .conflicts,
      text: "\(conflicts) \(conflicts == 1 ? "conflict needs" : "conflicts need") a decision",
      next: Reason.conflicts.next(), peer: nil, consequences: [])
  }
}
