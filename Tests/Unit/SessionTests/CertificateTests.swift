import Families
import Membership
import Replication
import Testing
import Wire

@Suite struct CertificateTests {
  /// Alice and Bob know each other; Dave's certificate is known only to Alice and Dave.
  static func worldWithDave() throws -> World {
    let world = try World(["alice", "bob"])
    let dave = try world.family.certificate(for: "dave", by: "alice")
    let others = [
      dave, try world.family.certificate(for: "bob"), try world.family.entitlement(for: "alice"),
      try world.family.entitlement(for: "bob"), try world.family.entitlement(for: "dave"),
    ]
    try world.add("dave", knowing: others)
    world.learn("alice", dave)
    return world
  }

  @Test func `sets of an author without a certificate are never stored`() throws {
    let world = try Self.worldWithDave()
    world.connect("alice", "bob")
    world.run(500)
    let sets = try world.write("dave", insert(record(1)))
    world.forgetTraffic()
    let held = world["bob"].replica
    // As if Bob had never received Dave's certificate: a circle without it.
    let known = try Circle(
      statements: held.circle.statements(notIn: []).filter {
        if case .deviceCertificate(let body) = $0.content { body.device != world["dave"].key } else { true }
      }, developmentIssuer: nil)
    world["bob"].replica.circle = known
    world.inject(.sets(.records, sets), from: "alice", to: "bob")
    let log = LogKey(device: world["dave"].key, incarnation: world["dave"].incarnation, lane: .records)
    world.inject(
      .heads(
        .records, [LogHead(log: log, sequence: 1, id: sets[0].id, foldedSequence: 1)], complete: false),
      from: "alice", to: "bob")
    world.run(100)
    #expect(world["bob"].count(.records) == 0)
    #expect(!world.sent.contains { $0.from == "bob" && $0.message.isWant })
    #expect(world.isConnected("alice", "bob"))
  }

  @Test func `a joiner's certificate arrives before its sets`() throws {
    let world = try Self.worldWithDave()
    world.connect("alice", "bob")
    world.run(500)
    try world.write("dave", insert(record(1)))
    world.connect("dave", "alice")
    try #require(world.run { $0["bob"].name(record(1)) != nil })
    #expect(world["bob"].replica.circle.evaluation.isMember(world["dave"].key))
    world.run(1_000)
    #expect(world["alice"].isInSync(with: world["bob"]))
    #expect(world["alice"].isInSync(with: world["dave"]))
  }

  @Test func `an author's sets follow as soon as its certificate arrives`() throws {
    let world = try World(["alice", "bob"])
    let dave = try world.family.certificate(for: "dave")
    try world.add(
      "dave",
      knowing: [dave, try world.family.certificate(for: "bob"), try world.family.entitlement(for: "dave")])
    let sets = try world.write("dave", insert(record(1)))
    world.connect("alice", "bob")
    world.run(500)
    // Bob receives Dave's head before his certificate.
    world["alice"].replica.circle.insert([dave])
    _ = world["alice"].commit(sets.map { ($0, nil) }, wall: world.now)
    let log = LogKey(device: world["dave"].key, incarnation: world["dave"].incarnation, lane: .records)
    world.inject(
      .heads(
        .records, [LogHead(log: log, sequence: 1, id: sets[0].id, foldedSequence: 1)], complete: false),
      from: "alice", to: "bob")
    world.run(50)
    #expect(world["bob"].count(.records) == 0)
    world.inject(.statements([dave.bytes], last: false), from: "alice", to: "bob")
    world.run(100)
    #expect(world["bob"].count(.records) == 1)
  }

  @Test func `statements spread through a device in the middle`() throws {
    let world = try World()
    world.connect("alice", "bob")
    world.connect("bob", "carol")
    world.run(500)
    let dave = try world.family.certificate(for: "dave")
    world.learn("alice", dave)
    world.run(100)
    #expect(world["carol"].replica.circle.statement(dave.id) != nil)
    world.run(500)
    #expect(world["bob"].isInSync(with: world["carol"]))
  }

  @Test func `a new statement is sent once, without lists of ids`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(500)
    world.forgetTraffic()
    world.learn("alice", try world.family.certificate(for: "dave"))
    world.run(1_000)
    #expect(!world.sent.contains { if case .statementIDs = $0.message { true } else { false } })
    #expect(!world.sent.contains { $0.message.isHeads })
    #expect(world.sent.count(where: { if case .statements = $0.message { true } else { false } }) == 1)
  }

  @Test func `statements that one side has no room for are not requested in a loop`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(500)
    let dave = try world.family.certificate(for: "dave")
    world["alice"].replica.circle.insert([dave])
    // Bob never stores it, as if its signer had no room left.
    world.meddle = { _, _, message in
      guard case .statements(_, let last) = message else { return [message] }
      return [.statements([], last: last)]
    }
    world.forgetTraffic()
    world.run(60_000)
    #expect(world.sent.count < 200, "\(world.sent.count) messages in a minute")
    try world.write("alice", insert(record(1)))
    world.run(1_000)
    #expect(world["bob"].name(record(1)) != nil, "records do not wait for it")
  }

  @Test func `a revoked device is disconnected, and not admitted again`() throws {
    let world = try World()
    world.connectAll()
    world.run(500)
    world.learn("alice", try world.family.revocation(of: "carol"))
    world.run(500)
    #expect(!world.isConnected("alice", "carol"))
    #expect(!world.isConnected("bob", "carol"))
    #expect(world.isConnected("alice", "bob"))
    world.forgetTraffic()
    world["alice"].closes = []
    // Carol was not told; she dials as before.
    world["carol"].replica.circle = try Circle(
      statements: [
        world.family.genesis, try world.family.certificate(for: "bob"),
        try world.family.certificate(for: "carol"),
      ], developmentIssuer: nil)
    world.connect("carol", "alice")
    world.run(500)
    #expect(!world.isConnected("alice", "carol"))
    #expect(world["alice"].closes == [.revoked])
    #expect(!world.sent.contains { $0.from == "alice" && $0.to == "carol" })
  }

  @Test func `a stranger's introduction adds nothing and gets no answer`() throws {
    let world = try World(["alice", "bob"])
    let mallory = try World(["mallory", "alice"])
    guard let introduction = mallory["mallory"].replica.ownIntroduction(now: world.now) else {
      Issue.record("no introduction")
      return
    }
    let before = world["alice"].replica.circle.setHash
    world.turn(
      world["alice"],
      [.opened(LinkID(99), remote: mallory["mallory"].transport, introduction: introduction)])
    #expect(world["alice"].replica.circle.setHash == before)
    #expect(world["alice"].closes == [.notAMember])
    #expect(world.sent.isEmpty)
  }

  @Test func `a member's introduction over another's transport key is rejected`() throws {
    let world = try World()
    guard let introduction = world["bob"].replica.ownIntroduction(now: world.now) else {
      Issue.record("no introduction")
      return
    }
    world.turn(
      world["alice"],
      [.opened(LinkID(99), remote: world["carol"].transport, introduction: introduction)])
    #expect(world["alice"].closes == [.notAMember])
    #expect(world["alice"].session(with: world["bob"]) == nil)
  }
}
