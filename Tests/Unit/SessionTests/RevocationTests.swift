import Families
import Membership
import Replication
import Testing
import Vectors
import Wire

/// A device is taken out of the circle while the others go on.
@Suite struct RevocationTests {
  /// Everyone is connected to everyone and in sync; each has written one record.
  static func settled(_ names: [String] = ["alice", "bob", "carol", "dave"], seed: UInt64 = 1) throws -> World
  {
    let world = try World(names, seed: seed)
    world.connectAll()
    for (index, name) in names.enumerated() { try world.write(name, insert(record(UInt64(index + 1)), name)) }
    world.run(1_000)
    return world
  }

  /// Members meet until nothing moves any more.
  static func converge(_ world: World, _ names: [String], within: Moment = 60_000) throws {
    world.connections.forEach(world.cut)
    world.run(100)
    for (index, name) in names.enumerated() {
      for other in names[(index + 1)...] { world.connect(name, other) }
    }
    let pairs = names.flatMap { one in names.filter { $0 != one }.map { (one, $0) } }
    let isLevel = world.run(
      until: { world in pairs.allSatisfy { world[$0].isInSync(with: world[$1]) } }, within: within)
    try #require(isLevel, "waited for \(names) to be in sync")
  }

  static func expectEqual(_ world: World, _ names: [String]) {
    for name in names.dropFirst() { #expect(world[name].state() == world[names[0]].state(), "\(name)") }
  }

  @Test func `an open session ends at once, and the revoked device hears why`() throws {
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
    #expect(world["carol"].state() == before, "it goes on showing what it holds")
    #expect(world["carol"].name(record(9)) == nil)
  }

  @Test func `who learns that it is out ends all its sessions, and passes the news on before`() throws {
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
    #expect(!world.sent.contains { $0.from == "bob" }, "it asks, and hears nothing")
    world.connect("bob", "alice")
    world.run(500)
    #expect(world["alice"].isInSync(with: world["bob"]))
  }

  @Test func `a cut below folded sets is laid out the same everywhere, and honest sets on top go on`() throws
  {
    let world = try Self.settled()
    world.cut("alice", "carol")
    world.cut("alice", "bob")
    world.cut("alice", "dave")
    world.run(100)
    // Alice does not see this; Bob builds on it.
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
      #expect(world[name].name(record(3)) == "carol", "what was known of it stays")
    }
  }

