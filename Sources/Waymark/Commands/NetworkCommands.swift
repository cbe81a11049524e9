package import Membership
import Replication
import Wire

/// What commands about peers need: a running node, the peer that a name means, and why it is not in sync.
extension Node {
  /// - Throws: `WaymarkError` with the code `not_running` unless the node serves.
  package func checkServing() throws {
    try checkOpen()
    guard network != nil else { throw WaymarkError.notServing }
  }

  package var isServing: Bool { network != nil }

  /// A peer by unique prefix of its id, or by its name.
  package func peer(named name: String) throws -> Member {
    let found = peersMatching(name)
    guard let first = found.first else {
      throw WaymarkError.notFound("peer", name, next: "waymark peers")
    }
    guard found.count == 1 else {
      throw WaymarkError.ambiguous("peer", name, found.map { "\(self.name(of: $0.device))  \($0.device)" })
    }
    return first
  }

  /// The peers that a name can mean: what they call themselves, what they are called here, or an id; all of it, else
  /// how it begins.
  func peersMatching(_ name: String) -> [Member] {
    let folded = name.lowercased()
    let others = circle.evaluation.members.values.filter { $0.device != identity.device }
      .sorted { ($0.name, $0.device) < ($1.name, $1.device) }
    let exact = others.filter { peerNames($0).contains(name) || $0.device.description == folded }
    guard exact.isEmpty, !folded.isEmpty else { return exact }
    return others.filter { peer in
      peer.device.description.hasPrefix(folded)
        || peerNames(peer).contains { $0.lowercased().hasPrefix(folded) }
    }
  }

  private func peerNames(_ peer: Member) -> [String] {
    [remembered.names[peer.device], peer.name].compactMap(\.self)
  }

  // MARK: wait

  /// How long `wait` waits if nothing else is said.
  package static let waitMilliseconds: Int64 = 30_000

  /// Lanes that the gate closes are skipped; if nothing is left to wait for, it is not in sync.
  func isInSync(with peer: DeviceKey?, _ lanes: [Lane]) -> Bool {
    let sessions = replica.sessions.values.filter { session in
      !session.isClosing && (peer.map { session.device == $0 } ?? (session.device != nil))
    }
    guard !sessions.isEmpty else { return false }
    return sessions.allSatisfy { session in
      let open = lanes.filter { session[$0].isOpen }
      return session.isCurrent && !open.isEmpty && open.allSatisfy { session[$0].isDigestEqual == true }
    }
  }

  func notInSync(_ peer: DeviceKey?, _ lanes: [Lane]) -> WaymarkError {
    if let exclusion {
      return WaymarkError(
        exitCode: ExitCode.notInSync, code: exclusion.reason.rawValue,
        message: exclusion.text.capitalizedFirst + ".", next: exclusion.next ?? "waymark members")
    }
    let peers = ((try? currentPeers(wall())) ?? []).filter { peer == nil || $0.device == peer }
    let waiting = peers.first { $0.state != .inSync } ?? peers.first
    let closed = waiting.flatMap { lanes == [.records] ? $0.records.reason : nil }
    let reason = closed ?? waiting?.reason ?? .offline
    return WaymarkError(
      exitCode: ExitCode.notInSync, code: reason.rawValue,
      message: "Not in sync\(waiting.map { " with \($0.name)" } ?? ""): "
        + "\(reason.sentence(peer: waiting?.name)).",
      next: reason.next(peer: waiting?.name) ?? "waymark status")
  }
}
