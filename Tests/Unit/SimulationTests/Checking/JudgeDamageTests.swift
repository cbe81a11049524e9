import Membership
import Records
import Replication
import Simulation
import Storage
import Testing
import Wire

/// Damage that the judge must find: in an intact store one thing is changed by hand.
@Suite struct JudgeDamageTests {
  struct Damage: CustomTestStringConvertible, Sendable {
    let rule: Violation.Rule
    let sql: String
    var testDescription: String { "\(rule.rawValue): \(sql)" }
  }

  static let one = "x'01000000000000010000000000000001'"
  static let two = "x'02000000000000020000000000000002'"

  static let damages = [
    Damage(rule: .state, sql: "UPDATE trip_rows SET name = 'Ostia' WHERE id = \(one)"),
    Damage(rule: .state, sql: "UPDATE trip_rows SET start_date = 7 WHERE id = \(one)"),
    Damage(rule: .partialSet, sql: "UPDATE trip_rows SET stamps = x'0203' WHERE id = \(one)"),
    Damage(rule: .state, sql: "UPDATE trip_rows SET extra = x'a11863f6' WHERE id = \(one)"),
    Damage(rule: .resurrection, sql: "UPDATE trip_rows SET life = 1 WHERE id = \(two)"),
    Damage(rule: .state, sql: "UPDATE trip_rows SET life = 0 WHERE id = \(one)"),
    Damage(rule: .partialSet, sql: "DELETE FROM lodging_rows"),
    Damage(rule: .state, sql: "INSERT INTO trip_rows(id, life, stamps) VALUES (zeroblob(16), 1, x'0101')"),
    Damage(
      rule: .state, sql: "INSERT INTO other_rows(kind, id, stamps) VALUES (3000, zeroblob(16), x'0101')"),
    Damage(rule: .state, sql: "UPDATE digests SET sum = zeroblob(32) WHERE lane = 1 AND bucket = 1"),
    Damage(rule: .state, sql: "DELETE FROM digests WHERE lane = 0"),
    Damage(rule: .journal, sql: "DELETE FROM siblings"),
    Damage(rule: .journal, sql: "UPDATE contested_cells SET is_conflict = 1 - is_conflict"),
    Damage(rule: .journal, sql: "UPDATE siblings SET content = x'f6'"),
    Damage(rule: .journal, sql: "UPDATE siblings SET number = 1"),
    Damage(rule: .journal, sql: "DELETE FROM hidden_writes"),
    Damage(rule: .journal, sql: "UPDATE hidden_writes SET by_parent = 1 - by_parent"),
    Damage(rule: .state, sql: "DELETE FROM record_writes WHERE record = \(one)"),
    Damage(rule: .state, sql: "DELETE FROM undos"),
    Damage(rule: .state, sql: "UPDATE child_counts SET live = live + 1"),
    Damage(rule: .state, sql: "DELETE FROM child_counts WHERE parent_kind = 0 AND kind = 1"),
    Damage(rule: .state, sql: "DELETE FROM child_counts WHERE parent_kind = 1"),
    Damage(rule: .state, sql: "UPDATE trip_summaries SET lodgings = 2"),
    Damage(rule: .state, sql: "UPDATE trip_summaries SET first_start = 1"),
    Damage(rule: .state, sql: "UPDATE trip_summaries SET last_end = NULL"),
    Damage(rule: .state, sql: "UPDATE trip_summaries SET totals = '[]'"),
    Damage(
      rule: .state,
      sql: "INSERT INTO trip_summaries VALUES (zeroblob(16), 0, 0, 1, NULL, NULL, '[]')"),
    Damage(rule: .state, sql: "UPDATE setting_rows SET value = '\"light\"'"),
    Damage(rule: .unauthorised, sql: "UPDATE change_sets SET signature = zeroblob(64) WHERE number = 2"),
    Damage(rule: .unauthorised, sql: "UPDATE change_sets SET plan = x'a1006161' WHERE number = 2"),
    Damage(rule: .unauthorised, sql: "UPDATE change_sets SET field_values = x'8180' WHERE number = 2"),
    Damage(rule: .unauthorised, sql: "UPDATE change_sets SET field_values = x'' WHERE number = 2"),
    Damage(rule: .unauthorised, sql: "UPDATE change_sets SET log_bytes = log_bytes + 1 WHERE number = 2"),
    Damage(rule: .unauthorised, sql: "UPDATE branches SET incarnation = zeroblob(16)"),
    Damage(rule: .unauthorised, sql: "UPDATE change_sets SET clock = clock + 1 WHERE number = 2"),
    Damage(rule: .unauthorised, sql: "UPDATE change_sets SET operation = zeroblob(16) WHERE number = 2"),
    Damage(rule: .unauthorised, sql: "UPDATE change_sets SET id = zeroblob(32) WHERE number = 2"),
    Damage(
      rule: .unauthorised,
      sql: "UPDATE change_sets SET number = number + 1 WHERE number = (SELECT max(number) FROM change_sets)"),
    Damage(rule: .unauthorised, sql: "UPDATE branches SET lane = 1 - lane"),
    Damage(
      rule: .unauthorised,
      sql: "UPDATE statements SET bytes = zeroblob(80) WHERE id = (SELECT max(id) FROM statements)"),
    Damage(rule: .wentBack, sql: "DELETE FROM statements WHERE id = (SELECT max(id) FROM statements)"),
    Damage(
      rule: .revocation,
      sql: "UPDATE change_sets SET folded = 2 WHERE number = (SELECT max(number) FROM change_sets)"),
  ]

