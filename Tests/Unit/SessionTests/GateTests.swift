import Families
import FileFormat
import Membership
import Replication
import Testing
import Wire

@Suite struct GateTests {
  /// Whether a message reveals anything about records; none may be sent, in either direction.
  static func tellsOfRecords(_ message: Message) -> Bool {
    switch message {
    case .heads(.records, _, _), .want(.records, _), .sets(.records, _), .served(.records), .file: true
    default: false
    }
  }

  @Test func `a free device gets settings and certificates, and not one record`() throws {
    let world = try World(premium: ["alice", "bob"])
    world.connectAll()
    world.run(500)
    try world.write("alice", insert(record(1)), insert(setting(1), "dark"))
    try world.write("carol", insert(record(2)), insert(setting(2), "light"))
    world.run(10_000)
    let carol = world["carol"]
    #expect(carol.name(record(1)) == nil)
    #expect(world["alice"].name(record(2)) == nil && world["bob"].name(record(2)) == nil)
    #expect(world["bob"].name(record(1)) == "Rome")
    #expect(carol.state([.settings]) == world["alice"].state([.settings]))
    #expect(carol.isInSync(with: world["alice"]), "in sync in every open lane")
    #expect(
      !world.sent.contains { [$0.from, $0.to].contains("carol") && Self.tellsOfRecords($0.message) })
    #expect(world["alice"].session(with: carol)?.records.reason == .peerNotPremium(.freeTier))
    #expect(carol.session(with: world["alice"])?.records.reason == .mine(.freeTier))
  }

  @Test func `a free device that requests and sends records gets no answer`() throws {
    let world = try World(["alice", "carol"], premium: ["alice"])
    world.connect("alice", "carol")
    world.run(500)
    let alices = try world.write("alice", insert(record(1)))
    let carols = try world.write("carol", insert(record(2)))
    world.run(500)
    world.forgetTraffic()
    let head = LogHead(log: alices[0].header.log, sequence: 1, id: alices[0].id, foldedSequence: 1)
    world.inject(.heads(.records, [head], complete: true), from: "carol", to: "alice")
    world.inject(
      .want(.records, [Want(log: head.log, from: 1, through: 1, tip: head.id)]), from: "carol", to: "alice")
    world.inject(.sets(.records, carols), from: "carol", to: "alice")
    world.run(200)
    #expect(world["alice"].count(.records) == 1)
    #expect(!world.sent.contains { Self.tellsOfRecords($0.message) })
  }

  @Test func `a peer is judged by its certificates, whatever it announces`() throws {
    let world = try World(["alice", "carol"], premium: ["alice"])
    try world.write("alice", insert(record(1)))
    world.meddle = { from, _, message in
      guard from == "carol", case .summary(var summary) = message else { return [message] }
      summary.records.reason = .open
      return [.summary(summary)]
    }
    world.connect("alice", "carol")
    world.run(2_000)
    #expect(!world["alice"].isOpen(.records, with: world["carol"]))
    #expect(!world.sent.contains { Self.tellsOfRecords($0.message) })
  }

  @Test func `a lane that one side may not open is closed on both`() throws {
    // Bob holds an entitlement that Alice does not accept: he believes that he has premium.
    let world = try World(["alice", "bob"], premium: ["alice"])
    world["bob"].replica.localPremium = .allFeatures
    world.connect("alice", "bob")
    world.run(500)
    #expect(!world["bob"].isOpen(.records, with: world["alice"]))
    #expect(world["bob"].session(with: world["alice"])?.records.reason == .theirs(.peerNotPremium))
    #expect(world["bob"].isInSync(with: world["alice"]), "the settings lane is not blocked")
    world.learn("alice", try world.family.entitlement(for: "bob"))
    world.run(500)
    #expect(world["bob"].isOpen(.records, with: world["alice"]))
    #expect(world["alice"].isOpen(.records, with: world["bob"]))
  }

  @Test func `sync is turned on and off while running, and closes between sets`() throws {
    let world = try CatchUpTests.worldBehind(by: 1_000)
    world.prefer("bob", false)
    world.connect("alice", "bob")
    world.run(1_000)
    #expect(world["bob"].count(.records) == 0)
    #expect(world["alice"].session(with: world["bob"])?.records.reason == .theirs(.syncOff))
    world.prefer("bob", true)
    try #require(world.run { $0["bob"].count(.records) > 200 })
    world.prefer("bob", false)
    let held = world["bob"].count(.records)
    world.run(10_000)
    #expect(world["bob"].count(.records) == held)
    #expect(!world["alice"].isOpen(.records, with: world["bob"]))
    try world.write("alice", insert(setting(1), "dark"))
    world.run(1_000)
    #expect(world["bob"].count(.settings) == 1)
    world.prefer("bob", true)
    try #require(world.run { $0["bob"].isInSync(with: $0["alice"]) })
    #expect(world["bob"].state() == world["alice"].state())
    #expect(world["bob"].replica.preference)
  }

  @Test func `turning sync off takes effect before a clock that was set forward opens a lane`() throws {
    let world = try World(["alice", "bob"], premium: ["bob"])
    let begin = world.now + 60_000
    world.learn("alice", try world.family.entitlement(for: "alice", begin..<begin * 2))
    try world.write("alice", insert(record(1)))
    // On Bob's device it has begun.
    world["bob"].clockAhead = 120_000
    world.connect("alice", "bob")
    world.run(2_000)
    #expect(world["alice"].session(with: world["bob"])?.records.reason == .mine(.entitlementNotYetValid))
    world.forgetTraffic()
    world["alice"].clockAhead = 120_000
    world.prefer("alice", false)
    world.run(1_000)
    #expect(!world.sent.contains { Self.tellsOfRecords($0.message) })
    world.prefer("alice", true)
    try #require(world.run { $0["bob"].name(record(1)) == "Rome" })
  }

  @Test func `a want for one peer is not redirected to another when all lanes close at once`() throws {
    let world = try World()
    for number in 1...1_000 { try world.write("alice", insert(record(UInt64(number)))) }
    world.connect("alice", "carol")
    try #require(world.run { $0["carol"].isInSync(with: $0["alice"]) })
    (world.serveBytes, world.linkBytesMax, world.bytesPerMillisecond) = (4_096, 16_384, 50)
    world.connect("alice", "bob")
    world.connect("carol", "bob")
    try #require(world.run { $0["bob"].count(.records) > 200 })
    #expect(world["bob"].isOpen(.records, with: world["carol"]))
    world.forgetTraffic()
    world.prefer("bob", false)
    world.run(1_000)
    #expect(world["bob"].count(.records) < 1_000)
    #expect(!world.sent.contains { $0.from == "bob" && Self.tellsOfRecords($0.message) })
  }

  @Test func `a request for a file is not redirected to another when all lanes close at once`() throws {
    let world = try World()
    world.connectAll()
    world.run(2_000)
    // Both others say that they have the file, and neither sends it.
    let file = try #require(FileReference(size: 500_000, id: FileID(Bytes32(1, 2, 3, 4))))
    world.meddle = { _, _, message in
      guard case .file(let about) = message else { return [message] }
      if case .filesHere(let here) = about, here.role == .answer {
        return [.file(.filesHere(FilesHere(role: .answer, keepsAll: true, files: [file])))]
      }
      return if case .wantLeaves = about { [] } else { [message] }
    }
    world.turn(world["alice"], [.file(.wanted([file], isUrgent: false))])
    world.run(1_000)
    #expect(world["alice"].replica.progress(of: file)?.sources.count == 2)
    #expect(world["alice"].replica.fileLoad.requests == 1)
    var told: [FileMessage] = []
    world.meddle = { from, _, message in
      if case .file(let about) = message, from == "alice" { told.append(about) }
      return [message]
    }
    world.prefer("alice", false)
    #expect(told == [])
  }

  @Test func `an entitlement that ends while sets flow closes the lane on both sides at that second`() throws
  {
    let world = try World(["alice", "bob"], premium: ["alice"])
    for number in 1...1_000 { try world.write("alice", insert(record(UInt64(number)))) }
    (world.serveBytes, world.linkBytesMax, world.bytesPerMillisecond) = (4_096, 16_384, 50)
    let end = world.now + 3_000
    world.learn("alice", try world.family.entitlement(for: "bob", 0..<end))
    world.connect("alice", "bob")
    world.run(end - world.now - 1)
    #expect(world["alice"].isOpen(.records, with: world["bob"]))
    let atEnd = world["bob"].count(.records)
    #expect(atEnd > 0 && atEnd < 1_000)
    world.run(2)
    #expect(!world["alice"].isOpen(.records, with: world["bob"]))
    #expect(!world["bob"].isOpen(.records, with: world["alice"]))
    #expect(world["bob"].replica.ownGate(now: world.now).reason == .entitlementExpired)
    world.run(100)
    world.forgetTraffic()
    try world.write("alice", insert(setting(1), "dark"))
    world.run(10_000)
    #expect(world["bob"].count(.settings) == 1)
    #expect(!world.sent.contains { Self.tellsOfRecords($0.message) })
    #expect(world["bob"].count(.records) <= atEnd + 30)
    // The entitlement is renewed; the earlier wants are still outstanding.
    world.learn("alice", try world.family.entitlement(for: "bob", end..<(end * 2), serial: 1))
    try #require(world.run { $0["bob"].isInSync(with: $0["alice"]) && $0["bob"].count(.records) == 1_000 })
    #expect(world["bob"].duplicates == 0)
  }

  @Test func `the end of a peer's entitlement is noticed although no message arrives`() throws {
    let end = World.start + 60_000
    let world = try World(["alice", "bob"], premium: ["alice"])
    world["alice"].replica.circle.insert([try world.family.entitlement(for: "bob", 0..<end)])
    world["bob"].replica.circle.insert([try world.family.entitlement(for: "bob", 0..<end)])
    world.connect("alice", "bob")
    world.run(1_000)
    #expect(world["alice"].isOpen(.records, with: world["bob"]))
    world.meddle = { _, _, _ in [] }
    world.run(end - world.now)
    #expect(!world["alice"].isOpen(.records, with: world["bob"]))
  }

  @Test func `an entitlement opens the lane when its time begins`() throws {
    let begin = World.start + 30_000
    let world = try World(["alice", "bob"], premium: ["alice"])
    try world.write("alice", insert(record(1)))
    world.learn("bob", try world.family.entitlement(for: "bob", begin..<(begin * 2)))
    world.connect("alice", "bob")
    world.run(begin - world.now - 1)
    #expect(!world["alice"].isOpen(.records, with: world["bob"]))
    #expect(world["bob"].name(record(1)) == nil)
    world.run(200)
    #expect(world["bob"].name(record(1)) == "Rome")
  }

  @Test func `a clock that is set back gains nothing`() throws {
    let end = World.start + 60_000
    let world = try World(["alice", "bob"], premium: ["alice"])
    world.learn("alice", try world.family.entitlement(for: "bob", 0..<end))
    world.learn("bob", try world.family.entitlement(for: "bob", 0..<end))
    world.connect("alice", "bob")
    world.run(61_000)
    // The free settings lane continues and carries the time.
    try world.write("alice", insert(setting(1), "dark"))
    world.run(1_000)
    world["bob"].clockAhead = -3_600_000
    try world.write("bob", insert(setting(2), "light"))
    world.run(10_000)
    #expect(world["bob"].replica.ownGate(now: world.wall(world["bob"])).reason == .entitlementExpired)
    #expect(!world["bob"].isOpen(.records, with: world["alice"]))
    #expect(!world["alice"].isOpen(.records, with: world["bob"]))
  }

  @Test func `a device whose clock is set back to before its entitlement sends no more requests`() throws {
    let begin = World.start - 60_000
    let world = try World(["alice", "bob"], premium: ["alice"])
    for name in ["alice", "bob"] {
      world[name].replica.circle.insert([try world.family.entitlement(for: "bob", begin..<(begin * 2))])
    }
    world.connect("alice", "bob")
    world.run(1_000)
    try #require(world["bob"].isOpen(.records, with: world["alice"]))
    var wants = 0
    world.meddle = { _, _, message in
      if case .want(.records, _) = message { wants += 1 }
      guard case .sets(.records, let sets) = message, wants == 0 else { return [message] }
      let heads = sets.map {
        LogHead(log: $0.header.log, sequence: $0.header.sequence, id: $0.id, foldedSequence: 0)
      }
      return [.heads(.records, heads, complete: false)]
    }
    world["bob"].clockAhead = -3_600_000
    try world.write("alice", insert(record(1)))
    world.run(10_000)
    #expect(wants == 0)
    #expect(!world["bob"].isOpen(.records, with: world["alice"]))
    world["bob"].clockAhead = 0
    world.run(10_000)
    #expect(world["bob"].name(record(1)) == "Rome")
  }

  @Test func `a clock folded from a peer ends an entitlement`() throws {
    let end = World.start + 300_000
    let world = try World(["alice", "bob"], premium: ["alice"])
    world["bob"].clockAhead = -200_000
    world.learn("bob", try world.family.entitlement(for: "bob", 0..<end))
    world.connect("alice", "bob")
    world.run(1_000)
    #expect(world["bob"].replica.ownGate(now: world.wall(world["bob"])).isOpen)
    // Alice's clock runs nine minutes ahead: within what is folded at once.
    world["alice"].clockAhead = 340_000
    try world.write("alice", insert(setting(1), "dark"))
    world.run(100)
    #expect(world["bob"].replica.ownGate(now: world.wall(world["bob"])).reason == .entitlementExpired)
    #expect(!world["bob"].isOpen(.records, with: world["alice"]))
    #expect(world["bob"].reported { $0 == .gateChanged } > 0)
  }
}
