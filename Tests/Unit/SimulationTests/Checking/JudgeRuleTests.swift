import Membership
import Records
import Replication
import SQLite
import Simulation
import Sodium
import Storage
import Testing
import VirtualDisk
import Wire

/// Rules for what a node stores, folds, reports and sends: each is broken once, and found.
@Suite struct JudgeRuleTests {
  /// Runs a body in which the judge must report a violation.
  private func expect(
    _ rule: Violation.Rule, _ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let violation = #expect(throws: Violation.self, sourceLocation: sourceLocation, performing: body)
    #expect(violation?.rule == rule, "\(violation.map { "\($0)" } ?? "")", sourceLocation: sourceLocation)
  }

  // MARK: What is stored

  /// A set in Bob's log, signed by any key, with arbitrary dependencies.
  private func set(
    _ world: JudgedWorld, by name: String = "bob", at wall: Moment, after: VerifiedChangeSet? = nil,
    moreBytes: UInt64 = 0, unseen: [Dependency] = []
  ) throws -> VerifiedChangeSet {
    let key = JudgedWorld.key(name)
    let log = LogKey(
      device: DeviceKey(key), incarnation: world["bob"].log(.records).incarnation, lane: .records)
    var author = Author(
      position: AuthorPosition(
        circle: world.circle, log: log, sequence: after?.header.sequence ?? 0, id: after?.id,
        clock: .zero, logBytes: (after?.logBytes ?? 0) + moreBytes, unseen: unseen),
      key: key
    ) { Bytes16(9, UInt64(wall)) }
    let operation = OperationDraft(id: OperationID(Bytes16(9, UInt64(wall))), verb: "test")
    return try #require(
      author.write([insert(trip(5), [1: .text("x")])], operation: operation, wall: wall).first)
  }

  @Test func `a set of an uncertified author`() throws {
    let world = try JudgedWorld()
    try world["alice"].take([try set(world, by: "mallory", at: 10)], wall: world.wall)
    expect(.unauthorised) { try world.look("alice") }
  }

  @Test func `a clock that does not exceed its predecessor's or its dependency's`() throws {
    for seesAlice in [false, true] {
      let world = try JudgedWorld()
      let first =
        seesAlice ? try world.write("alice", .records, insert(trip(1), [:]))[0] : try set(world, at: 100)
      try world["alice"].take([first], wall: world.wall)
      try world.look("alice")
      let dependency = Dependency(
        device: first.header.log.device, incarnation: first.header.log.incarnation, sequence: 1, id: first.id)
      let late = try set(
        world, at: 50, after: seesAlice ? nil : first, unseen: seesAlice ? [dependency] : [])
      try plant(late, in: world["alice"])
      expect(.unauthorised) { try world.judge.inspected("alice", wall: world.wall) }
    }
  }

  @Test func `a set that is stored before its dependencies`() throws {
    let world = try JudgedWorld()
    let missing = Dependency(
      device: DeviceKey(JudgedWorld.key("alice")), incarnation: Incarnation(Bytes16(5, 5)), sequence: 1,
      id: ChangeSetID(Bytes32(1, 2, 3, 4)))
    try plant(try set(world, at: 100, unseen: [missing]), in: world["alice"])
    expect(.unauthorised) { try world.judge.inspected("alice", wall: world.wall) }
    let other = try JudgedWorld()
    try plant(try set(other, at: 100, after: try set(other, at: 50)), in: other["alice"])
    expect(.unauthorised) { try other.judge.inspected("alice", wall: other.wall) }
  }

  @Test func `a set with other log bytes than follow from its predecessor`() throws {
    let world = try JudgedWorld()
    let first = try set(world, at: 100)
    try world["alice"].take([first], wall: world.wall)
    try world.look("alice")
    try plant(try set(world, at: 200, after: first, moreBytes: 1), in: world["alice"])
    expect(.unauthorised) { try world.judge.inspected("alice", wall: world.wall) }
  }

  /// Puts a set into a store, bypassing all rules.
  private func plant(_ set: VerifiedChangeSet, in device: JudgedDevice) throws {
    let log = set.header.log
    let id = hexadecimal(set.id.bytes)
    try device.damage(
      """
      INSERT INTO branches(device, incarnation, lane, first_sequence, first_id)
      VALUES (x'\(hexadecimal(log.device.bytes))', x'\(hexadecimal(log.incarnation.bytes))',
        \(log.lane.rawValue), \(set.header.sequence), x'\(id)');
      INSERT INTO change_sets(
        id, branch, sequence, clock, operation, folded, log_bytes, header, signature, plan, field_values)
      VALUES (x'\(id)', (SELECT max(branch) FROM branches), \(set.header.sequence), \(set.header.clock.raw),
        x'\(hexadecimal(set.header.operation.bytes))', 1, \(set.logBytes), x'\(hexadecimal(set.raw.header))',
        x'\(hexadecimal(set.raw.signature))', x'\(hexadecimal(set.raw.plan))', x'\(hexadecimal(set.raw.values))')
      """)
  }

  // MARK: What is folded

  @Test func `a cut that is not applied`() throws {
    let world = try JudgedWorld()
    let kept = try world.write("bob", .records, insert(trip(1), [1: .text("Rome")]))
    try world.write("bob", .records, edit(trip(1), [1: .text("Roma")]))
    try world.sync("bob", to: "alice")
    let cut = try world.revocation("bob", kept: [(world["bob"].log(.records), kept[0].id)])
    try world["alice"].store.saveStatements([(cut.id, cut.bytes)])
    expect(.revocation) { try world.look("alice") }
  }

  @Test func `a set that is folded long before its time`() throws {
    let world = try JudgedWorld()
    let sets = try world.write("bob", .records, [insert(trip(1), [:])], ahead: 900_000)
    try world["alice"].take(sets, wall: world.wall + 900_000)
    expect(.state) { try world.look("alice") }
  }

  @Test func `a device that forks its own log`() throws {
    let world = try JudgedWorld()
    try world.add("copy", keys: "alice")
    try world.write("alice", .records, insert(trip(1), [:]))
    expect(.equivocation) { try world.write("copy", .records, insert(trip(2), [:])) }
  }

  @Test func `a fork without a proof`() throws {
    let world = try JudgedWorld()
    try world.add("copy", keys: "alice")
    for name in ["alice", "copy"] { world.judge.cloned(name) }
    try world.write("alice", .records, insert(trip(1), [:]))
    try world.write("copy", .records, insert(trip(2), [:]))
    try world.meet()
    expect(.equivocation) { try world.healed() }
  }

  @Test func `a set that has not reached all devices`() throws {
    let world = try JudgedWorld()
    try world.write("alice", .settings, insert(setting(1), [2: .text("dark")]))
    expect(.notConverged) { try world.healed() }
    try world.meet()
    try world.healed()
    try world.write("alice", .records, insert(trip(1), [:]))
    // Without the records lane nothing is missing.
    try world.judge.healed(["alice", "bob"], premium: ["alice"])
    expect(.notConverged) { try world.healed() }
    try world.meet()
    let statement = try world.certificate("carol")
    try world.learn(statement, on: ["alice"])
    expect(.notConverged) { try world.healed() }
  }

  @Test func `a set that is parked although its dependencies are not`() throws {
    let world = try JudgedWorld()
    try world.write("bob", .records, [insert(trip(1), [:])], ahead: 3_600_000)
    try world.write("bob", .records, [edit(trip(1), [1: .text("Rome")])], ahead: 3_600_000)
    try world.sync("bob", to: "alice")
    try world.healed()
    world.wall += 3_700_000
    for name in ["alice", "bob"] { world.judge.isNow(name, wall: world.wall) }
    expect(.notConverged) { try world.healed() }
  }

  @Test func `a set that stays quarantined although all its ancestors are here`() throws {
    let world = try JudgedWorld()
    let first = try world.write("bob", .records, insert(trip(1), [:]))[0]
    let second = try world.write("bob", .records, [edit(trip(1), [1: .text("Rome")])])[0]
    try world.look("bob")
    try world["alice"].take([first], wall: world.wall)
    try world.look("alice")
    // Directly in the database, since the store would restore it.
    let sql =
      "INSERT INTO quarantine(id, clock, header, signature, plan, field_values) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    try world["alice"].reader.with(sql) { row in
      try row.bind(1, second.id.bytes)
      try row.bind(2, Int64(bitPattern: second.header.clock.raw))
      try row.bind(3, second.raw.header)
      try row.bind(4, second.raw.signature)
      try row.bind(5, second.raw.plan)
      try row.bind(6, second.raw.values)
      try row.run()
    }
    expect(.state) { try world.judge.inspected("alice", wall: world.wall) }
  }

  // MARK: What is sent

  private func message(_ lane: Lane, _ sets: [VerifiedChangeSet]) -> [UInt8] {
    Message.encodedSets(lane, sets.map(\.raw))
  }

  private func send(_ world: JudgedWorld, _ from: String, _ to: String, _ bytes: [UInt8]) throws {
    try world.judge.sent(from, to: to, link: 1, bytes, wall: world.wall)
    try world.look(from)
  }

  @Test func `records that are sent while the gate is closed`() throws {
    let world = try JudgedWorld()
    let sets = try world.write("alice", .records, insert(trip(1), [:]))
    let settings = try world.write("alice", .settings, insert(setting(1), [:]))
    try send(world, "alice", "bob", message(.records, sets))
    world.judge.preferred("alice", sync: false)
    try send(world, "alice", "bob", message(.settings, settings))
    expect(.gate) { try send(world, "alice", "bob", message(.records, sets)) }
    expect(.gate) { try send(world, "alice", "bob", Message.want(.records, []).encoded) }
    world.judge.preferred("alice", sync: true)
    world.judge.introduced("mallory", device: JudgedWorld.key("mallory").publicKey)
    expect(.gate) { try send(world, "alice", "mallory", message(.records, sets)) }
    // Its entitlement has ended for all.
    world.wall *= 3
    expect(.gate) { try send(world, "alice", "bob", message(.records, sets)) }
  }

  @Test func `records for a peer that reported its lane closed`() throws {
    let world = try JudgedWorld()
    let sets = try world.write("alice", .records, insert(trip(1), [:]))
    for (reason, isRight) in [(ReasonCode.open, true), (.syncOff, false)] {
      let summary = summary(reason)
      world.judge.arrived("bob", to: "alice", link: 1, summary, wall: world.wall)
      try world.look("alice")
      if isRight {
        try send(world, "alice", "bob", message(.records, sets))
      } else {
        try world.look("alice")
        expect(.gate) { try send(world, "alice", "bob", message(.records, sets)) }
      }
    }
  }

  private func summary(_ reason: ReasonCode) -> [UInt8] {
    let settings = Summary.LaneState(reason: .open, heads: .zero, folded: .zero, digest: .zero)
    let records = Summary.LaneState(reason: reason, heads: .zero, folded: .zero, digest: .zero)
    return Message.summary(Summary(certificates: .zero, wall: 1, settings: settings, records: records))
      .encoded
  }

  @Test func `records that are accepted while the lane is closed`() throws {
    let world = try JudgedWorld()
    let sets = try world.write("bob", .records, insert(trip(1), [:]))
    world.judge.arrived("bob", to: "alice", link: 1, summary(.syncOff), wall: world.wall)
    world.judge.arrived("bob", to: "alice", link: 1, message(.records, sets), wall: world.wall)
    try world.look("alice")
    try world["alice"].take(sets, wall: world.wall)
    expect(.gate) { try world.look("alice") }
  }

  @Test func `a set that is sent and not stored, and a state that is not the store's`() throws {
    let world = try JudgedWorld()
    expect(.sentUnstored) {
      try send(world, "alice", "bob", message(.records, [try set(world, at: 5)]))
    }
    expect(.falseSync) { try send(world, "alice", "bob", summary(.open)) }
    expect(.falseSync) {
      try send(world, "alice", "bob", Message.state(.zero, token: 1, echo: true).encoded)
    }
    try world.write("alice", .settings, insert(setting(1), [:]))
    expect(.falseSync) {
      try world.judge.claimedInSync("alice", withOneOf: ["bob"], openLink: nil)
      try world.look("alice")
    }
    try world.meet()
    try world.judge.claimedInSync("alice", withOneOf: ["bob"], openLink: 1)
    try world.look("alice")
  }

  @Test func `a state other than the one in question`() throws {
    let world = try JudgedWorld()
    func ask(_ hash: Bytes32, token: UInt64, echo: Bool = true) {
      let question = Message.state(hash, token: token, echo: echo).encoded
      world.judge.arrived("bob", to: "alice", link: 1, question, wall: world.wall)
    }
    func agree(_ token: UInt64) throws {
      try send(world, "alice", "bob", Message.state(nil, token: token, echo: false).encoded)
    }
    let mine = try world.stateHash("alice")
    ask(mine, token: 7)
    // The answer to a question of Alice's own, which she asked in the same millisecond.
    ask(.zero, token: 7, echo: false)
    try agree(7)
    // Bob has asked twice in one millisecond.
    ask(.zero, token: 8)
    ask(mine, token: 8)
    try agree(8)
    ask(.zero, token: 9)
    expect(.falseSync) { try agree(9) }
    ask(mine, token: 10, echo: false)
    expect(.falseMisbehaviour) { try agree(10) }
  }

  @Test func `an answer that differs from the store, or that was not asked for`() throws {
    let world = try JudgedWorld()
    try world.write("alice", .records, insert(trip(1), [1: .text("Rome")]), insert(trip(2), [:]))
    let questions: [Question] = [
      .heads, .digests, .bucket(trip(1).id.bucket, after: nil), .inventory(after: trip(1)),
    ]
    for (number, question) in questions.enumerated() {
      let token = UInt64(number + 1)
      let answer = try world["alice"].store.answer(.records, question)
      func reply(_ content: Answer.Content, isDone: Bool = true) throws {
        let answer = Answer(lane: .records, folded: answer.folded, isDone: isDone, content: content)
        try send(world, "alice", "bob", Message.answer(token: token, answer).encoded)
      }
      expect(.falseMisbehaviour) { try reply(answer.content) }
      let query = Message.query(Query(token: token, lane: .records, question: question)).encoded
      world.judge.arrived("bob", to: "alice", link: 1, query, wall: world.wall)
      try reply(answer.content)
      expect(.state) { try reply(answer.content, isDone: false) }
      expect(.state) { try reply(without(answer.content)) }
    }
    #expect(world.judge.counts.answers >= 3 * questions.count)
  }

  /// One item less, or one flipped bit.
  private func without(_ content: Answer.Content) -> Answer.Content {
    switch content {
    case .heads(let heads): .heads(heads.dropLast())
    case .digests(let sums): .digests([sums[1], sums[1]] + sums.dropFirst(2).reversed())
    case .bucket(let records): .bucket(records.dropLast())
    case .inventory(let items): .inventory(items.dropLast())
    }
  }

  @Test func `an answer in a lane whose gate is closed`() throws {
    let world = try JudgedWorld()
    let answer = try world["alice"].store.answer(.records, .heads)
    func answerBob(_ token: UInt64) throws {
      let query = Message.query(Query(token: token, lane: .records, question: .heads)).encoded
      world.judge.arrived("bob", to: "alice", link: 1, query, wall: world.wall)
      try send(world, "alice", "bob", Message.answer(token: token, answer).encoded)
    }
    try answerBob(1)
    // Its entitlement has ended. On a full disk it may know another one that is not stored.
    world.wall *= 3
    expect(.gate) { try answerBob(2) }
    world.judge.hasRoom("alice", false)
    try answerBob(3)
  }

  @Test func `a state without lanes, from a device that is not a member`() throws {
    let world = try JudgedWorld()
    func say(_ lanes: [Lane]) throws {
      let state = Message.state(try world.stateHash("bob", of: lanes), token: 1, echo: true)
      try send(world, "bob", "alice", state.encoded)
    }
    expect(.falseSync) { try say([]) }
    try world.learn(try world.revocation("bob", kept: []), on: ["bob"])
    try say([])
    expect(.falseSync) { try say([.records]) }
  }

  @Test func `sync with a device whose acknowledged sets did not fit on its disk and were lost`() throws {
    let world = try JudgedWorld()
    try world.learn(try world.certificate("carol"), on: ["alice"])
    func claim() throws {
      try world.judge.claimedInSync("alice", withOneOf: ["bob"], openLink: nil)
      try world.look("alice")
    }
    world.judge.hasRoom("bob", false)
    expect(.falseSync) { try claim() }
    let said = Message.state(try world.stateHash("alice", of: [.settings]), token: 1, echo: true)
      .encoded
    try world.judge.sent("bob", to: "alice", link: 1, said, wall: world.wall)
    world.judge.stopped("bob")
    world.judge.hasRoom("bob", true)
    try world.start("bob")
    try claim()
    try world.write("alice", .settings, insert(setting(1), [:]))
    expect(.falseSync) { try claim() }
  }

  @Test func `a node whose membership view contradicts its statements`() throws {
    let world = try JudgedWorld()
    let all = ["alice", "bob"].map { JudgedWorld.key($0).publicKey }
    func beliefs(_ members: [[UInt8]], isOpen: Bool = true, cuts: [[[UInt8]]]? = nil) -> Beliefs {
      Beliefs(statements: world.statements.count, members: { members }, isGateOpen: isOpen) { _, _, _ in cuts
      }
    }
    try world.write("alice", .settings, insert(setting(1), [:]))
    try world.judge.believed("alice", beliefs(all), isWhole: true)
    expect(.revocation) { try world.judge.believed("alice", beliefs([all[0]]), isWhole: true) }
    expect(.revocation) { try world.judge.believed("alice", beliefs(all, cuts: [[]]), isWhole: true) }
    expect(.gate) { try world.judge.believed("alice", beliefs(all, isOpen: false), isWhole: true) }
  }

  @Test func `a peer believed to hold a set that it never held`() throws {
    let world = try JudgedWorld()
    let bob = JudgedWorld.key("bob").publicKey
    let sets = try world.write("alice", .records, insert(trip(1), [:])).map(\.id.bytes)
    expect(.falseSync) { try world.judge.credited("alice", bob, with: sets) }
    world.judge.stopped("bob")
    try world.judge.credited("alice", bob, with: sets)
    try world.start("bob")
    try world.meet()
    try world.judge.credited("alice", bob, with: sets)
  }

  @Test func `a premium device whose lane stays closed`() throws {
    let world = try JudgedWorld()
    try world.judge.healed(["alice", "bob"], premium: ["alice"], withholding: ["bob"])
    expect(.gate) { try world.judge.healed(["alice", "bob"], premium: ["alice"], withholding: []) }
  }

  @Test func `an entitlement that ends while no device has a turn`() throws {
    let world = try JudgedWorld()
    world.judge.isNow("bob", wall: .max)
    try world.judge.healed(["alice", "bob"], premium: ["alice"], withholding: [])
  }

  @Test func `a set that is dated before or long after it was written`() throws {
    let world = try JudgedWorld()
    let sets = try world.write("alice", .settings, insert(setting(1), [:]))
    let ids = sets.map(\.id.bytes)
    try world.judge.acknowledged("alice", ids, wall: world.wall)
    expect(.state) { try world.judge.acknowledged("alice", ids, wall: world.wall + 1) }
    expect(.state) { try world.judge.acknowledged("alice", ids, wall: world.wall - 2) }
  }

  @Test func `a log that continues although others have more of it, or have proved a fork`() throws {
    let world = try JudgedWorld()
    try world.add("copy", keys: "alice")
    for name in ["alice", "copy"] { world.judge.cloned(name) }
    let sets = try world.write("alice", .settings, insert(setting(1), [:]))
    world.judge.arrived("alice", to: "copy", link: 1, message(.settings, sets), wall: world.wall)
    try world.sync("alice", to: "copy")
    expect(.equivocation) { try world.write("copy", .settings, insert(setting(2), [:])) }
  }

  @Test func `a log that continues after a copy of the device has ended it`() throws {
    let world = try JudgedWorld()
    let kept = try world.write("alice", .settings, insert(setting(1), [:]))
    let cut = try Statement(
      signing: LogCut(circle: world.circle, log: world["alice"].log(.settings), tip: kept[0].id, issued: 5),
      with: JudgedWorld.key("alice"))
    try world.learn(cut)
    // It belongs to the same incarnation, in the other lane.
    expect(.equivocation) { try world.write("alice", .records, insert(trip(2), [:])) }
    world["alice"].incarnation = Incarnation(Bytes16(7, 7))
    try world.write("alice", .records, insert(trip(3), [:]))
  }

  @Test func `new sets that are shown before any peer has reported on their log`() throws {
    let world = try JudgedWorld()
    let sets = try world.write("alice", .settings, insert(setting(1), [:]))
    world.judge.steady = 1_000
    expect(.equivocation) { try send(world, "alice", "bob", message(.settings, sets)) }
    world.judge.arrived("bob", to: "alice", link: 1, summary(.open), wall: world.wall)
    world.judge.steady = 1_019
    expect(.equivocation) { try send(world, "alice", "bob", message(.settings, sets)) }
    world.judge.steady = 1_020
    try send(world, "alice", "bob", message(.settings, sets))
  }

  @Test func `new sets that are shown while sets by a copy at the same positions are still to come`() throws {
    let world = try JudgedWorld()
    try world.add("copy", keys: "alice")
    for name in ["alice", "copy"] { world.judge.cloned(name) }
    let lost = try world.write("copy", .settings, insert(setting(1), [:]))
    let sets = try world.write("alice", .settings, insert(setting(2), [:]))
    world.judge.steady = 1_000
    let head = LogHead(log: world["copy"].log(.settings), sequence: 1, id: lost[0].id, foldedSequence: 1)
    let heads = Message.heads(.settings, [head], complete: true).encoded
    world.judge.arrived("bob", to: "alice", link: 1, heads, wall: world.wall)
    world.judge.steady = 1_020
    expect(.equivocation) { try send(world, "alice", "bob", message(.settings, sets)) }
    // The peer that promised them is gone.
    world.judge.ended(link: 1)
    try send(world, "alice", "bob", message(.settings, sets))
  }

  @Test func `new sets are announced once their log is cut, as no set of a copy can follow`() throws {
    let world = try JudgedWorld()
    try world.add("copy", keys: "alice")
    for name in ["alice", "copy"] { world.judge.cloned(name) }
    let lost = try world.write("copy", .settings, insert(setting(1), [:]))
    let sets = try world.write("alice", .settings, insert(setting(2), [:]))
    world.judge.steady = 1_000
    let head = LogHead(log: world["copy"].log(.settings), sequence: 1, id: lost[0].id, foldedSequence: 1)
    let heads = Message.heads(.settings, [head], complete: true).encoded
    world.judge.arrived("bob", to: "alice", link: 1, heads, wall: world.wall)
    world.judge.steady = 1_020
    let cut = try Statement(
      signing: LogCut(circle: world.circle, log: world["alice"].log(.settings), tip: sets[0].id, issued: 5),
      with: JudgedWorld.key("alice"))
    try world.learn(cut, on: ["alice"])
    try send(world, "alice", "bob", message(.settings, sets))
  }

  @Test func `a message to a device that is not a member`() throws {
    let world = try JudgedWorld()
    world.judge.introduced("mallory", device: JudgedWorld.key("mallory").publicKey)
    expect(.revocation) { try send(world, "alice", "mallory", Message.want(.settings, []).encoded) }
    try send(world, "alice", "mallory", Message.goodbye(.notAMember).encoded)
  }

  @Test func `a peer that is waited for although it sends nothing`() throws {
    let world = try JudgedWorld()
    for second in 0...60 as ClosedRange<Int64> {
      world.judge.steady = 1_000_000 + second * 1_000
      try world.judge.awaited("alice", for: second < 40 ? second * 1_000 : nil)
    }
    expect(.state) { try world.judge.awaited("alice", for: 41_000) }
    // It was suspended for a while, and has yet to process its timers.
    world.judge.steady = 2_000_000
    try world.judge.awaited("alice", for: 500_000)
  }

  @Test func `counters and closes that the world reports`() throws {
    let world = try JudgedWorld()
    try world.judge.measured("alice", "the queue", 8, max: 8)
    expect(.limit) { try world.judge.measured("alice", "the queue", 9, max: 8) }
    try world.judge.closedAsMisbehaved("alice", peer: "mallory", cause: "x")
    expect(.falseMisbehaviour) { try world.judge.closedAsMisbehaved("alice", peer: "bob", cause: "x") }
  }
}
