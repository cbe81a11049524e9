import Families
import Membership
import Replication
import Testing
import Vectors
import Wire

/// A device is revoked while the others keep running.
@Suite struct RevocationTests {
  /// All devices are connected and in sync; each has written one record.
  static func settled(_ names: [String] = ["alice", "bob", "carol", "dave"], seed: UInt64 = 1) throws -> World
  {
    let world = try World(names, seed: seed)
    world.connectAll()
    for (index, name) in names.enumerated() { try world.write(name, insert(record(UInt64(index + 1)), name)) }
    world.run(1_000)
    return world
  }

  /// Connects members with each other until nothing changes any more.
  static func converge(_ world: World, _ names: [String], within: Moment = 60_000) throws {
    world.connections.forEach(world.cut)
    world.run(100)
    for (index, name) in names.enumerated() {
      for other in names[(index + 1)...] { world.connect(name, other) }
    }
    let pairs = names.flatMap { one in names.filter { $0 != one }.map { (one, $0) } }
    let isLevel = world.run(
      until: { world in pairs.allSatisfy { world[$0].isInSync(with: world[$1]) } }, within: within)
    try #require(isLevel, "timed out waiting for \(names) to be in sync")
  }

  static func expectEqual(_ world: World, _ names: [String]) {
    for name in names.dropFirst() { #expect(world[name].state() == world[names[0]].state(), "\(name)") }
  }

  @Test func `an open session ends at once, and the revoked device learns the reason`() throws {
    let world = try Self.settled()
    world.forgetTraffic()
    let before = world["carol"].state()
    let statement = try world.revoke("carol", on: "alice")
    #expect(world["alice"].closes == [.revoked])
    try world.write("alice", insert(record(9), "secret"))
    world.run(500)
    #expect(!["alice", "bob", "dave"].contains { world.isConnected($0, "carol") })
    #expect(!world["carol"].isMember)
    #expect(world["carol"].replica.circle.statement(statement.id) != nil)
    let told = world.sent.filter { $0.from == "alice" && $0.to == "carol" }
    #expect(told.allSatisfy { if case .statements = $0.message { true } else { false } })
    #expect(!world.sent.contains { $0.to == "carol" && $0.message.isSets })
    #expect(world["carol"].state() == before, "its records stay visible")
    #expect(world["carol"].name(record(9)) == nil)
  }

  @Test func `a device that learns of its revocation forwards it, then ends all its sessions`() throws {
    let world = try World(["alice", "bob", "carol"])
    world.connect("carol", "bob")
    world.connect("alice", "carol")
    world.run(500)
    let statement = try world.revoke("carol", on: "alice")
    world.run(500)
    #expect(!world["carol"].isMember)
    #expect(world["carol"].closes.contains(.excluded))
    #expect(world["bob"].replica.circle.statement(statement.id) != nil)
    #expect(!world.isConnected("bob", "carol"))
    world.forgetTraffic()
    world.connect("carol", "bob")
    world.run(500)
    #expect(!world.isConnected("bob", "carol"))
    #expect(!world.sent.contains { $0.from == "bob" }, "it asks, and gets no answer")
    world.connect("bob", "alice")
    world.run(500)
    #expect(world["alice"].isInSync(with: world["bob"]))
  }

  @Test func `a cut below folded sets is applied the same everywhere, and honest sets on top continue`()
    throws
  {
    let world = try Self.settled()
    world.cut("alice", "carol")
    world.cut("alice", "bob")
    world.cut("alice", "dave")
    world.run(100)
    // Alice does not receive this; Bob builds on it.
    try world.write("carol", edit(record(1), "late"), insert(record(20), "late"))
    world.run(500)
    #expect(world["bob"].name(record(1)) == "late")
    try world.write("bob", edit(record(2), "on top"), insert(record(21), "honest"))
    world.run(500)
    try world.revoke("carol", on: "alice")
    try Self.converge(world, ["alice", "bob", "dave"])
    Self.expectEqual(world, ["alice", "bob", "dave"])
    for name in ["alice", "bob", "dave"] {
      #expect(world[name].name(record(1)) == "alice")
      #expect(world[name].name(record(20)) == nil)
      #expect(world[name].name(record(2)) == "on top")
      #expect(world[name].name(record(21)) == "honest")
      #expect(world[name].name(record(3)) == "carol", "its earlier records stay")
    }
  }

  @Test func `sets of other devices that a revoked device relays are judged on their own`() throws {
    let world = try Self.settled()
    world.connections.forEach(world.cut)
    world.run(100)
    try world.write("bob", insert(record(20), "bob's"))
    world.connect("bob", "carol")
    world.run(500)
    world.cut("bob", "carol")
    world.run(100)
    try world.write("carol", insert(record(21), "late"))
    try world.revoke("carol", on: "alice")
    // Dave has not learned of the revocation and accepts both from Carol; then Alice receives them from Dave.
    world.connect("carol", "dave")
    world.run(500)
    #expect(world["dave"].name(record(21)) == "late")
    world.connect("dave", "alice")
    world.run(1_000)
    for name in ["alice", "dave"] {
      #expect(world[name].name(record(20)) == "bob's")
      #expect(world[name].name(record(21)) == nil)
    }
    Self.expectEqual(world, ["alice", "dave"])
  }

  @Test func `a device that knows of the revocation never admits the revoked one, whichever dials`() throws {
    let world = try Self.settled(["alice", "bob", "carol"])
    world.connections.forEach(world.cut)
    world.run(100)
    try world.revoke("carol", on: "alice")
    try world.write("carol", insert(record(20), "late"))
    world.forgetTraffic()
    world["alice"].closes = []
    #expect(world.connect("alice", "carol") == nil)
    world.connect("carol", "alice")
    world.run(500)
    #expect(world["alice"].closes == [.revoked])
    #expect(!world.sent.contains { $0.from == "alice" })
    #expect(world["alice"].name(record(20)) == nil)
  }

  @Test func `later certificates by a stolen admin key are void, even on devices that had accepted them`()
    throws
  {
    let world = try Self.settled(["alice", "bob", "carol"])
    world.connections.forEach(world.cut)
    world.run(100)
    try world.revoke("carol", on: "alice")
    let mallory = try world.family.certificate(for: "mallory", by: "carol")
    try world.add(
      "mallory", knowing: world.statements + [mallory, try world.family.entitlement(for: "mallory")])
    world.connect("mallory", "bob")
    world.run(500)
    #expect(world["bob"].replica.circle.evaluation.isMember(world["mallory"].key))
    try world.write("mallory", insert(record(20), "intruder"))
    world.run(500)
    world["alice"].closes = []
    world.connect("mallory", "alice")
    world.run(500)
    #expect(world["alice"].closes == [.notAMember])
    world.connect("alice", "bob")
    world.run(1_000)
    #expect(!world.isConnected("bob", "mallory"))
    #expect(world["bob"].name(record(20)) == nil)
    #expect(world["bob"].replica.circle.statement(mallory.id) != nil, "it is stored, but has no effect")
    Self.expectEqual(world, ["alice", "bob"])
  }

  @Test func `if two admins of equal rank revoke each other both are revoked, and the others agree`() throws {
    let world = try Self.settled()
    world.connections.forEach(world.cut)
    world.run(100)
    try world.write("bob", insert(record(20), "bob's"))
    try world.write("carol", insert(record(21), "carol's"))
    try world.revoke("carol", on: "bob", by: "bob")
    try world.revoke("bob", on: "carol", by: "carol")
    // Each tells another device before learning of its own revocation.
    world.connect("bob", "alice")
    world.connect("carol", "dave")
    world.run(500)
    try Self.converge(world, ["alice", "dave"])
    Self.expectEqual(world, ["alice", "dave"])
    for name in ["alice", "dave"] {
      #expect(world[name].replica.circle.evaluation.members.count == 2)
      // Each kept the sets of the other that it held then: later ones are gone.
      #expect(world[name].name(record(20)) == nil)
      #expect(world[name].name(record(21)) == nil)
      #expect(world[name].name(record(2)) == "bob")
    }
  }

  @Test func `a joiner receives the kept sets of a revoked device's logs`() throws {
    let world = try Self.settled(["alice", "bob", "carol"])
    try world.write("carol", [edit(record(3), "kept"), insert(setting(1), "kept")])
    world.run(500)
    let revocation = try world.revoke("carol", on: "alice")
    world.run(500)
    try world.add(
      "erin",
      knowing: world.statements + [
        revocation, try world.family.certificate(for: "erin"), try world.family.entitlement(for: "erin"),
      ])
    world.connect("erin", "alice")
    try #require(world.run { $0["erin"].isInSync(with: $0["alice"]) })
    #expect(world["erin"].name(record(3)) == "kept")
    Self.expectEqual(world, ["alice", "erin"])
  }

  @Test func `a device that rejoins has new keys, and all agree on what the old ones wrote`() throws {
    let world = try Self.settled(["alice", "bob", "carol"])
    world.cut("alice", "carol")
    world.cut("bob", "carol")
    world.run(100)
    try world.write("carol", insert(record(20), "unseen"))
    let revocation = try world.revoke("carol", on: "alice")
    let statements =
      world.statements + [
        revocation, try world.family.certificate(for: "again"), try world.family.entitlement(for: "again"),
      ]
    let again = try world.add("again", knowing: statements)
    try again.store.copy(from: world["carol"].store)
    if let rebuilt = again.admit(wall: world.now) { world.turn(again, [rebuilt]) }
    #expect(again.name(record(20)) == nil)
    for statement in statements.suffix(2) { world.learn("alice", statement) }
    world.run(100)
    try world.write("again", insert(record(20), "unseen"))
    try Self.converge(world, ["alice", "bob", "again"])
    Self.expectEqual(world, ["alice", "bob", "again"])
    #expect(world["bob"].name(record(20)) == "unseen")
    // The old keys are not admitted, though they belong to the same person.
    world.connect("carol", "bob")
    world.run(500)
    #expect(!world.isConnected("carol", "bob"))
  }

  @Test func `a device revoked by one of lower rank proves in its introduction that this does not count`()
    throws
  {
    let world = try World(["alice", "dave"])
    let family = world.family
    let bob = try family.certificate(for: "bob", by: "alice")
    let carol = try family.certificate(for: "carol", by: "alice")
    world.learn("alice", bob, carol)
    let known = [bob, carol, try family.certificate(for: "dave")]
    try world.add("carol", knowing: known)
    let revocations = try ["alice", "carol"].map {
      try family.revocation(of: $0, by: "bob", valid: [bob, carol])
    }
    world.learn("carol", revocations[0], revocations[1])
    world.learn("alice", revocations[0])
    #expect(!world["alice"].isMember)
    #expect(!world["carol"].isMember)
    // Alice's revocation has the shorter chain.
    try world.learn("alice", family.revocation(of: "bob", by: "alice", valid: [bob, carol]))
    #expect(world["alice"].isMember)
    #expect(world["carol"].replica.circle.evaluation.status(of: world["alice"].key) == .revoked)
    world.connect("alice", "carol")
    world.run(1_000)
    #expect(world["carol"].isMember)
    #expect(world["alice"].isInSync(with: world["carol"]))
  }

  @Test func `a device whose revoker is revoked is admitted by a peer that did not know it`() throws {
    let world = try World(["alice", "bob"])
    let certificate = try world.family.certificate(for: "carol", by: "alice")
    for name in ["alice", "bob"] { world.learn(name, certificate) }
    try world.add("carol", knowing: world.statements + [certificate])
    // Bob's chain is shorter, so Carol's later revocation of Bob does not count; Alice receives only that one.
    try world.revoke("carol", on: "bob", by: "bob")
    world.learn("alice", try world.revoke("bob", on: "carol", by: "carol"))
    #expect(!world["alice"].replica.circle.evaluation.isMember(world["bob"].key))
    world.connect("bob", "alice")
    try #require(
      world.run(until: { $0["alice"].isInSync(with: $0["bob"]) }),
      "timed out waiting for Alice to be in sync with Bob")
  }

