import Families
import Membership
import Replication
import Sodium
import Storage
import Testing
import Wire

@Suite struct HostileTests {
  @Test func `a peer that promises sets and does not deliver them is replaced by another`() throws {
    let world = try World()
    world.connect("alice", "bob")
    try world.write("alice", insert(record(1)))
    world.run(500)
    world.meddle = { from, to, message in
      from == "alice" && to == "carol" && (message.isSets || message.isServed) ? [] : [message]
    }
    world.connect("carol", "alice")
    world.run(200)
    world.connect("carol", "bob")
    world.run(5_000)
    #expect(world["carol"].count(.records) == 0)
    try #require(world.run(until: { $0["carol"].count(.records) == 1 }, within: 20_000))
    #expect(world.isConnected("alice", "carol"))
  }

  @Test func `a peer that trickles known sets is replaced too`() throws {
    let world = try World()
    world.connect("alice", "bob")
    let known = try world.write("alice", insert(record(1)))
    world.run(500)
    world.connect("carol", "alice")
    world.run(500)
    world.cut("carol", "alice")
    world.run(100)
    try world.write("alice", insert(record(2)))
    world.run(500)
    world.meddle = { from, to, message in
      from == "alice" && to == "carol" && (message.isSets || message.isServed) ? [] : [message]
    }
    world.connect("carol", "alice")
    world.run(200)
    world.connect("carol", "bob")
    for _ in 1...12 {
      world.inject(.sets(.records, known), from: "alice", to: "carol")
      world.run(2_000)
    }
    #expect(world["carol"].name(record(2)) == "Rome")
  }

  @Test func `a peer that claims to be done without delivering is not asked again and again`() throws {
    let world = try World(["alice", "bob"])
    try world.write("alice", insert(record(1)))
    world.meddle = { _, _, message in message.isSets ? [] : [message] }
    world.connect("bob", "alice")
    world.run(60_000)
    #expect(world.sent.count(where: \.message.isWant) <= 15)
    world.meddle = nil
    world.run(10_000)
    #expect(world["bob"].name(record(1)) == "Rome")
  }

  @Test func `sets out of order are accepted all the same`() throws {
    let world = try World(["alice", "bob"])
    for number in 1...20 { try world.write("alice", insert(record(UInt64(number)))) }
    world.meddle = { _, _, message in
      guard case .sets(let lane, let sets) = message else { return [message] }
      return [.sets(lane, sets.reversed())]
    }
    world.connect("bob", "alice")
    try #require(world.run { $0["bob"].isInSync(with: $0["alice"]) })
    #expect(world["bob"].count(.records) == 20)
    #expect(world.isConnected("alice", "bob"))
  }

