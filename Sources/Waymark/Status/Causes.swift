import Wire

/// What keeps things from being as they should, and which states of peers only follow from something else.
///
/// A device that is cut off sees every peer as unreachable: that is said once, of this device, and not of each peer.
struct RootCauses {
  let isServing: Bool
  /// Why records do not sync; nil if they do.
  let obstacle: Reason?
  let notices: [NodeStatus.Notice]
  let peers: [Peer]
  let conflicts: Int

  /// Roots only, the gravest first.
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

  /// The reason, said once elsewhere, from which the state of a peer follows; nil if it is the peer's own.
  func consequence(_ peer: Peer) -> Reason? {
    guard peer.reason != .inSync else { return nil }
    let said = notices.map(\.reason)
    // No peer admits a device that is out of the circle.
    if peer.reason == .turnedAway, let out = said.first(where: { $0 == .revoked || $0 == .notAMember }) {
      return out
    }
    if !isServing { return peer.reason == .paused ? nil : .notRunning }
    if let obstacle, peer.reason == obstacle { return obstacle }
    if [.diskFull, .peerClockAhead].contains(peer.reason), said.contains(peer.reason) { return peer.reason }
    if peer.reason == .digestMismatch,
      notices.contains(where: { $0.reason == .digestMismatch && $0.device == peer.device })
    {
      return .digestMismatch
    }
    if peer.reason == .noRoute, hasNoNetwork { return .noRoute }
    return nil
  }

  private func cause(_ reason: Reason, text: String? = nil, next: Step? = nil) -> NodeStatus.Cause {
    NodeStatus.Cause(
      reason: reason, text: text ?? reason.sentence(), next: text == nil ? reason.next() : next, peer: nil,
      consequences: peers.filter { consequence($0) == reason }.map(\.name))
  }

  /// Nobody at all can be reached, and several should be: it is this machine that is cut off.
  private var hasNoNetwork: Bool {
    peers.count { $0.reason == .noRoute } > 1 && peers.allSatisfy { $0.roundTrip == nil }
  }

  private var ownCause: NodeStatus.Cause? { isServing || peers.isEmpty ? nil : cause(.notRunning) }

  private var gateCause: NodeStatus.Cause? {
    // That this device is out of the circle is a notice already.
    guard let obstacle, !notices.contains(where: { $0.reason == obstacle }) else { return nil }
    return cause(obstacle)
  }

  private var networkCause: NodeStatus.Cause? {
    guard hasNoNetwork else { return nil }
    return cause(
      .noRoute, text: "this machine has no way to any of the other devices",
      next: "see that this machine is connected to a network")
  }

  private var conflictCause: NodeStatus.Cause? {
    guard conflicts > 0 else { return nil }
    return NodeStatus.Cause(
      reason: .conflicts,
      text: "\(conflicts) \(conflicts == 1 ? "conflict waits" : "conflicts wait") for a decision",
      next: Reason.conflicts.next(), peer: nil, consequences: [])
  }
}
