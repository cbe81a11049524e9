import Membership
import Records
import Replication
import Simulation
import Sodium
import Storage
import Testing
import Wire

/// In correct worlds the judge reports nothing.
@Suite struct JudgeHonestTests {
  @Test func `edits, conflicts, deletions and children`() throws {
    let world = try JudgedWorld(["alice", "bob", "carol"])
    try world.write(
      "alice", .records, insert(trip(1), [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")]))
    try world.write("alice", .settings, insert(setting(1), [1: .text("theme"), 2: .text("dark")]))
    try world.meet()
    try world.write("alice", .records, edit(trip(1), [1: .text("Roma")]))
    try world.write("bob", .records, edit(trip(1), [1: .text("Rom"), 6: .bool(true)]))
    try world.write("carol", .records, delete(trip(2)))
    try world.write(
      "bob", .records, insert(lodging(3), [1: .bytes(trip(2).id.bytes), 2: .text("Casa")]),
      edit(trip(2), [2: .text("rain")]))
    try world.meet()
    try world.write("alice", .records, restore(trip(2)))
    try world.meet()
    try world.healed()
    #expect(world.judge.counts.records > 20)
  }

  @Test func `the profile, None, unknown kinds and fields, values of other types`() throws {
    let world = try JudgedWorld()
    let unknown = key(try #require(KindNumber(3_000)), 7)
    try world.write(
      "alice", .records, edit(FixedRecords.profile, [1: .integer(5), 2: .text("Alice")]),
      insert(unknown, [4: .array([.integer(1), .float(1.5), .null])]),
      insert(trip(1), [1: .integer(3), 99: .text("new"), 3: .integer(-4)]))
    try world.write(
      "bob", .records, edit(FixedRecords.profile, [1: .integer(5), 2: .text("Bob"), 3: .text("dark")]),
      edit(FixedRecords.none, [1: .text("other"), 2: .text("123")]), delete(unknown),
      delete(FixedRecords.none))
    try world.meet()
    try world.write("alice", .records, edit(FixedRecords.profile, [1: .integer(9), 2: .text("Both")]))
    try world.write(
      "alice", .settings,
      insert(setting(2), [2: .array([.bytes([1, 255]), .float(-2), .text("\"\\\u{1}é")])]))
    try world.meet()
    try world.healed()
  }

  @Test func `parked sets are folded when their time has come`() throws {
    let world = try JudgedWorld()
    try world.write("alice", .records, [insert(trip(1), [1: .text("later")])], ahead: 3_600_000)
    try world.sync("alice", to: "bob")
    try world.healed()
    world.wall += 3_600_000
    try world["bob"].foldParked(wall: world.wall)
    try world.look("bob")
    try world.healed()
  }

  @Test func `a fork is stored and folded with both branches, and proven`() throws {
    let world = try JudgedWorld()
    try world.write("alice", .records, insert(trip(1), [1: .text("Rome")]))
    try world.add("copy", keys: "alice")
    try world["copy"].take(world["alice"].known, wall: world.wall)
    try world.look("copy")
    world.judge.cloned("alice")
    world.judge.cloned("copy")
    let one = try world.write("alice", .records, edit(trip(1), [1: .text("Roma")]))
    let other = try world.write("copy", .records, edit(trip(1), [1: .text("Rom")]))
    try world.meet()
    try world.write("bob", .records, edit(trip(1), [1: .text("Rome!")]))
    try world.meet()
    let proof = try ForkProof.statement(
      circle: world.circle, (one[0].raw.header, one[0].raw.signature),
      (other[0].raw.header, other[0].raw.signature))
    try world.learn(proof)
    try world.healed()
  }

  /// Seventeen branches of one of Bob's logs. They follow the given set, or begin logs with one incarnation number.
  private func branches(_ world: JudgedWorld, after: VerifiedChangeSet? = nil) throws -> [VerifiedChangeSet] {
    let key = JudgedWorld.key("bob")
    return try (0..<17).flatMap { (branch: UInt64) in
      let first = Incarnation(Bytes16(world["bob"].incarnation.raw.word0, 100 + branch))
      let log = LogKey(
        device: DeviceKey(key), incarnation: after?.header.log.incarnation ?? first, lane: .settings)
      var author = Author(
        position: AuthorPosition(
          circle: world.circle, log: log, sequence: after?.header.sequence ?? 0, id: after?.id,
          clock: after?.header.clock ?? .zero, logBytes: after?.logBytes ?? 0, unseen: []),
        key: key
      ) { Bytes16(11, branch) }
      let operation = OperationDraft(id: OperationID(Bytes16(11, branch)), verb: "test")
      return try author.write([insert(setting(branch), [:])], operation: operation, wall: world.wall)
    }
  }

  private func proof(_ world: JudgedWorld, _ sets: [VerifiedChangeSet]) throws -> Membership.Statement {
    try BranchProof.statement(circle: world.circle, sets.map { ($0.raw.header, $0.raw.signature) })
  }

  @Test func `branches are stored, announced, proven and excluded within one step`() throws {
    for isReported in [true, false] {
      let world = try JudgedWorld()
      let trunk = try world.write("bob", .settings, insert(setting(1), [:]))
      try world.sync("bob", to: "alice")
      let sets = try branches(world, after: trunk[0])
      try world["alice"].take(sets, wall: world.wall)
      if isReported { try world.judge.passed("alice") }
      let proof = try proof(world, sets)
      try world["alice"].store.saveStatements([(proof.id, proof.bytes)])
      let state = Message.state(
        try world.stateHash("alice", with: [proof]), token: 1, echo: false
      ).encoded
      try world.judge.sent("alice", to: "bob", link: 1, state, wall: world.wall)
      try world["alice"].learn([proof], wall: world.wall)
      let credit = {
        try world.judge.credited("bob", JudgedWorld.key("alice").publicKey, with: sets.map(\.id.bytes))
      }
      if isReported {
        try world.look("alice")
        try credit()
      } else {
        #expect(throws: Violation.self) { try world.look("alice") }
        #expect(throws: Violation.self) { try credit() }
      }
    }
  }

  @Test func `a branch proof replaces one of the same tree with a higher line`() throws {
    let world = try JudgedWorld()
    let trunk = try world.write("bob", .settings, insert(setting(1), [:]))
    let higher = try proof(world, try branches(world, after: trunk[0]))
    let lower = try proof(world, try branches(world))
    try world.learn(higher, on: ["alice"])
    try world["alice"].learn([lower], wall: world.wall)
    try world["alice"].store.saveStatements([], removed: [higher.id])
    try world.look("alice")
    // The proof with the lower line must stay, and the other one must not come back.
    try world["alice"].store.saveStatements([(higher.id, higher.bytes)])
    #expect(throws: Violation.self) { try world.look("alice") }
    try world["alice"].store.saveStatements([], removed: [lower.id])
    #expect(throws: Violation.self) { try world.look("alice") }
  }

  @Test func `a revocation cuts a log, whenever its sets arrive`() throws {
    let world = try JudgedWorld(["alice", "bob", "carol"])
    try world.write("bob", .records, insert(trip(1), [1: .text("Rome")]))
    let kept = try world.write("bob", .records, edit(trip(1), [1: .text("Roma")]))
    try world.sync("bob", to: "alice")
    try world.write("bob", .records, edit(trip(1), [1: .text("gone")]), insert(trip(2), [1: .text("gone")]))
    try world.sync("bob", to: "carol")
    try world.write("carol", .records, edit(trip(1), [2: .text("I saw it")]), delete(trip(2)))
    let cut = try world.revocation("bob", kept: [(world["bob"].log(.records), kept[0].id)])
    try world.learn(cut, on: ["carol", "alice"])
    try world.sync("carol", to: "alice")
    try world.sync("alice", to: "carol")
    try world.write("carol", .records, restore(trip(2)))
    try world.sync("carol", to: "alice")
    try world.judge.healed(["alice", "carol"], premium: ["alice", "carol"])
    try world.learn(cut, on: ["bob"])
  }

  @Test func `a set that a cut excluded is stored again once the disk has room`() throws {
    let world = try JudgedWorld(["alice", "bob", "carol", "dave"])
    let kept = try world.write("carol", .records, insert(trip(1), [1: .text("Rome")]))
    try world.write("carol", .records, edit(trip(1), [1: .text("Roma")]))
    for name in ["alice", "dave"] { try world.sync("carol", to: name) }
    try world.write("dave", .records, edit(trip(1), [2: .text("I saw it")]))
    try world.learn(try revocation(world, of: "carol", by: "bob", kept: kept), on: ["alice"])
    try world.sync("dave", to: "alice")
    let tide = try revocation(world, of: "bob", by: "root", kept: [], reinstated: ["carol"])
    world.judge.hasRoom("alice", false)
    try world["alice"].store.saveStatements([(tide.id, tide.bytes)])
    try world.look("alice")
    world.judge.hasRoom("alice", true)
    #expect(throws: Violation.self) { try world.look("alice") }
    try world.learn(tide, on: ["alice"])
  }

  @Test func `a set depends on one that no store had when it arrived`() throws {
    let world = try JudgedWorld(["alice", "bob", "carol"])
    let kept = try world.write("carol", .records, insert(trip(1), [1: .text("Rome")]))
    try world.sync("carol", to: "alice")
    // The stores of these two are not checked.
    world.wall += 1_000
    let lost = try world["carol"].write(
      .records, [edit(trip(1), [1: .text("Roma")])], verb: "test", target: nil, wall: world.wall)
    try world["bob"].take(world["carol"].known, wall: world.wall)
    world.wall += 1_000
    let seen = try world["bob"].write(
      .records, [edit(trip(1), [1: .text("Ostia")])], verb: "test", target: nil, wall: world.wall)
    try world.learn(try revocation(world, of: "carol", by: "bob", kept: kept), on: ["alice"])
    try world["alice"].take(seen, wall: world.wall)
    try world.look("alice")
    try world.learn(
      try revocation(world, of: "bob", by: "root", kept: seen, reinstated: ["carol"]), on: ["alice"])
    try world["alice"].take(lost + seen, wall: world.wall)
    try world.look("alice")
    try world.judge.inspected("alice", wall: world.wall)
  }

  private func revocation(
    _ world: JudgedWorld, of name: String, by other: String, kept: [VerifiedChangeSet],
    reinstated: [String] = []
  ) throws -> Membership.Statement {
    let logs = kept.map {
      KeptLog(incarnation: $0.header.log.incarnation, lane: $0.header.log.lane, tips: [$0.id])
    }
    return try Circle(statements: world["alice"].held, developmentIssuer: nil).revocation(
      RevocationTerms(
        device: DeviceKey(JudgedWorld.key(name)), kept: logs,
        reinstated: Set(reinstated.map { DeviceKey(JudgedWorld.key($0)) })),
      by: JudgedWorld.key(other), at: 3)
  }

  @Test func `a kept tip that no device sends is not waited for`() throws {
    let world = try JudgedWorld(["alice", "bob", "carol"])
    try world.write("bob", .records, insert(trip(1), [1: .text("Rome")]))
    try world.sync("bob", to: "alice")
    try world.write("alice", .records, edit(trip(1), [1: .text("Roma")]))
    let kept = try world.write("bob", .records, insert(trip(2), [:]))
    let cut = try world.revocation("bob", kept: [(world["bob"].log(.records), kept[0].id)])
    try world.learn(cut, on: ["alice", "carol"])
    try world.sync("alice", to: "carol")
    try world.sync("carol", to: "alice")
    try world.judge.healed(["alice", "carol"], premium: ["alice", "carol"])
    // Where one device holds it, the two states differ.
    try world.sync("bob", to: "alice")
    #expect(throws: Violation.self) {
      try world.judge.healed(["alice", "carol"], premium: ["alice", "carol"])
    }
    try world.sync("bob", to: "carol")
    try world.judge.healed(["alice", "carol"], premium: ["alice", "carol"])
  }

  @Test func `undo is an operation like any other`() throws {
    let world = try JudgedWorld()
    let sets = try world.write("alice", .records, insert(trip(1), [1: .text("Rome")]))
    try world.write("alice", .records, [delete(trip(1))], verb: "undo", target: sets[0].header.operation)
    try world.meet()
    try world.healed()
  }
}
