import JSONDocument
import Membership
import Replication
import Storage
import Wire

/// `peers ping` and `peers rename`, and `log level`.
extension Node {
  // MARK: ping

  /// Asks a connected peer for a sign of life, several times, over the live session.
  func pingPeer(_ request: CommandRequest) async throws -> JSON {
    guard network != nil else { throw WaymarkError.notServing }
    let peer = try peer(named: request.required("peer", "a peer"))
    let count = try pingCount(request)
    var trips: [Double] = []
    for _ in 0..<count { trips.append(try await roundTrip(peer.device)) }
    let sorted = trips.sorted()
    return document(
      request.command,
      [
        .init("device", .string(peer.device.description)), .init("name", .string(name(of: peer.device))),
        .init("address", .text(network?.lastAddress[peer.device])),
        .init("roundTripsMilliseconds", .array(trips.map { .float($0) })),
        .init("least", sorted.first.map { .float($0) } ?? .null),
        .init("median", sorted.isEmpty ? .null : .float(sorted[sorted.count / 2])),
        .init("most", sorted.last.map { .float($0) } ?? .null),
      ])
  }

  private func pingCount(_ request: CommandRequest) throws -> Int {
    guard let text = request.text("count") else { return 3 }
    guard let count = Int(text), (1...20).contains(count) else {
      throw WaymarkError.badValue("--count", text, allowed: "it is a whole number from 1 to 20")
    }
    return count
  }

  /// In milliseconds, to a hundredth.
  private func roundTrip(_ device: DeviceKey) async throws -> Double {
    try checkOpen()
    guard let session = replica.session(with: device) else { throw notReachable(device) }
    let before = session.echoes
    let began = ContinuousClock.now
    handle(.timer(.beat(session.link)))
    let isBack = try await wait(milliseconds: Self.pingMilliseconds) { node in
      node.replica.sessions[session.link].map { $0.echoes != before } ?? true
    }
    guard isBack, replica.sessions[session.link] != nil else {
      let name = name(of: device)
      throw WaymarkError.failed(
        "no_answer",
        "\(name) is connected, and gave no answer within \(Self.pingMilliseconds / 1_000) seconds.",
        next: "waymark why \(shellWord(name))")
    }
    let (seconds, attoseconds) = (ContinuousClock.now - began).components
    let microseconds = Double(seconds) * 1_000_000 + Double(attoseconds) / 1_000_000_000_000
    return (microseconds / 10).rounded() / 100
  }

  private static let pingMilliseconds: Int64 = 5_000

  // MARK: rename

  static func peerNames(_ store: Store) throws -> [DeviceKey: String] {
    var names: [DeviceKey: String] = [:]
    for line in try store.metaLines(MetaKey.peerNames) {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let device = DeviceKey(hex: parts[0]) else { continue }
      names[device] = String(parts[1])
    }
    return names
  }

  /// Calls a peer by another name on this device; with no name by its own again.
  func renamePeer(_ request: CommandRequest) throws -> JSON {
    let peer = try peer(named: request.required("peer", "a peer"))
    let new = try checkedName(request.text("name") ?? "", for: peer)
    var names = remembered.names
    names[peer.device] = new
    try checkDisk()
    try withRoom {
      try store.setMetaLines(
        MetaKey.peerNames, names.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
    }
    remembered.names = names
    nodeChanged()
    return document(
      request.command,
      [
        .init("device", .string(peer.device.description)), .init("name", .string(name(of: peer.device))),
        .init("ownName", .string(peer.name)),
      ])
  }

  private func checkedName(_ name: String, for peer: Member) throws -> String? {
    if name.isEmpty || name == peer.name { return nil }
    guard name.utf8.count <= 64,
      name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }),
      name.contains(where: { !$0.isWhitespace }), !name.hasPrefix("-")
    else {
      throw WaymarkError.badValue(
        "NAME", name, allowed: "a name is one line of at most 64 bytes and begins with no dash")
    }
    let taken = circle.evaluation.members.values.first {
      $0.device != peer.device && (self.name(of: $0.device) == name || $0.name == name)
    }
    guard taken == nil else {
      throw WaymarkError.badValue("NAME", name, allowed: "another device of the circle is called so")
    }
    return name
  }

  // MARK: log level

  /// Says or sets how much the running node writes to its log.
  func logLevel(_ request: CommandRequest) throws -> JSON {
    guard network != nil else { throw WaymarkError.notServing }
    let before = log.level
    if let wanted = request.text("level") {
      guard let level = NodeLog.Level.allCases.first(where: { "\($0)" == wanted }) else {
        let known = NodeLog.Level.allCases.map { "\($0)" }.joined(separator: ", ")
        throw WaymarkError.badValue("LEVEL", wanted, allowed: "it is one of \(known)")
      }
      log.level = level
      if level != before { log.say("the log shows \(level) and graver from now on") }
    }
    return document(
      request.command, [.init("level", .string("\(log.level)")), .init("before", .string("\(before)"))])
  }
}