  @Test func `what a revoked device relays of others is judged on its own`() throws {
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
    // Dave has not heard of it and takes both from Carol; then Alice hears of them from Dave.
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

  @Test func `nobody who has heard lets it in, whoever dials`() throws {
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

  @Test func `certificates that a stolen admin key makes later are void, on those too that took them`() throws
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
    #expect(world["bob"].replica.circle.statement(mallory.id) != nil, "it is kept, and does not count")
    Self.expectEqual(world, ["alice", "bob"])
  }

  @Test func `two admins of equal rank that revoke each other are both out, and the others agree`() throws {
    let world = try Self.settled()
    world.connections.forEach(world.cut)
    world.run(100)
    try world.write("bob", insert(record(20), "bob's"))
    try world.write("carol", insert(record(21), "carol's"))
    try world.revoke("carol", on: "bob", by: "bob")
    try world.revoke("bob", on: "carol", by: "carol")
    // Each tells somebody else before it hears of its own end.
    world.connect("bob", "alice")
    world.connect("carol", "dave")
    world.run(500)
    try Self.converge(world, ["alice", "dave"])
    Self.expectEqual(world, ["alice", "dave"])
    for name in ["alice", "dave"] {
      #expect(world[name].replica.circle.evaluation.members.count == 2)
      // Each kept of the other what it held then: what came later is gone.
      #expect(world[name].name(record(20)) == nil)
      #expect(world[name].name(record(21)) == nil)
      #expect(world[name].name(record(2)) == "bob")
    }
  }

  @Test func `a joiner fetches what is kept of a revoked device's logs`() throws {
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

  @Test func `who comes back has new keys, and all agree on what the old ones wrote`() throws {
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
    // The old keys are not let in, though the same person holds them.
    world.connect("carol", "bob")
    world.run(500)
    #expect(!world.isConnected("carol", "bob"))
  }

  @Test func `who was revoked by a device of lower rank shows at the door that it does not count`() throws {
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
    // Alice's word is of shorter chain than Bob's.
    try world.learn("alice", family.revocation(of: "bob", by: "alice", valid: [bob, carol]))
    #expect(world["alice"].isMember)
    #expect(world["carol"].replica.circle.evaluation.status(of: world["alice"].key) == .revoked)
    world.connect("alice", "carol")
    world.run(1_000)
    #expect(world["carol"].isMember)
    #expect(world["alice"].isInSync(with: world["carol"]))
  }

  @Test func `a device that was revoked by a revoked one, and knows of neither, is let in by who heard one`()
    throws
  {
    let world = try World(["alice", "bob"])
    let certificate = try world.family.certificate(for: "carol", by: "alice")
    for name in ["alice", "bob"] { world.learn(name, certificate) }
    try world.add("carol", knowing: world.statements + [certificate])
    // Bob's chain is shorter, so what Carol signs later does not count; Alice hears of that alone.
    try world.revoke("carol", on: "bob", by: "bob")
    world.learn("alice", try world.revoke("bob", on: "carol", by: "carol"))
    #expect(!world["alice"].replica.circle.evaluation.isMember(world["bob"].key))
    world.connect("bob", "alice")
    try #require(
      world.run(until: { $0["alice"].isInSync(with: $0["bob"]) }),
      "waited for Alice to hear from Bob that Carol is out")
  }

  /// Each counts the other out by the word of one that only the other knows to be out.
  @Test func `two members that were turned against each other meet when a person undoes it`()
    throws
  {
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

  // MARK: Asking whether one is out

  /// Bob has revoked Carol, who has heard that; then Alice, who had not, revoked Bob with the root key.
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
  func `who was revoked by a revoked device asks, and is a member again`(isShownAtTheDoor: Bool) throws {
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
    #expect(isBack, "waited for Carol to be in sync with Alice")
    #expect(world["carol"].isMember)
    #expect(world["carol"].name(record(20)) == "unseen")
    try world.write("carol", insert(record(21), "back"))
    world.run(500)
    #expect(world["alice"].name(record(21)) == "back")
    Self.expectEqual(world, ["alice", "carol"])
    // Then she is taken out for good, and knows it before Alice does: nothing is asked in that session any more.
    let end = try world["carol"].replica.circle.revocation(
      RevocationTerms(device: world["carol"].key, kept: []), by: world.family.root, at: 4)
    world["carol"].closes = []
    world.learn("carol", end)
    #expect(world["carol"].closes == [.excluded])
    world.run(500)
    #expect(!world.isConnected("alice", "carol"))
  }

  @Test func `who is out and asks shows that to whoever had not heard, and gets nothing`() throws {
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

  @Test func `while it asks it speaks of statements alone, and leaves when it is still out`() throws {
    let world = try Self.settled(["alice", "bob", "carol"])
    world.connections.forEach(world.cut)
    world.run(100)
    let before = world["carol"].replica.ownIntroduction(now: world.now)
    try world.write("carol", insert(setting(6), "carol's"))
    let statement = try world.revoke("carol", on: "alice")
    world.learn("carol", statement)
    let state = world["carol"].state()
    // Bob has not heard, and has much to tell; all of it comes before he does.
    try world.write("bob", insert(setting(5), "bob's"))
    let bobs = world["bob"].replica.settings.heads.sorted
    world.meddle = { _, to, message in
      if case .statementIDs(_, reply: true) = message {
        world.inject(.query(Query(token: 1, lane: .settings, question: .heads)), from: "bob", to: "carol")
        world.inject(
          .heads(.settings, bobs, complete: true), from: "bob", to: "carol")
      }
      // He never takes in what ends her membership.
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

  @Test func `while it waits for the answer nothing of its lanes goes out`() throws {
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

  // MARK: Who has heard

  @Test func `it is known who has heard of a revocation, from equal statements and from lists of ids`() throws
  {
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

  @Test func `a list of ids tells that a peer has heard, though its statements differ`() throws {
    let world = try World(["alice", "bob"])
    let statement = try world.family.revocation(of: "carol")
    world.learn("alice", try world.family.certificate(for: "carol"), statement)
    world.learn("bob", statement)
    // Bob never takes in more, as if he had no room.
    world.meddle = { _, to, message in
      if to == "bob", case .statements(_, let last) = message { return [.statements([], last: last)] }
      return [message]
    }
    world.connect("bob", "alice")
    world.run(200)
    #expect(world["alice"].replica.acknowledgedRevocations[statement.id] == [world["bob"].key])
  }

  // MARK: Every order

  /// Devices write, meet and part at random; at one moment Alice revokes Carol, who goes on regardless and meets
  /// those who have not heard.
  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func `whenever the revocation is heard, all members end the same`(_ seed: UInt64) throws {
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
    // A newcomer that knows of it from the start ends the same.
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
  /// Whether it is of those that a device may send while it asks whether it is out of the circle.
  fileprivate var isOfStatements: Bool {
    switch self {
    case .summary, .statementIDs, .statements, .state: true
    default: false
    }
  }
}