  /// Each considers the other revoked, by a device that only the other knows to be revoked.
  @Test func `two members that were turned against each other reconnect once a user reverses it`() throws {
    let world = try Self.settled()
    for (one, other) in [("alice", "bob"), ("alice", "dave"), ("carol", "bob"), ("carol", "dave")] {
      world.cut(one, other)
    }
    world.run(100)
    try world.revoke("dave", on: "alice")
    try world.revoke("bob", on: "alice", by: "alice")
    try world.revoke("alice", on: "bob")
    try world.revoke("carol", on: "dave", by: "dave")
    world.run(1_000)
    #expect(world["bob"].isMember && world["carol"].isMember)
    #expect(world.connect("bob", "carol") == nil && world.connect("carol", "bob") == nil)
    let order = RevocationTerms(
      device: world["dave"].key, kept: world["bob"].heldLogs(of: world["dave"]),
      reinstated: [world["carol"].key])
    world.learn("bob", try world["bob"].replica.circle.revocation(order, by: world.family.root, at: 4))
    try Self.converge(world, ["bob", "carol"])
    Self.expectEqual(world, ["bob", "carol"])
    #expect(world["bob"].replica.circle.evaluation.members.count == 2)
  }

  // MARK: Asking about one's own revocation

  /// Bob has revoked Carol, who knows it; then Alice, who did not, revoked Bob with the root key.
  private static func wronged() throws -> World {
    let world = try settled(["alice", "bob", "carol"])
    world.cut("alice", "bob")
    world.cut("alice", "carol")
    world.run(100)
    try world.revoke("carol", on: "bob", by: "bob")
    world.run(500)
    try world.revoke("bob", on: "alice")
    #expect(!world["carol"].isMember)
    #expect(world["alice"].replica.circle.evaluation.isMember(world["carol"].key))
    world.forgetTraffic()
    return world
  }

