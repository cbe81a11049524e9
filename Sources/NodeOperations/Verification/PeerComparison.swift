import Home
import Membership
package import NodeRuntime
import Reasons
import Replication
import Storage
package import Wire

/// Compares this device's data with a peer's, to find out whether both folded the same change sets with the same
/// result.
package struct PeerComparison {
  let peer: Member

  /// Compares with one peer or, if `peer` is nil, with all connected peers.
  package static func run(with peer: DeviceKey?, on node: NodeCore) async throws -> PeerVerification {
    try node.checkServing()
    let peers = try peer.map { [try connected($0, on: node)] } ?? connected(on: node)
    try await PeerInquiry.waitForIntroductions(on: node)
    var compared: [PeerVerification.Peer] = []
    for peer in peers { compared.append(try await PeerComparison(peer: peer).run(on: node)) }
    try node.checkOpen()
    let worst = [PeerVerification.Verdict.differs, .unknown, .notInSync].first { verdict in
      compared.contains { $0.verdict == verdict }
    }
    return PeerVerification(verdict: worst ?? .equal, peers: compared)
  }

  private static func connected(_ device: DeviceKey, on node: NodeCore) throws -> Member {
    let peer = try node.peer(named: device.description)
    guard node.replica.session(with: device) == nil else { return peer }
    let reason = PeerInquiry(peer: device).notReachable(on: node)
    throw WaymarkError(
      exitCode: ExitCode.notInSync, code: reason.reason, message: reason.message, next: reason.next)
  }

  private static func connected(on node: NodeCore) throws -> [Member] {
    let connected = node.circle.evaluation.members.values
      .filter { node.replica.session(with: $0.device) != nil }
      .sorted { ($0.name, $0.device) < ($1.name, $1.device) }
    guard !connected.isEmpty else {
      throw WaymarkError(
        exitCode: ExitCode.notInSync, code: .offline,
        message: "No peer is connected to compare with.", next: .waymark("peers"))
    }
    return connected
  }

  private func run(on node: NodeCore) async throws -> PeerVerification.Peer {
    let settings = try await compare(.settings, after: nil, on: node)
    let records = try await compare(.records, after: settings, on: node)
    let lanes = [settings, records]
    let session = node.replica.session(with: peer.device)
    let areCertificatesEqual = session?.theirs?.certificates == node.circle.setHash
    let verdict = verdict(lanes, areCertificatesEqual)
    return PeerVerification.Peer(
      device: peer.device, name: peer.name, verdict: verdict, certificatesEqual: areCertificatesEqual,
      lanes: .init(settings: settings, records: records), next: next(verdict, lanes))
  }

  private func compare(
    _ lane: Lane, after last: PeerVerification.Lane?, on node: NodeCore
  ) async throws -> PeerVerification.Lane {
    if let closed = closedHere(lane, on: node) { return closed }
    // A peer that did not answer about one lane is not asked about the next one.
    if let last, case .notCompared(.noAnswer, _, _) = last { return last }
    let verdict = await LaneComparison(lane: lane, peer: peer.device).run(on: node)
    try node.checkOpen()
    return verdict
  }

  /// Returns the result for a lane that is closed on this device; nil if the lane is open.
  private func closedHere(_ lane: Lane, on node: NodeCore) -> PeerVerification.Lane? {
    guard lane == .records, let gate = node.replica.ownGate(now: node.wall()).reason else { return nil }
    let reason = Reason(gate)
    let exclusion = node.connections.exclusion
    return .notCompared(
      reason: reason, text: exclusion?.text ?? reason.sentence(),
      next: exclusion?.next ?? reason.next() ?? .waymark("sync"))
  }

  /// Returns the verdict for the peer. A closed lane is ignored if the other lane was compared. If the peer did not
  /// answer, the verdict is unknown.
  private func verdict(
    _ lanes: [PeerVerification.Lane], _ areCertificatesEqual: Bool
  ) -> PeerVerification.Verdict {
    var isInSync = areCertificatesEqual
    var isComparable = false
    for lane in lanes {
      switch lane {
      case .differs: return .differs
      case .notCompared(.noAnswer, _, _), .notCompared(.store, _, _): return .unknown
      case .notCompared: continue
      case .notInSync: isInSync = false
      case .equal: break
      }
      isComparable = true
    }
    return !isComparable ? .unknown : isInSync ? .equal : .notInSync
  }

  /// Returns what to do next; nil if nothing is needed. A digest that is not the sum of its records' hashes shows which
  /// side is damaged.
  private func next(_ verdict: PeerVerification.Verdict, _ lanes: [PeerVerification.Lane]) -> Step? {
    let found = lanes.compactMap { if case .differs(let found) = $0 { found } else { nil } }
    switch verdict {
    case .differs where found.contains { !$0.digestWrongHere.isEmpty }:
      return .waymark("verify --deep --repair")
    case .differs where found.contains { !$0.digestWrongThere.isEmpty }:
      return .waymark("verify --deep --repair", on: peer.name)
    case .differs:
      let onBoth: Step = "\(waymark: "verify --deep --repair"), here and on \(peer.name)"
      return onBoth + ": this repairs the damaged side"
    case .notInSync: return .waymark("wait --peer \(shellWord(peer.name))")
    case .unknown: return .waymark("peers")
    case .equal: return nil
    }
  }
}
