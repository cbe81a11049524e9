import JSONDocument
package import Membership
import Replication
import Wire

/// Commands that need a running node, or say so: `peers add|pause|resume`, `sync now`, `wait`, `invite`.
extension Node {
  /// - Throws: `WaymarkError` with the code `not_running` unless the node serves.
  package func checkServing() throws {
    try checkOpen()
    guard network != nil else { throw WaymarkError.notServing }
  }

  package var isServing: Bool { network != nil }

  func performWithNetwork(
    _ request: CommandRequest, _ events: @escaping @Sendable (JSON) -> Void
  ) async throws -> JSON? {
    guard request.command == "invite" else { return Optional.none }
    return try await invite(request, events)
  }

  /// A peer by unique prefix of its id, or by its name.
  package func peer(named name: String) throws -> Member {
    let found = deviceNames.members(matching: name, but: identity.device)
    guard let first = found.first else {
      throw WaymarkError.notFound("peer", name, next: "waymark peers")
    }
    guard found.count == 1 else {
      throw WaymarkError.ambiguous("peer", name, found.map { "\(self.name(of: $0.device))  \($0.device)" })
    }
    return first
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

  // MARK: invite

  /// Gives out a ticket. The event `ticket` carries it at once; with `wait` the answer comes when a device has
  /// joined with it.
  private func invite(
    _ request: CommandRequest, _ events: @Sendable (JSON) -> Void
  ) async throws -> JSON {
    let lifetime = try lifetime(request)
    let root = try request.text("rootKey").map {
      try RootKey.read($0, at: home, of: circle, passphrases(for: request), for: "Inviting from here")
    }
    let ticket = try makeTicket(role: try role(request), lifetime: lifetime, root: root)
    events(["type": "ticket", "ticket": .string(ticket.line), "expires": timeJSON(ticket.expiry)])
    var members: [JSON.Member] = [
      .init("ticket", .string(ticket.line)), .init("expires", timeJSON(ticket.expiry)),
    ]
    if request.flag("wait") {
      guard let joined = try await waitForJoiner(milliseconds: lifetime) else {
        throw WaymarkError.failed(
          "ticket_expired", "No device joined before the ticket expired.", next: "waymark invite")
      }
      members += [.init("joined", .string(joined.description)), .init("name", .string(name(of: joined)))]
    }
    return document(request.command, members)
  }

  private func lifetime(_ request: CommandRequest) throws -> Moment {
    let lifetime = request.arguments["expiresMilliseconds"]?.integer ?? Limits.ticketMilliseconds
    guard (1...Limits.ticketMillisecondsMax).contains(lifetime) else {
      let daysMax = Limits.ticketMillisecondsMax / 86_400_000
      throw WaymarkError.badValue(
        "--expires", "\(lifetime / 1_000)s", allowed: "it must be more than zero, and at most \(daysMax)d")
    }
    return lifetime
  }

  private func role(_ request: CommandRequest) throws -> Role {
    switch request.text("role") ?? "member" {
    case "member": return .member
    case "admin": return .admin
    case let other: throw WaymarkError.badValue("--role", other, allowed: "admin or member")
    }
  }
}