  /// A store with a conflict, a deletion that hid an edit and a child, an undo and a setting.
  private func world() throws -> JudgedWorld {
    let world = try JudgedWorld()
    try world.write(
      "alice", .records, insert(trip(1), [1: .text("Rome"), 3: .integer(5)]),
      insert(trip(2), [1: .text("Oslo")]))
    try world.write("alice", .settings, insert(setting(1), [1: .text("theme"), 2: .text("dark")]))
    try world.meet()
    try world.write("alice", .records, edit(trip(1), [1: .text("Roma")]))
    try world.write(
      "bob", .records, edit(trip(1), [1: .text("Rom")]), edit(trip(2), [1: .text("Oslo!")]),
      insert(
        lodging(3),
        [
          1: .bytes(trip(2).id.bytes), 2: .text("Casa"), 3: .array([.integer(9), .null]),
          4: .array([.integer(11), .null]), 5: .array([.text("12.50"), .text("EUR")]),
        ]))
    let sets = try world.write("alice", .records, delete(trip(2)))
    try world.meet()
    try world.write(
      "bob", .records, [edit(trip(1), [2: .text("note")])], verb: "undo", target: sets[0].header.operation)
    try world.meet()
    try world.healed()
    return world
  }

  @Test func `checking the whole store finds the damage`() throws {
    let world = try world()
    let alice = world["alice"]
    for damage in Self.damages {
      // The judge's own connection sees uncommitted changes.
      try alice.damage("BEGIN; \(damage.sql)")
      let violation = #expect(throws: Violation.self, "\(damage.testDescription)") {
        try world.judge.inspected("alice", wall: world.wall)
      }
      #expect(violation?.rule == damage.rule, "\(damage.testDescription): \(violation.map { "\($0)" } ?? "")")
      #expect(violation?.node == "alice", "\(damage.testDescription)")
      try alice.damage("ROLLBACK")
      try world.judge.inspected("alice", wall: world.wall)
    }
  }

  /// A store whose node misbehaves while it stores a set: a trigger damages what the step writes.
  @Test(arguments: [
    Damage(rule: .state, sql: "AFTER INSERT ON lodging_rows BEGIN DELETE FROM lodging_rows; END"),
    Damage(rule: .state, sql: "AFTER INSERT ON lodging_rows BEGIN UPDATE trip_rows SET name = 'x'; END"),
    Damage(
      rule: .unauthorised,
      sql:
        "AFTER INSERT ON change_sets BEGIN UPDATE change_sets SET signature = zeroblob(64) WHERE number = new.number; END"
    ),
    Damage(rule: .state, sql: "AFTER INSERT ON siblings BEGIN UPDATE trip_rows SET name = 'x'; END"),
    Damage(rule: .journal, sql: "AFTER INSERT ON siblings BEGIN DELETE FROM siblings; END"),
    Damage(rule: .journal, sql: "AFTER INSERT ON hidden_writes BEGIN DELETE FROM hidden_writes; END"),
    Damage(rule: .state, sql: "AFTER INSERT ON record_writes BEGIN DELETE FROM record_writes; END"),
  ])
  func `checking new rows finds the damage`(_ damage: Damage) throws {
    let world = try JudgedWorld()
    try world.write(
      "alice", .records, insert(trip(1), [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")]))
    try world.meet()
    try world["alice"].damage("CREATE TRIGGER damage \(damage.sql)")
    try world.write(
      "bob", .records, edit(trip(1), [1: .text("Rom")]),
      insert(lodging(3), [1: .bytes(trip(2).id.bytes), 2: .text("Casa")]))
    let violation = #expect(throws: Violation.self) {
      try world.write("alice", .records, edit(trip(1), [1: .text("Roma")]), delete(trip(2)))
      try world.sync("bob", to: "alice")
      try world.write("alice", .records, edit(trip(2), [2: .text("again")]))
    }
    #expect(violation?.rule == damage.rule, "\(violation.map { "\($0)" } ?? "")")
  }

  @Test func `an acknowledged write that is gone after a restart is found`() throws {
    let world = try world()
    try world.write("alice", .records, insert(trip(9), [1: .text("last")]))
    world.judge.stopped("alice")
    try world["alice"].damage(
      """
      DELETE FROM change_sets WHERE number = (SELECT max(number) FROM change_sets);
      DELETE FROM trip_rows WHERE name = 'last'; DELETE FROM digests WHERE lane = 1 AND bucket = 9;
      UPDATE child_counts SET live = live - 1 WHERE parent_kind = 0 AND kind = 1
      """)
    let violation = #expect(throws: Violation.self) { try world.start("alice") }
    #expect(violation?.rule == .lostWrite, "\(violation.map { "\($0)" } ?? "")")
  }

  @Test func `losses caused by a lying disk are not held against the node`() throws {
    let world = try world()
    try world.write("alice", .records, insert(trip(9), [1: .text("last")]))
    world.judge.mayHaveLost("alice")
    try world["alice"].damage(
      """
      DELETE FROM change_sets WHERE number = (SELECT max(number) FROM change_sets);
      DELETE FROM trip_rows WHERE name = 'last'; DELETE FROM digests WHERE lane = 1 AND bucket = 9;
      UPDATE child_counts SET live = live - 1 WHERE parent_kind = 0 AND kind = 1
      """)
    try world.start("alice")
  }
}