  @Test(arguments: [
    "another circle", "another lane", "a bad signature", "altered values", "a clock that does not rise",
    "wrong bytes of the log",
  ])
  func `sets that no correct device sends end the session`(what: String) throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(500)
    let before = world["bob"].count(.records)
    let later = Clock(milliseconds: World.start + 5)
    switch what {
    case "another circle":
      world.inject(
        .sets(.records, [try Self.set(circle: CircleID(Bytes32(0, 0, 0, 9)))]), from: "alice", to: "bob")
    case "another lane":
      world.inject(
        .sets(.settings, [try Self.set(circle: world.family.circle)]), from: "alice", to: "bob")
    case "a bad signature":
      var bytes = Message.sets(.records, [try Self.set(circle: world.family.circle)]).encoded
      bytes[bytes.count / 2] ^= 1
      world.inject(bytes, from: "alice", to: "bob")
    case "altered values":
      // The values of the last set end a message.
      var bytes = Message.sets(.records, [try Self.set(circle: world.family.circle)]).encoded
      bytes[bytes.count - 1] ^= 1
      world.inject(bytes, from: "alice", to: "bob")
    case "wrong bytes of the log":
      let first = try Self.set(circle: world.family.circle)
      let second = try Self.set(
        circle: world.family.circle, after: first, clock: later, logBytes: first.logBytes + 1)
      world.inject(.sets(.records, [first, second]), from: "alice", to: "bob")
    default:
      let first = try Self.set(circle: world.family.circle)
      let second = try Self.set(circle: world.family.circle, after: first, clock: first.header.clock)
      world.inject(.sets(.records, [first, second]), from: "alice", to: "bob")
    }
    world.run(200)
    #expect(!world.isConnected("alice", "bob"))
    #expect(world["bob"].count(.records) <= before + 1)
    #expect(
      world["bob"].invalidMessages == 1
        || world["bob"].closes.contains { if case .misbehaved = $0 { true } else { false } })
  }

  @Test func `relaying a set dated before its dependency is tolerated, but not endless repetition of it`()
    throws
  {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    let seen = try world.write("bob", insert(record(1)))[0]
    world.run(500)
    let lie = try Self.set(
      circle: world.family.circle, seen: seen, clock: Clock(milliseconds: World.start - 60_000))
    world.inject(.sets(.records, [lie]), from: "alice", to: "bob")
    world.run(500)
    #expect(world.isConnected("alice", "bob"))
    #expect(world["bob"].count(.records) == 1)
    // Almost the whole allowance at once: a list of ids costs 64 points.
    for _ in 0..<Limits.redundantPointsMax / 64 - 1 {
      world.inject(.statementIDs([], reply: false), from: "alice", to: "bob")
    }
    world.run(10)
    #expect(world["bob"].closes.isEmpty)
    for _ in 1...80 { world.inject(.sets(.records, [lie]), from: "alice", to: "bob") }
    world.run(10)
    #expect(world["bob"].closes == [.misbehaved("more redundant messages than a correct node sends")])
  }

  /// A set as Alice's key could sign it.
  private static func set(
    circle: CircleID, after previous: VerifiedChangeSet? = nil, seen: VerifiedChangeSet? = nil,
    clock: Clock? = nil, logBytes: UInt64? = nil, name: String = "x"
  ) throws -> VerifiedChangeSet {
    let key = Family.key("alice")
    let log = LogKey(
      device: DeviceKey(key), incarnation: Incarnation(Bytes16(77, 7)), lane: .records)
    let dependencies = seen.map { seen in
      let (log, sequence) = (seen.header.log, seen.header.sequence)
      return Dependency(device: log.device, incarnation: log.incarnation, sequence: sequence, id: seen.id)
    }
    var author = Author(
      position: AuthorPosition(
        circle: circle, log: log, sequence: previous?.header.sequence ?? 0, id: previous?.id,
        clock: .zero, logBytes: logBytes ?? previous?.logBytes ?? 0, unseen: dependencies.map { [$0] } ?? []),
      key: key, seed: Family.seed)
    let wall = clock.map(\.milliseconds) ?? World.start
    let sets = try author.write(
      [insert(record(1), name)], operation: OperationDraft(id: OperationID(Bytes16(7, 7)), verb: "test"),
      wall: wall)
    return try #require(sets.first)
  }

  @Test func `a log requested many times in one message is sent once`() throws {
    let world = try World(["alice", "bob"])
    let first = try world.write("alice", insert(record(1)))[0]
    let second = try world.write("alice", insert(record(2)))[0]
    world.connect("alice", "bob")
    world.run(1_000)
    world.forgetTraffic()
    let log = first.header.log
    let whole = Want(log: log, from: 1, through: 2, tip: second.id)
    let wants = [whole, whole, Want(log: log, from: 1, through: 1, tip: first.id), whole]
    world.inject(.want(.records, wants), from: "bob", to: "alice")
    world.run(500)
    #expect(world.sent.reduce(0) { $0 + $1.message.setCount } == 2)
    #expect(world.sent.count(where: \.message.isServed) == 1)
  }

  @Test func `an answer to a token that was never used ends the session`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(500)
    world.inject(.refusal(token: 0, .syncOff), from: "bob", to: "alice")
    world.run(200)
    #expect(!world.isConnected("alice", "bob"))
  }

  @Test func `an unknown reason closes the lane and nothing else`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(500)
    for code: UInt8 in [8, 15, 19, 255] {
      var bytes = Message.summary(try #require(world["bob"].session(with: world["alice"])?.theirs)).encoded
      // The records lane's state is the last: [reason, 32, 32, 32 bytes].
      let at = bytes.count - 3 * 34 - 1
      bytes.replaceSubrange(at...at, with: code < 24 ? [code] : [0x18, code])
      world.inject(bytes, from: "bob", to: "alice")
      world.run(50)
      #expect(world.isConnected("alice", "bob"), "reason \(code)")
    }
  }

  @Test func `a message before the introduction ends the session`() throws {
    let world = try World(["alice", "bob"])
    world.meddle = { from, _, message in
      if from == "bob", case .introduction = message { [.served(.settings), message] } else { [message] }
    }
    world.connect("alice", "bob")
    world.run(500)
    #expect(!world.isConnected("alice", "bob"))
    #expect(world["alice"].closes == [.misbehaved("a message before the introduction")])
  }

  @Test func `a branch that is promised and never delivered causes no flood of requests`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(500)
    let one = try Self.set(circle: world.family.circle, name: "one")
    let other = try Self.set(circle: world.family.circle, name: "other")
    world.turn(world["alice"], [.committed(world["alice"].commit([(one, nil)], wall: world.now))])
    world.inject(.sets(.records, [one]), from: "alice", to: "bob")
    world.run(100)
    // The next set depends on one that no device has.
    let next = try Self.set(
      circle: world.family.circle, after: other, clock: Clock(milliseconds: World.start + 5))
    let head = LogHead(log: next.header.log, sequence: 2, id: next.id, foldedSequence: 2)
    world.forgetTraffic()
    world.inject(.heads(.records, [head], complete: false), from: "alice", to: "bob")
    world.inject(.sets(.records, [next]), from: "alice", to: "bob")
    world.run(60_000)
    #expect(world.sent.count < 300, "\(world.sent.count) messages in a minute")
    #expect(world.isConnected("alice", "bob"))
    try world.write("alice", insert(record(5)))
    world.run(500)
    #expect(world["bob"].name(record(5)) == "Rome")
  }

  @Test func `equal change sets with unequal digests are reported once`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    try world.write("alice", insert(record(1)))
    world.run(1_000)
    #expect(world["alice"].isInSync(with: world["bob"]))
    let wrong = Digest(sum: Bytes32(1, 2, 3, 4))
    world.turn(
      world["bob"],
      [
        .committed(
          Committed(
            items: [], heads: [], goneHeads: [], settingsDigest: world["bob"].store.digest(.settings),
            recordsDigest: wrong, newestForeignClock: .zero, nextParkedClock: nil))
      ])
    world.run(30_000)
    for (one, other) in [("alice", "bob"), ("bob", "alice")] {
      #expect(world[one].events.contains(.digestMismatch(world[other].key, .records)))
      #expect(world[one].reported { $0 == .digestMismatch(world[other].key, .records) } == 1)
      #expect(!world[one].isInSync(with: world[other]))
    }
  }
}