  @Test(arguments: [true, false])
  func `a device revoked by a revoked one asks, and is a member again`(isShownAtTheDoor: Bool) throws {
    let world = try Self.wronged()
    if !isShownAtTheDoor {
      world.meddle = { from, _, message in
        guard from == "alice", case .introduction(let bytes) = message,
          var introduction = try? Introduction(bytes)
        else { return [message] }
        let revocation = StatementKind.revocation.rawValue
        introduction.chain.removeAll { (try? Statement($0).kind) == revocation }
        return [.introduction(introduction.encoded)]
      }
    }
    try world.write("alice", insert(record(20), "unseen"), insert(setting(5), "unseen"))
    world.connect("carol", "alice")
    let isBack = world.run { $0["carol"].isInSync(with: $0["alice"]) }
    #expect(isBack, "timed out waiting for Carol to be in sync with Alice")
    #expect(world["carol"].isMember)
    #expect(world["carol"].name(record(20)) == "unseen")
    try world.write("carol", insert(record(21), "back"))
    world.run(500)
    #expect(world["alice"].name(record(21)) == "back")
    Self.expectEqual(world, ["alice", "carol"])
    // Then she is revoked for good, and knows it before Alice does: she does not ask again in that session.
    let end = try world["carol"].replica.circle.revocation(
      RevocationTerms(device: world["carol"].key, kept: []), by: world.family.root, at: 4)
    world["carol"].closes = []
    world.learn("carol", end)
    #expect(world["carol"].closes == [.excluded])
    world.run(500)
    #expect(!world.isConnected("alice", "carol"))
  }

