import Families
import Membership
import Replication
import Testing
import Wire

/// Alice's connections with two peers at once: what concerns one of them leaves the other alone.
@Suite struct SeveralPeersTests {
  private final class Node {
    let world: World
    var replica: Replica
    var peering = Peering(paused: [], seed: 1)
    var now: Moment = 0

    init() throws {
      world = try World(["alice", "bob", "carol"])
      replica = world["alice"].replica
    }

    private var time: Now { Now(wall: World.start + now, steady: now) }

    func key(_ name: String) -> DeviceKey { world[name].key }

    /// The effects of an event, in words.
    func after(_ input: PeeringInput) -> [String] {
      var effects: [PeeringEffect] = []
      peering.handle(input, replica, now: time, into: &effects)
      return effects.flatMap(carryOut)
    }

    private func carryOut(_ effect: PeeringEffect) -> [String] {
      switch effect {
      case .dial(let address): return ["dial \(address)"]
      case .introduce(let link, let remote, let introduction):
        let joined = hear(.opened(link, remote: remote, introduction: introduction))
        return ["introduce \(link.rawValue)"] + joined + after(.introduced(link))
      case .admit(let link): return ["admit \(link.rawValue)"]
      case .send(let link, let message):
        return ["\(message.isGoodbye ? "goodbye" : "message") \(link.rawValue)"]
      case .close(let link): return ["close \(link.rawValue)"]
      case .closeAtOnce(let link): return ["close \(link.rawValue) at once"]
      case .schedule(.dial, _): return []
      case .schedule(.introduce(let link), _): return ["hold \(link.rawValue)"]
      case .report(.penalised): return ["penalised"]
      }
    }

    /// Lets the replica handle an event, and reports which peers have joined.
    @discardableResult
    func hear(_ input: Input) -> [String] {
      var effects: [Effect] = []
      replica.handle(input, now: time, into: &effects)
      return effects.flatMap { effect in
        if case .report(.peerJoined(let device, let link)) = effect { return after(.joined(link, device)) }
        return []
      }
    }

    func incoming(_ name: String, _ number: UInt64) throws -> [String] {
      let introduction = try #require(world[name].replica.ownIntroduction(now: World.start))
      let remote = world[name].transport
      return after(.opened(LinkID(number), dialled: nil, remote: remote, introduction: introduction))
    }

    func end(_ number: UInt64, _ end: ConnectionEnd) -> [String] {
      let effects = after(.ended(LinkID(number), end))
      hear(.closed(LinkID(number)))
      return effects
    }

    /// Lets Bob announce sets, so that they are requested from him.
    func announceSets(_ number: UInt64) throws {
      let log = LogKey(device: key("bob"), incarnation: Incarnation(Bytes16(7, 7)), lane: .settings)
      let head = LogHead(log: log, sequence: 3, id: ChangeSetID(Bytes32(1, 2, 3, 4)), foldedSequence: 3)
      hear(.received(LinkID(number), .heads(.settings, [head], complete: true)))
      let asked = replica.sessions[LinkID(number)]?.settings.asked ?? [:]
      try #require(!asked.isEmpty)
    }

    func ignores(_ number: UInt64) -> Bool { peering.ignores(LinkID(number), replica) }
    func isPenalised(_ name: String) -> Bool { peering.isPenalised(key(name), now: time) }
  }

  // MARK: Connections

