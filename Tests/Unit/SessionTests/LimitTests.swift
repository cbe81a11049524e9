import Families
import Membership
import Replication
import Sodium
import Storage
import Testing
import Wire

/// Each limit on messages between two devices: at the limit, and one beyond it.
@Suite struct LimitTests {
  // MARK: Lists that exceed one message

  @Test func `the longest lists fit into one message, and are decoded again`() throws {
    let ids = (0..<UInt64(Limits.statementsMax)).map { StatementID(Bytes32(.max, .max, .max, $0)) }
    let heads = (0..<Limits.headsPerMessageMax).map { Self.head(.max - UInt64($0), sequence: 1 << 62) }
    let wants = (0..<Limits.wantsMax).map { number in
      Want(log: Self.log(UInt64(number)), from: 1, through: 1 << 62, tip: ChangeSetID(Bytes32(1, 2, 3, 4)))
    }
    let messages: [Message] = [
      .statementIDs(ids, reply: true), .heads(.records, heads, complete: true), .want(.records, wants),
    ]
    for message in messages {
      let bytes = message.encoded
      #expect(bytes.count <= Limits.messageBytesMax)
      #expect(try Message(decoding: bytes).encoded == bytes)
    }
    #expect(throws: MessageError.self) {
      try Message(decoding: Message.want(.records, wants + [wants[0]]).encoded)
    }
  }

  @Test(arguments: [(8_192, 1), (8_193, 2), (20_000, 3)])
  func `more heads than fit into one message continue in the next`(count: Int, messages: Int) throws {
    let world = try Self.connected()
    let heads = (0..<UInt64(count)).map { Self.head($0, of: world["alice"]) }
    let told = Self.tell(heads, world)
    #expect(told.map(\.complete) == [true] + Array(repeating: false, count: messages - 1))
    #expect(told.flatMap(\.heads) == heads.sorted { $0.log < $1.log })
    #expect(world["bob"].session(with: world["alice"])?[.settings].theirs?.sorted.count == count)
    #expect(world.isConnected("alice", "bob"))
  }

  @Test func `the tips of one log are sent in one message`() throws {
    let world = try Self.connected()
    let single = (0..<UInt64(8_190)).map { Self.head($0, of: world["alice"]) }
    let forked = (1...4).map { Self.head(1 << 40, sequence: 5, tip: UInt64($0), of: world["alice"]) }
    let told = Self.tell(single + forked, world)
    #expect(told.count == 2)
    for message in told {
      #expect([0, 4].contains(message.heads.count(where: { $0.log == forked[0].log })))
    }
  }

  @Test func `a log with more tips than fit into a message sends all of them, in several`() throws {
    let world = try Self.connected()
    let forked = (0..<9_000).map { Self.head(7, sequence: 5, tip: UInt64($0), of: world["alice"]) }
    let told = Self.tell(forked + [Self.head(9, of: world["alice"])], world)
    #expect(told.map(\.heads.count).sorted() == [809, Limits.headsPerMessageMax])
    let theirs = world["bob"].session(with: world["alice"])?[.settings].theirs
    #expect(theirs?.tipCount(of: forked[0].log) == 9_000)
  }

  @Test func `a message with more heads than allowed ends the session`() throws {
    let world = try Self.connected()
    let heads = (0...UInt64(Limits.headsPerMessageMax)).map { Self.head($0, of: world["alice"]) }
    #expect(throws: MessageError.self) {
      try Message(decoding: Message.heads(.settings, heads, complete: true).encoded)
    }
    #expect(throws: Never.self) {
      try Message(decoding: Message.heads(.settings, heads.dropLast(), complete: true).encoded)
    }
  }

  @Test func `no more heads are sent in total, and remembered, than the limit`() throws {
    let world = try Self.connected()
    let count = Limits.headsMax + 5_000
    let told = Self.tell((0..<UInt64(count)).map { Self.head($0, of: world["alice"]) }, world)
    #expect(told.reduce(0) { $0 + $1.heads.count } == Limits.headsMax)
    // As if the list never ended.
    for start in [1_000_000, 2_000_000] as [UInt64] {
      let more = (start..<start + 8_192).map { Self.head($0, of: world["alice"]) }
      world.inject(.heads(.settings, more, complete: false), from: "alice", to: "bob")
    }
    world.run(100)
    let lane = try #require(world["bob"].session(with: world["alice"])?[.settings])
    #expect(lane.theirs?.sorted.count == Limits.headsMax)
    #expect(lane.lacking.count <= Limits.headsMax)
  }

  @Test func `tips of logs with very many branches count towards the same limit, also across sessions`()
    throws
  {
    let world = try Self.connected()
    // She never marks the list as complete.
    world.meddle = { from, _, message in
      if from == "alice", case .heads(_, _, complete: true) = message { [] } else { [message] }
    }
    for round in 0..<3 as Range<UInt64> {
      for log in 0..<4 as Range<UInt64> {
        let tips = (0..<8_192 as Range<UInt64>).map {
          Self.head(round * 10 + log, sequence: $0 + 1, tip: $0, of: world["alice"])
        }
        world.inject(.heads(.settings, tips, complete: false), from: "alice", to: "bob")
      }
      world.run(100)
      let bob = world["bob"]
      let lane = try #require(bob.session(with: world["alice"])?[.settings])
      #expect(lane.theirs?.count ?? 0 <= Limits.headsMax)
      #expect(lane.theirs?.sorted.count == lane.theirs?.count)
      #expect(lane.lacking.values.joined().count <= Limits.headsMax)
      let held = try #require(bob.replica.holdings[world["alice"].key]?.settings.heads)
      #expect(held.count <= Limits.headsMax)
      world.cut("alice", "bob")
      world.connect("alice", "bob")
      world.run(1_000)
    }
  }

  @Test func `a circle with more statements than a link holds is sent in parts`() throws {
    let world = try World(["alice", "bob"])
    let thieves = (0..<6).map { "thief \($0)" }
    let statements = try thieves.flatMap { name in
      [try world.family.certificate(for: name)] + (try (0..<18).map { try Self.large(world, by: name, $0) })
    }
    world["alice"].replica.circle.insert(statements)
    var answers: [Int] = [0]
    var sizes: [Int] = []
    world.meddle = { _, _, message in
      if case .statements(let batch, let last) = message {
        sizes.append(message.encoded.count)
        answers[answers.count - 1] += batch.reduce(0) { $0 + $1.count }
        if last { answers.append(0) }
      }
      return [message]
    }
    world.connect("bob", "alice")
    try #require(
      world.run { $0["alice"].replica.circle.setHash == $0["bob"].replica.circle.setHash })
    #expect(sizes.allSatisfy { $0 <= Limits.messageBytesMax })
    #expect(answers.allSatisfy { $0 <= Limits.statementsAnswerBytesMax })
    #expect(answers.max() ?? 0 > Limits.statementsAnswerBytesMax / 2)
  }

  @Test func `of one log eight sets that came too early are remembered, and not nine`() throws {
    let world = try Self.connected()
    let log = LogKey(device: world["alice"].key, incarnation: Incarnation(Bytes16(88, 8)), lane: .settings)
    for number in 1...9 as ClosedRange<UInt64> {
      let position = AuthorPosition(
        circle: world.family.circle, log: log, sequence: 10 * number,
        id: ChangeSetID(Bytes32(1, 2, 3, number)), clock: .zero, logBytes: 9_000 * number, unseen: [])
      var author = Author(position: position, key: Family.key("alice"), seed: Family.seed)
      let sets = try author.write(
        [insert(setting(number))],
        operation: OperationDraft(id: OperationID(Bytes16(9, number)), verb: "test"),
        wall: world.now)
      world.inject(.sets(.settings, sets), from: "alice", to: "bob")
      world.run(20)
      let lacking = world["bob"].session(with: world["alice"])?[.settings].lacking[log] ?? [:]
      #expect(lacking.count == min(Int(number), Limits.earlyTipsMax))
    }
    #expect(world.isConnected("alice", "bob"))
    #expect(world["bob"].count(.settings) == 0)
  }

  // MARK: Promises

  @Test func `a peer that makes endless promises is waited for only once`() throws {
    let world = try Self.line { $0.isSets || $0.isServed }
    func promise(_ sequence: UInt64) throws {
      let log = try #require(world["alice"].store.heads(.records).first?.log)
      let tip = ChangeSetID(Bytes32(9, 9, 9, sequence))
      let head = LogHead(log: log, sequence: sequence, id: tip, foldedSequence: 0)
      world.inject(.heads(.records, [head], complete: false), from: "mallory", to: "carol")
    }
    try promise(1_000)
    world.run(Limits.overdueMilliseconds + 1_000)
    for number in 2...6 as ClosedRange<UInt64> {
      try promise(1_000 + number)
      world.run(100)
      try world.write("alice", insert(record(number)))
      world.run(2_000)
      #expect(world["carol"].name(record(number)) == "Rome", "record \(number) waits for Mallory")
    }
  }

  @Test(arguments: ["another log", "a requested log"])
  func `a peer that promises everything and now and then delivers other sets is not waited for`(
    little: String
  )
    throws
  {
    let world = try Self.line { $0.isServed }
    let log = try #require(world["alice"].store.heads(.records).first?.log)
    var promised = [
      LogHead(log: log, sequence: 1_000, id: ChangeSetID(Bytes32(9, 9, 9, 9)), foldedSequence: 0)
    ]
    if little == "a requested log" {
      try world.write("mallory", insert(record(50)))
      world.run(100)
      let own = try #require(world["mallory"].store.heads(.records).first { $0.log != log }).log
      promised.append(
        LogHead(log: own, sequence: 1_000, id: ChangeSetID(Bytes32(9, 9, 9, 8)), foldedSequence: 0))
    }
    world.inject(.heads(.records, promised, complete: false), from: "mallory", to: "carol")
    world.run(100)
    try world.write("alice", insert(record(2)))
    for number in 51...56 as ClosedRange<UInt64> {
      try world.write("mallory", insert(record(number)))
      world.run(15_000)
    }
    #expect(world["carol"].name(record(56)) == "Rome")
    #expect(world["carol"].name(record(2)) == "Rome", "it waits for Mallory")
  }

  @Test func `a peer that delivers in one lane is not waited for any longer in the other`() throws {
    let world = try Self.line {
      switch $0 {
      case .sets(.records, _), .served(.records): true
      default: false
      }
    }
    let log = try #require(world["alice"].store.heads(.records).first?.log)
    let promise = LogHead(log: log, sequence: 1_000, id: ChangeSetID(Bytes32(9, 9, 9, 9)), foldedSequence: 0)
    world.inject(.heads(.records, [promise], complete: false), from: "mallory", to: "carol")
    world.run(100)
    try world.write("alice", insert(record(2)))
    world.run(Limits.overdueMilliseconds - 5_000)
    // Enough to be requested.
    let large = String(repeating: "x", count: 60_000)
    try world.write("mallory", (1...3 as ClosedRange<UInt64>).map { insert(setting($0), large) })
    world.run(6_000)
    #expect(world["carol"].count(.settings) > 0)
    #expect(world["carol"].name(record(2)) == "Rome")
  }

  // MARK: Repetition

  enum Needless: String, CaseIterable {
    case state, summary, heads, statement, set, question, served, goodbye
  }

  @Test(arguments: Needless.allCases)
  func `a peer that repeats itself endlessly is disconnected, and not before`(kind: Needless) throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    let sets = try world.write("alice", insert(setting(1)))
    world.run(1_000)
    // Alice, impersonated by Mallory, receives no answers to requests that she did not send.
    world.meddle = { from, _, message in from == "bob" ? [] : [message] }
    try repeating(kind, world, sets)
    // Almost the whole allowance at once: a list of ids costs 64 points.
    for _ in 0..<Limits.redundantPointsMax / 64 - 1 {
      world.inject(.statementIDs([], reply: false), from: "alice", to: "bob")
    }
    for _ in 0..<60 { try repeating(kind, world, sets) }
    world.run(10)
    #expect(world["bob"].closes.isEmpty)
    for _ in 0..<10 { try repeating(kind, world, sets) }
    world.run(10)
    #expect(world["bob"].closes == [.misbehaved("more redundant messages than a correct node sends")])
  }

  private func repeating(_ kind: Needless, _ world: World, _ sets: [VerifiedChangeSet]) throws {
    let message: Message
    switch kind {
    case .state: message = .state(.zero, token: 1, echo: false)
    case .summary:
      let alice = world["alice"].replica
      let lane = Summary.LaneState(reason: .open, heads: .zero, folded: .zero, digest: .zero)
      message = .summary(
        Summary(certificates: alice.circle.setHash, wall: world.now, settings: lane, records: lane))
    case .heads:
      message = .heads(.settings, world["alice"].store.heads(.settings), complete: false)
    case .statement: message = .statements([world.family.genesis.bytes], last: false)
    case .set: message = .sets(.settings, sets)
    case .question: message = .query(Query(token: 1, lane: .settings, question: .heads))
    case .served: message = .served(.settings)
    case .goodbye: message = .goodbye(.shuttingDown)
    }
    world.inject(message, from: "alice", to: "bob")
  }

  @Test func `a new connection does not reset the count of repetitions`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(500)
    for _ in 0..<2 {
      for _ in 0..<Limits.redundantPointsMax / 64 - 10 {
        world.inject(.statementIDs([], reply: false), from: "alice", to: "bob")
      }
      world.run(50)
      world.cut("alice", "bob")
      world.run(50)
      world.connect("alice", "bob")
      world.run(50)
    }
    #expect(world["bob"].closes == [.misbehaved("more redundant messages than a correct node sends")])
  }

  @Test func `new statements of a member are verified up to a limit, and the rest later`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(500)
    let flood = try (0..<2_024).map { try Self.cut(world, by: "alice", $0) }
    world.inject(.statements(flood.map(\.bytes), last: false), from: "alice", to: "bob")
    world.run(6)
    let circle = world["bob"].replica.circle
    let refused = flood.map(\.bytes).filter { circle.held($0) == nil }
    #expect(refused.count >= 1_000)
    let perMessage = Limits.newStatementMessagePoints
    let left = Limits.newStatementPointsMax - flood.count - perMessage
    let messages = left / (refused.count + perMessage)
    for _ in 0..<messages {
      world.inject(.statements(refused, last: false), from: "alice", to: "bob")
    }
    let late = try world.family.certificate(for: "dave")
    world.inject(.statements([late.bytes] + refused, last: false), from: "alice", to: "bob")
    world.run(6)
    #expect(world["bob"].replica.circle.held(late.bytes) == nil, "no points are left")
    #expect(world.isConnected("alice", "bob"))
    world.run(10_000)
    world.inject(.statements([late.bytes], last: false), from: "alice", to: "bob")
    world.run(100)
    #expect(world["bob"].replica.circle.held(late.bytes) != nil)
  }

  // MARK: Forged heads

  /// Alice, Bob, Carol and Mallory, who withholds the sets that she announces; a record of Alice's has reached all.
  private static func line(keepingBack isKept: @escaping (Message) -> Bool) throws -> World {
    let world = try World(["alice", "bob", "carol", "mallory"])
    world.meddle = { from, _, message in from == "mallory" && isKept(message) ? [] : [message] }
    world.connect("alice", "bob")
    world.connect("bob", "carol")
    world.connect("carol", "mallory")
    try world.write("alice", insert(record(1)))
    world.run(1_000)
    return world
  }

  private static func connected() throws -> World {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(1_000)
    world.forgetTraffic()
    return world
  }

  /// Alice claims to store these heads; returns what she then sends to Bob at once.
  private static func tell(_ heads: [LogHead], _ world: World) -> [(complete: Bool, heads: [LogHead])] {
    let alice = world["alice"]
    let lane = Replica.LaneState(heads: heads, digest: alice.store.digest(.settings))
    let records = Replica.LaneState(
      heads: alice.store.heads(.records), digest: alice.store.digest(.records))
    world.turn(alice, [.rebuilt(settings: lane, records: records, newestForeignClock: .zero)])
    world.run(300)
    return world.sent.compactMap { sent in
      guard sent.from == "alice", case .heads(.settings, let heads, let complete) = sent.message else {
        return nil
      }
      #expect(sent.bytes <= Limits.messageBytesMax)
      return (complete, heads)
    }
  }

  private static func log(_ number: UInt64, of device: Device? = nil) -> LogKey {
    LogKey(
      device: device?.key ?? DeviceKey(Bytes32(.max, .max, .max, number)),
      incarnation: Incarnation(Bytes16(77, number)), lane: .settings)
  }

  private static func head(
    _ number: UInt64, sequence: UInt64 = 1, tip: UInt64 = 0, of device: Device? = nil
  ) -> LogHead {
    LogHead(
      log: log(number, of: device), sequence: sequence, id: ChangeSetID(Bytes32(5, 5, number, tip)),
      foldedSequence: sequence)
  }

  private static func cut(_ world: World, by name: String, _ number: Int) throws -> Statement {
    let log = LogKey(
      device: DeviceKey(Family.key(name)), incarnation: Incarnation(Bytes16(66, 6)), lane: .records)
    return try Statement(
      signing: LogCut(circle: world.family.circle, log: log, tip: nil, issued: Int64(number)),
      with: Family.key(name))
  }

  private static func large(_ world: World, by name: String, _ number: Int) throws -> Statement {
    let key = Family.key(name)
    return try Statement(
      signing: Revocation(
        circle: world.family.circle, issuer: DeviceKey(key), device: DeviceKey(Family.key("nobody")),
        kept: [], valid: (0..<1_900).map { StatementID(Bytes32(0, 0, 0, UInt64($0))) },
        issued: Int64(number)), with: key)
  }
}