  @Test func `a revoked device that asks a peer proves its revocation to it, and gets nothing`() throws {
    let world = try Self.settled(["alice", "bob", "carol"])
    world.connections.forEach(world.cut)
    world.run(100)
    let statement = try world.revoke("carol", on: "alice")
    world.learn("carol", statement)
    try world.write("bob", insert(record(20), "bob's"))
    world.forgetTraffic()
    world.connect("carol", "bob")
    world.run(500)
    #expect(world["bob"].replica.circle.statement(statement.id) != nil)
    #expect(world["bob"].closes.last == .revoked)
    #expect(!world.sent.contains { $0.from == "bob" })
    #expect(!world.isConnected("carol", "bob"))
  }

  @Test func `while a revoked device asks it only sends statements, and it leaves if it is still revoked`()
    throws
  {
    let world = try Self.settled(["alice", "bob", "carol"])
    world.connections.forEach(world.cut)
    world.run(100)
    let before = world["carol"].replica.ownIntroduction(now: world.now)
    try world.write("carol", insert(setting(6), "carol's"))
    let statement = try world.revoke("carol", on: "alice")
    world.learn("carol", statement)
    let state = world["carol"].state()
    // Bob does not know the revocation, and has much to send; all of it arrives before he learns of it.
    try world.write("bob", insert(setting(5), "bob's"))
    let bobs = world["bob"].replica.settings.heads.sorted
    world.meddle = { _, to, message in
      if case .statementIDs(_, reply: true) = message {
        world.inject(.query(Query(token: 1, lane: .settings, question: .heads)), from: "bob", to: "carol")
        world.inject(
          .heads(.settings, bobs, complete: true), from: "bob", to: "carol")
      }
      // He never accepts the statement that ends her membership.
      if to == "bob", case .statements(_, let last) = message { return [.statements([], last: last)] }
      return [message]
    }
    world.forgetTraffic()
    world.connect("carol", "bob", showing: before)
    world.run(2_000)
    let said = world.sent.filter { $0.from == "carol" }.map(\.message)
    #expect(!said.isEmpty && said.allSatisfy(\.isOfStatements), "\(said)")
    #expect(world["carol"].closes.last == .excluded)
    #expect(!world.isConnected("carol", "bob"))
    #expect(world["carol"].state() == state)
  }

