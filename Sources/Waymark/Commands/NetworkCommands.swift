import Membership
import Replication
import Wire

/// Commands that need a running node, or say so: `peers add|pause|resume`, `sync now`, `wait`, `invite`.
extension Node {
  func performWithNetwork(
    _ request: CommandRequest, _ events: @escaping @Sendable (JSON) -> Void
  ) async throws -> JSON? {
    switch request.command {
    case "peers.add": try addPeer(request)
    case "peers.ping": try await pingPeer(request)
    case "peers.pause": try pausePeer(request, true)
    case "peers.resume": try pausePeer(request, false)
    case "sync.now": try syncNow(request)
    case "wait": try await waitInSync(request)
    case "invite": try await invite(request, events)
    default: nil
    }
  }

  private func addPeer(_ request: CommandRequest) throws -> JSON {
    let address = try request.required("address", "an address, as 192.168.1.20:7433")
    try addPeer(address)
    return document(
      request.command, [.init("address", .string(address)), .init("running", .bool(network != nil))])
  }

  private func pausePeer(_ request: CommandRequest, _ isPaused: Bool) throws -> JSON {
    let peer = try peer(named: request.required("peer", "a peer"))
    try setPaused(peer.device, isPaused)
    return document(
      request.command,
      [
        .init("device", .string(peer.device.description)), .init("name", .string(peer.name)),
        .init("paused", .bool(isPaused)),
      ])
  }

  private func syncNow(_ request: CommandRequest) throws -> JSON {
    guard network != nil else { throw WaymarkError.notServing }
    try checkNotExcluded()
    handle(.hurried)
    for link in replica.sessions.keys.sorted() { handle(.timer(.beat(link))) }
    let peers = try snapshot().peersDocument["peers"] ?? []
    return document(request.command, [.init("peers", peers)])
  }

  /// A peer by unique prefix of its id, or by its name.
  func peer(named name: String) throws -> Member {
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

  /// Waits until this node is in sync with every connected peer, or with the one named.
  /// How long `wait` waits if nothing else is said.
  static let waitMilliseconds: Int64 = 30_000

  private func waitInSync(_ request: CommandRequest) async throws -> JSON {
    guard network != nil else { throw WaymarkError.notServing }
    let peer = try request.text("peer").map { try self.peer(named: $0).device }
    let lanes = try lanesToWaitFor(request)
    let timeout = request.arguments["timeoutMilliseconds"]?.integer ?? Self.waitMilliseconds
    let isMet = try await wait(milliseconds: max(timeout, 0)) { $0.isInSync(with: peer, lanes) }
    guard isMet else { throw notInSync(peer, lanes) }
    return document(
      request.command,
      [.init("inSync", true), .init("lanes", .array(lanes.map { .string("\($0)") }))])
  }

  private func lanesToWaitFor(_ request: CommandRequest) throws -> [Lane] {
    switch request.text("lane") ?? "all" {
    case "all": return Lane.allCases
    case "settings": return [.settings]
    case "records": return [.records]
    case let other: throw WaymarkError.badValue("--lane", other, allowed: "records, settings or all")
    }
  }

  /// Lanes that the gate closes are skipped; if nothing is left to wait for, it is not in sync.
  private func isInSync(with peer: DeviceKey?, _ lanes: [Lane]) -> Bool {
    let sessions = replica.sessions.values.filter { session in
      !session.isClosing && (peer.map { session.device == $0 } ?? (session.device != nil))
    }
    guard !sessions.isEmpty else { return false }
    return sessions.allSatisfy { session in
      let open = lanes.filter { session[$0].isOpen }
      return session.isCurrent && !open.isEmpty && open.allSatisfy { session[$0].isDigestEqual == true }
    }
  }

  private func notInSync(_ peer: DeviceKey?, _ lanes: [Lane]) -> WaymarkError {
    if let exclusion {
      return WaymarkError(
        exitCode: ExitCode.notInSync, code: exclusion.reason.rawValue,
        message: exclusion.text.capitalizedFirst + ".", next: exclusion.next ?? "waymark members")
    }
    let snapshots = ((try? peerSnapshots(wall())) ?? []).filter { peer == nil || $0.device == peer }
    let waiting = snapshots.first { $0.state != .inSync } ?? snapshots.first
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
