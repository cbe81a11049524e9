import Wire

/// One thing that keeps something from being as it should, with everything that only follows from it left out.
struct Cause: Sendable {
  var reason: Reason
  var text: String
  var next: String?
  /// The peer that it is about, if it is about one.
  var peer: PeerSnapshot?
  /// The names of the peers whose state follows from it.
  var consequences: [String] = []
}

extension NodeSnapshot {
  /// What keeps things from being as they should, roots only, the gravest first.
  var causes: [Cause] {
    var causes = notices.map { notice in
      Cause(
        reason: notice.reason, text: notice.text, next: notice.next,
        consequences: hidden(by: notice.reason).map(\.name))
    }
    causes += [ownCause, gateCause, networkCause, conflictCause].compactMap(\.self)
    for peer in peers where peer.reason != .inSync && consequence(peer) == nil {
      causes.append(
        Cause(
          reason: peer.reason, text: peer.reason.sentence(peer: peer.name), next: peer.next, peer: peer))
    }
    let order: [Severity] = [.error, .warning, .info]
    return order.flatMap { severity in causes.filter { $0.reason.severity == severity } }
  }

  /// The reason, said once elsewhere, from which the state of a peer follows; nil if it is the peer's own.
  func consequence(_ peer: PeerSnapshot) -> Reason? {
    guard peer.reason != .inSync else { return nil }
    let said = notices.map(\.reason)
    // No peer admits a device that is out of the circle.
    if peer.reason == .turnedAway, let out = said.first(where: { $0 == .revoked || $0 == .notAMember }) {
      return out
    }
    if !isRunning { return peer.reason == .paused ? nil : .notRunning }
    if let own = sync.reason, peer.reason == own { return own }
    if [.diskFull, .peerClockAhead].contains(peer.reason), said.contains(peer.reason) { return peer.reason }
    if peer.reason == .digestMismatch, notices.contains(where: { $0.isAbout(peer) }) {
      return .digestMismatch
    }
    if peer.reason == .noRoute, hasNoNetwork { return .noRoute }
    return nil
  }

  private func hidden(by reason: Reason) -> [PeerSnapshot] { peers.filter { consequence($0) == reason } }

  /// Nobody at all can be reached, and several should be: it is this machine that is cut off.
  private var hasNoNetwork: Bool {
    peers.count { $0.reason == .noRoute } > 1 && peers.allSatisfy { $0.roundTripMilliseconds == nil }
  }

  private var ownCause: Cause? {
    isRunning || peers.isEmpty
      ? nil
      : Cause(
        reason: .notRunning, text: Reason.notRunning.sentence(), next: Reason.notRunning.next(),
        consequences: hidden(by: .notRunning).map(\.name))
  }

  private var gateCause: Cause? {
    // That this device is out of the circle is a notice already.
    guard let reason = sync.reason, !notices.contains(where: { $0.reason == reason }) else { return nil }
    return Cause(
      reason: reason, text: reason.sentence(), next: reason.next(),
      consequences: hidden(by: reason).map(\.name))
  }

  private var networkCause: Cause? {
    hasNoNetwork
      ? Cause(
        reason: .noRoute, text: "this machine has no way to any of the other devices",
        next: "see that this machine is connected to a network",
        consequences: hidden(by: .noRoute).map(\.name))
      : nil
  }

  private var conflictCause: Cause? {
    conflicts > 0
      ? Cause(
        reason: .conflicts,
        text: "\(conflicts) \(conflicts == 1 ? "conflict waits" : "conflicts wait") for a decision",
        next: Reason.conflicts.next()) : nil
  }
}

extension NoticeSnapshot {
  fileprivate func isAbout(_ peer: PeerSnapshot) -> Bool {
    details.contains { $0.key == "device" && $0.value.string == peer.device.description }
  }
}

extension Cause {
  var json: JSON {
    [
      "reason": .string(reason.rawValue), "severity": .string(reason.severity.rawValue),
      "remedy": .string(reason.text.remedy.rawValue), "text": .string(text), "next": .text(next),
      "device": .text(peer?.device.description), "name": .text(peer?.name),
      "consequences": .array(consequences.map(JSON.string)),
    ]
  }
}
