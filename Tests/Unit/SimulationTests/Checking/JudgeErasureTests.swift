import Records
import Replication
import SQLite
import Simulation
import Storage
import Testing
import Wire

/// Erases and missing values: the judge accepts what the chapters allow, and finds each guarantee that is broken once.
@Suite struct JudgeErasureTests {
  private func expect(
    _ rule: Violation.Rule, _ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let violation = #expect(throws: Violation.self, sourceLocation: sourceLocation, performing: body)
    #expect(violation?.rule == rule, "\(violation.map { "\($0)" } ?? "")", sourceLocation: sourceLocation)
  }

  private func inspect(_ world: JudgedWorld, _ name: String = "alice") throws {
    try world.judge.inspected(name, wall: world.wall)
  }

  /// Hands sets to a device, bypassing sessions.
  private func take(_ sets: [VerifiedChangeSet], _ world: JudgedWorld, at name: String) throws {
    world.wall += 1_000
    try world[name].take(sets, wall: world.wall)
    try world.look(name)
  }

  private func withoutValues(_ set: VerifiedChangeSet) throws -> VerifiedChangeSet {
    try JudgedDevice.copy(of: set, without: Set(0..<set.body.slots.count))
  }

  // MARK: Correct stores

  @Test func `erased records, concurrent edits, children`() throws {
    let world = try JudgedWorld(["alice", "bob", "carol"])
    try world.write(
      "alice", .records, insert(trip(1), [1: .text("Rome"), 2: .text("secret")]),
      insert(trip(2), [1: .text("Oslo"), 99: .text("of a newer version")]))
    try world.meet()
    try world.write("bob", .records, edit(trip(1), [1: .text("Roma")]))
    try world.write("carol", .records, erase(trip(1)), erase(trip(2)), erase(trip(3)))
    try world.write("alice", .records, insert(lodging(4), [1: .bytes(trip(2).id.bytes), 2: .text("Casa")]))
    try world.meet()
    try world.healed()
    // The edit was concurrent with the erase, and only a later erase takes it.
    try world.write("alice", .records, restore(trip(1)), erase(lodging(4)))
    try world.meet()
    #expect(try world["carol"].store.record(trip(1))?[1] == .text("Roma"))
    #expect(try world["carol"].store.record(trip(1))?[2] == nil)
    try world.write("bob", .records, erase(trip(1)))
    try world.meet()
    try world.healed()
    #expect(try world["alice"].store.record(trip(1))?[1] == nil)
  }

  @Test func `an erase and new values in the same set`() throws {
    let world = try JudgedWorld()
    try world.write(
      "alice", .records, insert(trip(1), [1: .text("Rome"), 2: .text("secret")]),
      insert(trip(2), [1: .text("Oslo")]), edit(FixedRecords.profile, [1: .integer(5), 2: .text("Alice")]),
      edit(FixedRecords.none, [2: .text("123")]))
    try world.meet()
    try world.write(
      "bob", .records, insert(trip(1), [1: .text("Rome")]), erase(trip(1)),
      edit(trip(2), [1: .text("in the trash")]), erase(trip(2)),
      edit(FixedRecords.profile, [1: .integer(9)]), erase(FixedRecords.profile), erase(FixedRecords.none))
    try world.meet()
    try world.healed()
    let shown = try #require(try world["alice"].store.record(trip(1)))
    #expect(shown.isAlive && shown[1] == .text("Rome") && shown[2] == nil)
    #expect(try world["alice"].store.record(FixedRecords.profile)?[2] == nil)
  }

  @Test func `siblings that an erase has seen, and profiles of a lower rank`() throws {
    let world = try JudgedWorld(["alice", "bob", "carol"])
    try world.write("alice", .records, insert(trip(1), [1: .text("Rome")]))
    try world.meet()
    try world.write(
      "alice", .records, edit(trip(1), [1: .text("Roma")]),
      edit(FixedRecords.profile, [1: .integer(90), 2: .text("Alice")]))
    try world.write(
      "bob", .records, edit(trip(1), [1: .text("Rom")]),
      edit(FixedRecords.profile, [1: .integer(50), 2: .text("Bob")]))
    for name in ["alice", "bob"] { try world.sync(name, to: "carol") }
    try world.sync("alice", to: "bob")
    try world.sync("bob", to: "alice")
    // Bob erases what he has seen, and Alice writes at the same time.
    try world.write("bob", .records, erase(trip(1)), erase(FixedRecords.profile))
    try world.write(
      "alice", .records, restore(trip(1)), edit(trip(1), [1: .text("Ostia")]),
      edit(FixedRecords.profile, [1: .integer(10), 2: .text("A")]))
    try world.meet()
    try world.healed()
  }