  @Test func `while it waits for the answer nothing of its lanes is sent`() throws {
    let world = try Self.wronged()
    world.meddle = { from, _, message in
      switch message {
      case .introduction(let bytes) where from == "alice":
        guard var introduction = try? Introduction(bytes) else { return [message] }
        introduction.chain.removeFirst(introduction.chain.count - 1)
        return [.introduction(introduction.encoded)]
      case .statements where from == "alice": return []
      default: return [message]
      }
    }
    world.connect("carol", "alice")
    world.run(500)
    let session = try #require(world["carol"].session(with: world["alice"]))
    #expect(!session.settings.isOpen && !session.records.isOpen)
    try world.write("carol", insert(setting(6), "carol's"), insert(record(21), "carol's"))
    world.run(10_000)
    let said = world.sent.filter { $0.from == "carol" }.map(\.message)
    #expect(!said.isEmpty && said.allSatisfy(\.isOfStatements), "\(said)")
  }

  // MARK: Which devices know

  @Test func `equal statements and lists of ids show which devices know a revocation`() throws {
    let world = try Self.settled()
    world.cut("alice", "dave")
    world.cut("bob", "dave")
    world.cut("carol", "dave")
    world.run(100)
    let statement = try world.revoke("carol", on: "alice")
    #expect(world["alice"].replica.acknowledgedRevocations[statement.id] == nil)
    world.run(500)
    #expect(world["alice"].replica.acknowledgedRevocations[statement.id] == [world["bob"].key])
    #expect(world["bob"].replica.acknowledgedRevocations[statement.id] == [world["alice"].key])
    #expect(world["alice"].reported { $0 == .acknowledgedRevocations(world["bob"].key) } == 1)
    world.connect("bob", "dave")
    world.run(500)
    #expect(world["bob"].replica.acknowledgedRevocations[statement.id]?.contains(world["dave"].key) == true)
    world.connect("alice", "dave")
    world.run(500)
    #expect(world["alice"].replica.acknowledgedRevocations[statement.id]?.contains(world["dave"].key) == true)
  }

  @Test func `a list of ids shows that a peer knows a revocation, though its statements differ`() throws {
    let world = try World(["alice", "bob"])
    let statement = try world.family.revocation(of: "carol")
    world.learn("alice", try world.family.certificate(for: "carol"), statement)
    world.learn("bob", statement)
    // Bob accepts no more, as if he had no room.
    world.meddle = { _, to, message in
      if to == "bob", case .statements(_, let last) = message { return [.statements([], last: last)] }
      return [message]
    }
    world.connect("bob", "alice")
    world.run(200)
    #expect(world["alice"].replica.acknowledgedRevocations[statement.id] == [world["bob"].key])
  }

  // MARK: In every order

  /// Devices write, connect and disconnect at random; at one moment Alice revokes Carol, who ignores it and connects
  /// to devices that have not learned of it.
  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func `whenever devices learn of the revocation, all members converge`(_ seed: UInt64) throws {
    let names = ["alice", "bob", "carol", "dave"]
    let world = try Self.settled(names, seed: seed)
    let moment = world.random.below(30)
    for step in 0..<40 {
      if step == moment { try world.revoke("carol", on: "alice", by: seed % 2 == 0 ? nil : "alice") }
      try Self.step(world, names, step)
    }
    let members = ["alice", "bob", "dave"]
    try Self.converge(world, members)
    Self.expectEqual(world, members)
    // A new device that knows it from the start converges too.
    let statements =
      world["bob"].replica.circle.statements(notIn: [world.family.genesis.id]) + [
        try world.family.certificate(for: "erin"), try world.family.entitlement(for: "erin"),
      ]
    try world.add("erin", knowing: statements)
    world.connect("erin", "dave")
    try #require(world.run { $0["erin"].isInSync(with: $0["dave"]) })
    Self.expectEqual(world, ["dave", "erin"])
    #expect(
      members.allSatisfy {
        !world[$0].events.contains { if case .digestMismatch = $0 { true } else { false } }
      })
  }

  private static func step(_ world: World, _ names: [String], _ step: Int) throws {
    let one = names[world.random.below(names.count)]
    let other = names[world.random.below(names.count)]
    switch world.random.below(5) {
    case 0 where one != other && !world.isConnected(one, other): world.connect(one, other)
    case 1 where one != other: world.cut(one, other)
    default:
      let key = record(UInt64(world.random.below(5) + 1))
      try world.write(one, edit(key, "\(one) \(step)"), edit(setting(UInt64(step % 3)), "\(step)"))
    }
    world.run(Moment(world.random.below(60)))
  }
}

extension Message {
  /// Whether a device may send this message while it asks whether it is revoked.
  fileprivate var isOfStatements: Bool {
    switch self {
    case .summary, .statementIDs, .statements, .state: true
    default: false
    }
  }
}