  @Test
  func `a penalised device that waits does not end the wait of another, and leaves no trace once it is gone`()
    throws
  {
    let node = try Node()
    #expect(try node.incoming("bob", 1) == ["introduce 1", "admit 1"])
    #expect(try node.incoming("carol", 2) == ["introduce 2", "admit 2"])
    #expect(
      node.after(.closing(LinkID(9), .misbehaved("it did"))) == ["close 9"], "a device is not identified")
    #expect(node.end(1, .brokeRules) == ["penalised"])
    #expect(node.isPenalised("bob") && !node.isPenalised("carol"))
    #expect(node.end(2, .brokeRules) == ["penalised"])
    #expect(try node.incoming("bob", 3) == ["hold 3"])
    #expect(try node.incoming("carol", 4) == ["hold 4"])
    #expect(node.after(.timer(.introduce(LinkID(3)))) == ["introduce 3", "admit 3"])
    #expect(try node.incoming("carol", 5) == ["close 4", "hold 5"])
    #expect(node.end(5, .lost) == [])
    #expect(node.after(.timer(.introduce(LinkID(5)))) == [])
    #expect(try node.incoming("carol", 6) == ["hold 6"])
    #expect(node.after(.timer(.introduce(LinkID(6)))) == ["introduce 6", "admit 6"])
    #expect(node.replica.connectedDevices() == [node.key("bob"), node.key("carol")])
  }

  @Test func `pausing and resuming one of two peers leaves the other alone`() throws {
    let node = try Node()
    let (bob, carol) = (node.key("bob"), node.key("carol"))
    #expect(try node.incoming("bob", 1) == ["introduce 1", "admit 1"])
    #expect(try node.incoming("carol", 2) == ["introduce 2", "admit 2"])
    #expect(node.after(.paused(bob)) == ["goodbye 1", "close 1"])
    #expect(node.ignores(1) && !node.ignores(2))
    #expect(node.after(.paused(carol)) == ["goodbye 2", "close 2"])
    #expect(node.end(2, .lost) == [])
    #expect(node.after(.addressFound(address, carol)) == [])
    #expect(!node.peering.isFound(address))
    #expect(node.after(.resumed(bob)) == [])
    #expect(node.peering.paused == [carol])
    #expect(node.after(.resumed(carol)) == [])
    #expect(node.after(.addressFound(address, carol)) == ["dial \(address)"])
  }

  @Test
  func `with room for one connection, one of two addresses is dialled, and the other once there is room`()
    throws
  {
    let node = try Node()
    let other = "192.168.1.21:7433"
    for number in 1..<UInt64(Limits.connectionsMax) { #expect(node.after(.pairing(LinkID(number))) == []) }
    _ = node.after(.addressGiven(address))
    _ = node.after(.addressGiven(other))
    #expect(node.after(.hurried) == ["dial \(address)"])
    let failures: [DialFailure?] = [nil, .other]
    #expect(node.peering.addresses.map(\.lastFailure) == failures)
    let remote = node.world["bob"].transport
    let opened = PeeringInput.opened(LinkID(100), dialled: address, remote: remote, introduction: nil)
    #expect(node.after(opened) == ["introduce 100"])
    #expect(node.after(.hurried) == [])
    #expect(node.end(1, .lost) == [])
    #expect(node.after(.hurried) == ["dial \(other)"])
  }

  private func refusal(
    _ end: ConnectionEnd, isOwed: Bool, goodbye: ReasonCode? = nil
  ) throws -> Peering.Refusal? {
    let node = try Node()
    _ = try node.incoming("bob", 1)
    if isOwed { try node.announceSets(1) }
    if let goodbye { node.hear(.received(LinkID(1), .goodbye(goodbye))) }
    _ = node.end(1, end)
    return node.peering.refusals[node.key("bob")]
  }

  @Test
  func `only a peer that hangs up without a reason before it has sent what was requested is unreadable`()
    throws
  {
    #expect(try refusal(.hungUp, isOwed: true) == .unreadable)
    #expect(try refusal(.hungUp, isOwed: false) == nil)
    #expect(try refusal(.lost, isOwed: true) == nil)
    #expect(try refusal(.hungUp, isOwed: true, goodbye: .shuttingDown) == nil)
    #expect(try refusal(.hungUp, isOwed: true, goodbye: .paused) == .paused)
    #expect(try refusal(.brokeRules, isOwed: true) == nil)
    // It connects again, and this time sends what it announces.
    let node = try Node()
    _ = try node.incoming("bob", 1)
    try node.announceSets(1)
    _ = node.end(1, .hungUp)
    #expect(node.peering.refusals[node.key("bob")] == .unreadable)
    #expect(node.peering.refusals[node.key("carol")] == nil)
    _ = try node.incoming("carol", 2)
    #expect(node.peering.refusals[node.key("bob")] == .unreadable)
    _ = try node.incoming("bob", 3)
    #expect(node.peering.refusals[node.key("bob")] == nil)
    _ = node.end(3, .hungUp)
    #expect(node.peering.refusals[node.key("bob")] == nil)
  }

  // MARK: Sessions

  @Test func `the lane with each of two peers closes when its own premium ends, and opens again for one`()
    throws
  {
    let (first, second) = (World.start + 60_000, World.start + 150_000)
    let world = try World(["alice", "bob", "carol"], premium: ["alice"])
    let entitlements = [
      try world.family.entitlement(for: "carol", 0..<second),
      try world.family.entitlement(for: "bob", 0..<first),
    ]
    for name in ["alice", "bob", "carol"] { world[name].replica.circle.insert(entitlements) }
    world.connect("alice", "bob")
    world.connect("alice", "carol")
    world.run(1_000)
    func isOpen(_ peer: String) -> Bool { world["alice"].isOpen(.records, with: world[peer]) }
    #expect(isOpen("bob") && isOpen("carol"))
    world.meddle = { _, _, _ in [] }
    world.run(first - world.now - 1)
    #expect(isOpen("bob") && isOpen("carol"))
    world.run(1)
    #expect(!isOpen("bob") && isOpen("carol"))
    world.run(second - world.now - 1)
    #expect(isOpen("carol"))
    world.run(1)
    #expect(!isOpen("bob") && !isOpen("carol"))
    world.meddle = nil
    try world.write("alice", insert(record(1)))
    world.learn("alice", try world.family.entitlement(for: "bob", first..<(second * 2), serial: 1))
    try #require(world.run { $0["bob"].name(record(1)) == "Rome" })
    world.run(10_000)
    #expect(isOpen("bob") && !isOpen("carol"))
    #expect(world["carol"].name(record(1)) == nil)
  }

  @Test
  func
    `a device with a full disk requests nothing from any peer, and everything once there is room, each time`()
    throws
  {
    let world = try World(["alice", "bob", "carol"])
    let bob = world["bob"]
    for number in 1...5 { try world.write("alice", insert(record(UInt64(number)))) }
    try world.write("carol", insert(record(6)))
    world.turn(bob, [.notKept([])])
    world.connect("alice", "bob")
    world.connect("carol", "bob")
    world.run(10_000)
    #expect(bob.count(.records) == 0)
    #expect(!world.sent.contains { $0.from == "bob" && $0.message.isWant })
    world.turn(bob, [.roomAgain])
    try #require(world.run { $0["bob"].count(.records) == 6 && $0["alice"].count(.records) == 6 })
    world.run(2_000)
    world.forgetTraffic()
    world.turn(bob, [.notKept([])])
    try world.write("alice", insert(record(7)))
    world.run(10_000)
    #expect(bob.count(.records) == 6, "what is pushed is dropped")
    #expect(!world.sent.contains { $0.from == "bob" && $0.message.isWant })
    world.turn(bob, [.roomAgain])
    try #require(world.run { $0["bob"].count(.records) == 7 && $0["carol"].count(.records) == 7 })
    #expect(world.isConnected("alice", "bob") && world.isConnected("carol", "bob"))
  }
}

private let address = "192.168.1.20:7433"