  @Test func `values that a peer withholds`() throws {
    let world = try JudgedWorld(["alice", "bob", "carol"])
    let sets = try world.write(
      "alice", .records, insert(trip(1), [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")]),
      insert(lodging(3), [1: .bytes(trip(1).id.bytes), 2: .text("Casa")]))
    try take([JudgedDevice.copy(of: sets[0], without: [0, 2])], world, at: "bob")
    try take([withoutValues(sets[0])], world, at: "carol")
    try world.healed()
    try world.write("bob", .records, edit(trip(1), [1: .text("Roma")]))
    try world.write("carol", .records, edit(trip(1), [1: .text("Rom")]), delete(trip(2)))
    try world.meet()
    try world.healed()
    try world.write("alice", .records, erase(trip(1)), erase(lodging(3)))
    try world.meet()
    try world.healed()
    for name in ["alice", "bob", "carol"] { try inspect(world, name) }
  }

  @Test func `a set without values that arrives again with them`() throws {
    let world = try JudgedWorld()
    let sets = try world.write("alice", .records, insert(trip(1), [1: .text("Rome")]))
    try take([withoutValues(sets[0])], world, at: "bob")
    try take(sets, world, at: "bob")
    try inspect(world, "bob")
    try world.write("alice", .records, erase(trip(1)))
    try world.sync("alice", to: "bob")
    try take(sets, world, at: "bob")
    try inspect(world, "bob")
    try world.healed()
  }

  @Test func `values that arrive after their set`() throws {
    let world = try JudgedWorld()
    let set = try world.write(
      "alice", .records, insert(trip(1), [1: .text("Rome")]),
      insert(lodging(3), [1: .bytes(trip(1).id.bytes), 2: .text("Casa")]))[0]
    try take([withoutValues(set)], world, at: "bob")
    let wanted = SetSlots(log: set.header.log, sequence: set.header.sequence, id: set.id, slots: [0, 1])
    let found = try world["alice"].store.values(.records, [wanted], bytesMax: .max, readMax: .max)
    let message = Message.values(.records, found).encoded
    try world.judge.sent("alice", to: "bob", link: 1, message, wall: world.wall)
    world.judge.arrived("alice", to: "bob", link: 1, message, wall: world.wall)
    _ = try world["bob"].store.fill([ArrivedValues(set: wanted, values: found[0].slots)])
    try world.look("bob")
    try inspect(world, "bob")
    try world.healed()
  }

  @Test func `an erase in a log that is cut afterwards`() throws {
    let world = try JudgedWorld(["alice", "bob", "carol"])
    try world.write("alice", .records, insert(trip(1), [1: .text("Rome")]))
    try world.meet()
    let kept = try world.write("bob", .records, edit(trip(1), [2: .text("note")]))
    try world.write("bob", .records, erase(trip(1)))
    try world.sync("bob", to: "alice")
    try world.sync("bob", to: "carol")
    let cut = try world.revocation("bob", kept: [(world["bob"].log(.records), kept[0].id)])
    try world.learn(cut, on: ["alice", "carol"])
    for name in ["alice", "carol"] {
      #expect(try world[name].store.record(trip(1))?.isAlive == true)
      #expect(try world[name].store.record(trip(1))?[1] == nil)
      try inspect(world, name)
    }
    try world.judge.healed(["alice", "carol"], premium: ["alice", "carol"])
  }

  // MARK: Broken guarantees

  /// A store in which a trip was erased whose name two devices had written at the same time.
  private func erased() throws -> (world: JudgedWorld, sets: [VerifiedChangeSet]) {
    let world = try JudgedWorld()
    var sets = try world.write("alice", .records, insert(trip(1), [1: .text("Rome"), 99: .text("new")]))
    try world.meet()
    sets += try world.write("alice", .records, edit(trip(1), [1: .text("Roma")]))
    sets += try world.write("bob", .records, edit(trip(1), [1: .text("Rom")]))
    try world.meet()
    try world.write("bob", .records, erase(trip(1)))
    try world.meet()
    try world.healed()
    return (world, sets)
  }

  private func put(_ values: [UInt8], of set: VerifiedChangeSet, into device: JudgedDevice) throws {
    try device.reader.with("UPDATE change_sets SET field_values = ?1 WHERE id = ?2") { row in
      try row.bind(1, values)
      try row.bind(2, set.id.bytes)
      try row.run()
    }
  }

  @Test func `erased values that are still in the log`() throws {
    let (world, sets) = try erased()
    for set in sets {
      try put(set.raw.values, of: set, into: world["alice"])
      expect(.erased) { try inspect(world) }
      try put(try withoutValues(set).raw.values, of: set, into: world["alice"])
      try inspect(world)
    }
  }

  static let one = "x'01000000000000010000000000000001'"

  @Test(arguments: [
    "UPDATE trip_rows SET name = 'Roma' WHERE id = \(one)",
    """
    INSERT INTO siblings(kind, record, field, number, branch, sequence, content_hash, follows, content)
    SELECT 1, \(one), 1, number, branch, sequence, zeroblob(32), 0, x'64526f6d61' FROM change_sets
    WHERE number = 2;
    """,
  ])
  func `erased values that are still in the tables`(_ sql: String) throws {
    let (world, _) = try erased()
    try world["alice"].damage(sql)
    expect(.erased) { try inspect(world) }
  }

  @Test(arguments: ["DELETE FROM erasures", "INSERT INTO erasures VALUES (1, \(one), 1)"])
  func `wrong lists of erases`(_ sql: String) throws {
    let (world, _) = try erased()
    try world["alice"].damage(sql)
    expect(.state) { try inspect(world) }
  }

  @Test(arguments: ["DELETE FROM whole_ranks", "UPDATE whole_ranks SET filled = filled + 1"])
  func `a profile with a rank that its write does not state`(_ sql: String) throws {
    let world = try JudgedWorld()
    try world.write("alice", .records, edit(FixedRecords.profile, [1: .integer(5), 2: .text("Alice")]))
    try world["alice"].damage(sql)
    expect(.state) { try inspect(world) }
  }

  @Test func `erased values of an unknown field that are still in the tables`() throws {
    let (world, _) = try erased()
    try world["alice"].damage("UPDATE trip_rows SET extra = x'a11863636e6577' WHERE id = \(Self.one)")
    expect(.state) { try inspect(world) }
  }

  @Test func `a step that does not erase`() throws {
    let world = try JudgedWorld()
    let sets = try world.write("alice", .records, insert(trip(1), [1: .text("Rome")]))
    try world.meet()
    let values = hexadecimal(sets[0].raw.values)
    try world["alice"].damage(
      """
      CREATE TRIGGER damage AFTER UPDATE OF field_values ON change_sets WHEN new.field_values <> x'\(values)'
      BEGIN UPDATE change_sets SET field_values = x'\(values)' WHERE number = new.number; END
      """)
    try world.write("bob", .records, erase(trip(1)))
    expect(.erased) { try world.sync("bob", to: "alice") }
  }

  @Test func `values that are sent although they were erased, or that are not those of the set`() throws {
    let (world, sets) = try erased()
    let wrong = RawChangeSet(
      header: sets[0].raw.header, signature: sets[0].raw.signature, plan: sets[0].raw.plan,
      values: [0x81, 0x80])
    for (raw, rule) in [(sets[0].raw, Violation.Rule.erased), (wrong, .falseMisbehaviour)] {
      let message = Message.encodedSets(.records, [raw])
      expect(rule) { try world.judge.sent("alice", to: "bob", link: 1, message, wall: world.wall) }
    }
    let slot = SlotValue(slot: 0, salt: .zero, content: [0x80])
    let alone = Message.values(.records, [SetValues(id: sets[0].id, slots: [slot])]).encoded
    expect(.erased) { try world.judge.sent("alice", to: "bob", link: 1, alone, wall: world.wall) }
    let redacted = Message.encodedSets(.records, [try withoutValues(sets[0]).raw])
    try world.judge.sent("alice", to: "bob", link: 1, redacted, wall: world.wall)
    try world.look("alice")
  }

  @Test func `values that are gone although nothing erased them`() throws {
    let world = try JudgedWorld()
    let sets = try world.write("alice", .records, insert(trip(1), [1: .text("Rome")]))
    try world.write("alice", .records, insert(trip(2), [1: .text("Oslo")]), erase(trip(2)))
    let alice = world["alice"]
    try put(try withoutValues(sets[0]).raw.values, of: sets[0], into: alice)
    try alice.damage("UPDATE trip_rows SET name = NULL WHERE id = \(Self.one)")
    expect(.wentBack) { try inspect(world) }
  }

  @Test func `a write that is acknowledged and stored without its values`() throws {
    let world = try JudgedWorld()
    world.wall += 1_000
    let alice = world["alice"]
    let sets = try alice.write(
      .records, [insert(trip(1), [1: .text("Rome")])], verb: "test", target: nil, wall: world.wall)
    try put(try withoutValues(sets[0]).raw.values, of: sets[0], into: alice)
    try alice.damage("UPDATE trip_rows SET name = NULL")
    try world.look("alice")
    expect(.lostWrite) { try world.judge.acknowledged("alice", sets.map(\.id.bytes)) }
  }
}
