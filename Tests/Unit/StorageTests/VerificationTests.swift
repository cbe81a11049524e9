import Foundation
import Records
import Replication
import SQLite
import Testing
import Vectors
import Wire

@testable import Storage
@testable import Verification

/// The tables of a store, compared with a replay of its log.
@Suite struct VerificationTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "verify-\(UUID().uuidString)")

  /// The findings of a comparison of a device's tables with a replay of its log.
  private func compare(_ device: Device) throws -> [DeepFinding] {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let parked = Set(try device.store.parkedIDs())
    let rows = device.known.enumerated().map { index, set in
      LogReplay.Row(number: Int64(index) + 1, isFolded: !parked.contains(set.id), set: set)
    }
    var report = DeepReport()
    var replay = LogReplay(into: try Store.scratch(path: folder.path + "/store.db"))
    try replay.begin { _ in nil }
    for row in rows { try replay.append([row], &report) }
    try replay.finish(&report)
    try TableComparison(device.store.connection, replay.store, setCount: Int64(rows.count))
      .run(&report)
    return report.findings
  }

  /// Whatever three devices do, in whatever order they learn of it: the tables that each updates batch by batch equal
  /// a single fold of the whole log.
  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
  func `unmodified stores are found to be intact`(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let devices = try ["alice", "bob", "carol"].map { try Device($0) }
    var wall: Moment = 1_000
    for _ in 0..<120 {
      let device = devices[random.below(3)]
      wall += 10
      if random.below(10) < 7 {
        // One set in fifteen is ahead of its time: the others park it. A device never parks its own.
        let time = random.below(15) == 0 ? wall + 400 : wall
        try device.receive(
          try device.draft(at: time, [Self.draft(wall, using: &random)]), horizon: Clock(raw: .max))
      } else {
        try device.receive(devices[random.below(3)].known, horizon: Clock(milliseconds: wall + 100))
      }
      if random.below(4) == 0 { _ = try device.store.foldParked(horizon: Clock(milliseconds: wall + 100)) }
    }
    for device in devices {
      let findings = try compare(device)
      #expect(findings.isEmpty, "seed \(seed), \(device.name): \(findings)")
    }
    for device in devices { _ = try device.store.foldParked(horizon: Clock(raw: .max)) }
    for device in devices {
      let findings = try compare(device)
      #expect(findings.isEmpty, "seed \(seed), \(device.name) at last: \(findings)")
    }
  }

  private static func draft(_ wall: Moment, using random: inout SeededRandom) -> EntryDraft {
    let number = UInt64(1 + random.below(6))
    let text = Value.text("at \(wall)")
    switch random.below(11) {
    case 0: return insert(trip(number), [1: text])
    case 1: return edit(trip(number), [1: text, 800: .integer(wall)])
    case 2: return delete(trip(number))
    case 3: return restore(trip(number))
    case 4: return lodging(number, of: trip(UInt64(1 + random.below(6))), [2: text])
    case 5: return edit(lodging(number), [2: text])
    case 6: return delete(lodging(number))
    case 7: return insert(habit(number), [1: text])
    case 8: return erase(trip(number))
    case 9: return erase(random.below(3) == 0 ? FixedRecords.profile : lodging(number))
    default: return edit(FixedRecords.profile, [1: .integer(wall), 2: text])
    }
  }

  /// One manual change to a table, and the expected finding.
  struct Damage: CustomTestStringConvertible, Sendable {
    let sql: String
    let location: DeepFinding.Location
    let saying: String
    var isNamed = true

    var testDescription: String { sql }
  }

  static let damages = [
    Damage(sql: "UPDATE trip_rows SET name = 'Milan'", location: .records, saying: "differs from the log"),
    Damage(sql: "UPDATE trip_rows SET life = 0", location: .records, saying: "differs from the log"),
    Damage(sql: "UPDATE trip_rows SET extra = x'a0'", location: .records, saying: "differs from the log"),
    Damage(
      sql: "UPDATE trip_rows SET stamps = (SELECT stamps FROM lodging_rows)", location: .records,
      saying: "differs from the log"),
    Damage(sql: "UPDATE trip_rows SET stamps = x''", location: .records, saying: "differs from the log"),
    Damage(sql: "DELETE FROM trip_rows", location: .records, saying: "is in the log but not in its table"),
    Damage(
      sql: "INSERT INTO habit_rows(id, life, stamps, name) VALUES (zeroblob(16), 1, x'0103', 'Ghost')",
      location: .records, saying: "is in its table but not in the log"),
    Damage(sql: "DELETE FROM siblings", location: .records, saying: "is in the log but not in its table"),
    Damage(sql: "UPDATE siblings SET content = x'f6'", location: .records, saying: "differs from the log"),
    Damage(
      sql: "UPDATE digests SET sum = zeroblob(31) || x'01'", location: .records, saying: "digest bucket",
      isNamed: false),
    Damage(
      sql: "UPDATE child_counts SET live = 7", location: .records, saying: "a child count", isNamed: false),
    Damage(
      sql: "UPDATE trip_summaries SET lodgings = 7", location: .records, saying: "the summary of a trip"),
    Damage(sql: "DELETE FROM trip_summaries", location: .records, saying: "the summary of a trip"),
    Damage(
      sql: "DELETE FROM record_writes", location: .records, saying: "is in the log but not in its table"),
    Damage(
      sql: "UPDATE text_documents SET kind = 900 WHERE kind = 1", location: .records,
      saying: "is not in the text index as it should be"),
    Damage(
      sql: "INSERT INTO text_index(rowid, text) VALUES (2, 'xyz')", location: .records,
      saying: "is not in the text index as it should be"),
    Damage(
      sql: """
        INSERT INTO text_documents(number, kind, id) VALUES (9, 1, zeroblob(16)); \
        INSERT INTO text_index(rowid, text) VALUES (9, 'ghost')
        """, location: .records, saying: "is not in the text index as it should be"),
    Damage(
      sql: "INSERT INTO text_index(text_index) VALUES ('delete-all')", location: .records,
      saying: "is not in the text index as it should be"),
    Damage(
      sql: "DELETE FROM text_documents", location: .records, saying: "the text index is damaged",
      isNamed: false),
    Damage(sql: "DROP VIEW trips", location: .records, saying: "the view trips is missing", isNamed: false),
    Damage(
      sql: "DROP INDEX lodging_rows_by_parent", location: .records,
      saying: "lodging_rows_by_parent is missing",
      isNamed: false),
    Damage(
      sql: "UPDATE change_sets SET clock = clock + 1 WHERE number = 1", location: .index,
      saying: "the index entry of change set 1 differs", isNamed: false),
    Damage(
      sql: "UPDATE change_sets SET operation = zeroblob(16) WHERE number = 1", location: .index,
      saying: "the index entry of change set 1 differs", isNamed: false),
    Damage(
      sql: "UPDATE change_sets SET log_bytes = log_bytes + 1 WHERE number = 1", location: .index,
      saying: "the index entry of change set 1 differs", isNamed: false),
    Damage(
      sql: "UPDATE branches SET device = zeroblob(32) WHERE branch = 1", location: .index,
      saying: "log 1 differs",
      isNamed: false),
    Damage(sql: "DELETE FROM dependencies", location: .index, saying: "a dependency of log", isNamed: false),
    Damage(
      sql: "DROP INDEX change_sets_by_branch", location: .index, saying: "change_sets_by_branch is missing",
      isNamed: false),
  ]

  @Test(arguments: damages)
  func `damage to a table is named`(_ damage: Damage) throws {
    let (alice, bob) = (try Device("alice"), try Device("bob"))
    try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]), lodging(1, of: trip(1)))
    try bob.sync(from: alice)
    try alice.write(at: 20, edit(trip(1), [1: .text("Roma")]))
    try bob.write(at: 30, edit(trip(1), [1: .text("Rom")]))
    try alice.sync(from: bob)
    try alice.write(at: 40, insert(habit(1), [1: .text("Water")]))
    #expect(try compare(alice) == [])
    try alice.store.connection.execute(damage.sql)
    let findings = try compare(alice)
    let found = try #require(findings.first { $0.text.contains(damage.saying) }, "\(findings)")
    #expect(found.location == damage.location)
    #expect((found.record != nil) == damage.isNamed)
  }

  @Test func `a differing field is named with its record`() throws {
    let alice = try Device("alice")
    try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]))
    try alice.store.connection.execute("UPDATE trip_rows SET name = 'Milan'")
    let finding = try #require(try compare(alice).first)
    #expect(finding.record == trip(1))
    #expect(finding.title == "Rome")
    #expect(finding.fields == ["name"])
  }

  /// A row that refers to a missing set must not be repaired away: it may be all that is left of the set.
  @Test(arguments: [true, false])
  func `writes of a lost change set are not reported as damage to the table`(_ isEdit: Bool) throws {
    let alice = try Device("alice")
    try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]))
    try alice.write(at: 20, isEdit ? edit(trip(1), [1: .text("Roma")]) : insert(trip(2), [1: .text("Oslo")]))
    let whole = Array(alice.known.dropLast())
    let bob = try Device("bob")
    try bob.receive(whole)
    var report = DeepReport()
    try TableComparison(alice.store.connection, bob.store, setCount: 1).run(&report)
    #expect(
      report.findings.contains { $0.location == .log && $0.text == "refers to missing change set 2" })
  }
}

extension Store {
  /// The parked sets.
  fileprivate func parkedIDs() throws -> [ChangeSetID] {
    try connection.with("SELECT id FROM change_sets WHERE folded = 0") { row in
      var ids: [ChangeSetID] = []
      while try row.step() { if let id = ChangeSetID(bytes: row.bytes(0)) { ids.append(id) } }
      return ids
    }
  }
}
