import Foundation
import JSONDocument
import Model
import SQLite
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import NodeRuntime
@testable import Waymark

/// Tables that no longer match the log, and their repair.
struct RepairTests {
  /// A node with a little of everything; returns its output as documents.
  private func node() async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa", "cost=12.50", "currency=EUR"))
    try await alice.run("habit.add", fields("name=Water"))
    try await alice.run("habit.edit", fields("name=Wasser", id: "Water"))
    try await alice.run("profile.set", fields("name=Alice"))
    try await alice.run("settings.set", ["key": "colorScheme", "value": "dark"])
    return alice
  }

  private func shown(_ perform: (String) async throws -> JSON) async throws -> [JSON] {
    var documents: [JSON] = []
    for command in ["trip.list", "lodging.list", "habit.list", "profile.show", "settings.list"] {
      documents.append(try await perform(command))
    }
    let status = try await perform("status")
    return documents + [status["lanes"] ?? .null, status["counts"] ?? .null]
  }

  static let damages = [
    "UPDATE trip_rows SET name = 'Milan'", "UPDATE trip_rows SET stamps = x'07'", "DELETE FROM habit_rows",
    "UPDATE digests SET sum = zeroblob(31) || x'01'", "UPDATE digests SET sum = x'00'",
    "UPDATE child_counts SET live = 9", "DELETE FROM trip_summaries", "DROP TABLE lodging_rows",
    "DROP VIEW trips; DROP TABLE siblings", "DROP TABLE text_index", "DELETE FROM text_index_config",
    "INSERT INTO undos VALUES (x'01', x'02', x'03')",
  ]

  @Test(arguments: damages)
  func `a damaged table is repaired from the log, after a backup`(_ sql: String) async throws {
    let alice = try await node()
    let home = alice.home
    let before = try await shown { try await alice.run($0) }
    await alice.close()
    do { try Connection(.file(home.store)).execute(sql) }
    let found = try await ControlClient.run("verify", ["deep": true], home: home)
    #expect(found["ok"] == false)
    #expect(found["next"] == "waymark verify --deep --repair")
    #expect(found["repaired"] == .null)
    let repaired = try await ControlClient.run("verify", ["deep": true, "repair": true], home: home)
    #expect(repaired["ok"] == true)
    #expect(repaired["repaired"] == true)
    #expect(repaired["found"] == found["found"])
    #expect(FileManager.default.fileExists(atPath: try #require(repaired["backup"]?.string)))
    #expect(try await shown { try await ControlClient.run($0, home: home) } == before)
  }

  /// A backup of the signed data, and its restore, repair a damaged index: a failed disk must not block them.
  @Test func `after a disk error a store with a damaged index can be backed up and restored`() async throws {
    let alice = try await node()
    let home = alice.home
    let before = try await shown { try await alice.run($0) }
    await alice.close()
    do {
      try Connection(.file(home.store)).execute(
        "DELETE FROM dependencies; UPDATE change_sets SET clock = 1 WHERE number = 2")
    }
    home.markSuspect()
    let refused = try #require(
      await #expect(throws: WaymarkError.self) {
        _ = try await ControlClient.run("trip.list", home: home)
      })
    #expect(refused.code == .storeDamaged)
    #expect(refused.next?.description == "waymark verify --deep --repair")
    let file = FileManager.default.temporaryDirectory.appending(path: "repair-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    _ = try await ControlClient.run("backup", ["file": .string(file)], home: home)
    try await RestoreOperation(home: home, request: RestoreOperation.Request(file: file, name: "alice"))
      .restore(
        isConfirmed: true)
    #expect(try await shown { try await ControlClient.run($0, home: home) } == before)
    #expect(!home.isSuspect)
  }

  @Test(arguments: [
    "UPDATE trip_rows SET name = 'Milan'", "UPDATE change_sets SET signature = zeroblob(64) WHERE number = 2",
  ])
  func `after a disk error no backup is made of damaged signed data`(_ sql: String) async throws {
    let alice = try await node()
    let home = alice.home
    await alice.close()
    do { try Connection(.file(home.store)).execute(sql) }
    home.markSuspect()
    let file = FileManager.default.temporaryDirectory.appending(path: "repair-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    let isWhole = sql.contains("trip_rows")
    do {
      _ = try await ControlClient.run("backup", ["file": .string(file)], home: home)
      #expect(isWhole)
    } catch let failure as WaymarkError {
      #expect(!isWhole && failure.code == .storeDamaged, "\(failure)")
    }
    #expect(FileManager.default.fileExists(atPath: file) == isWhole)
    #expect(home.isSuspect)
  }

  @Test func `a running node repairs itself and continues`() async throws {
    let alice = try await node()
    let before = try await shown { try await alice.run($0) }
    do { try Connection(.file(alice.home.store)).execute("UPDATE trip_rows SET name = 'Milan'") }
    #expect(try await alice.run("trip.list")["trips"]?[0]?["name"] == "Milan")
    let repaired = try await alice.run("verify", ["deep": true, "repair": true])
    #expect(repaired["ok"] == true)
    #expect(repaired["findings"]?[0]?["name"] == "Rome")
    #expect(repaired["findings"]?[0]?["fields"] == ["name"])
    #expect(try await shown { try await alice.run($0) } == before)
    try await alice.run("trip.add", fields("name=Oslo"))
    #expect(try await alice.run("verify", ["deep": true])["ok"] == true)
  }

  @Test func `what an open store can't read is reported as unreadable, with the next step`() async throws {
    let alice = try await node()
    do { try Connection(.file(alice.home.store)).execute("UPDATE trip_rows SET stamps = x'07'") }
    let attempts: [@Sendable (Node) async throws -> Void] = [
      { _ = try await $0.records(Trip.all) },
      { _ = try await $0.run("trip.list") },
    ]
    for attempt in attempts {
      let failure = try #require(await #expect(throws: WaymarkError.self) { try await attempt(alice.node) })
      #expect(failure.reason == .store && failure.next?.description == "waymark verify --deep")
      #expect(failure.message.description.hasPrefix("The store in \(alice.home.path) can't be read: "))
    }
  }

  @Test(arguments: [
    ("UPDATE change_sets SET signature = zeroblob(64) WHERE number = 2", "change set 2 has an invalid"),
    ("UPDATE change_sets SET plan = plan || x'00' WHERE number = 2", "change set 2 has an invalid"),
    ("UPDATE change_sets SET field_values = x'00' WHERE number = 2", "change set 2 has damaged values"),
    ("UPDATE change_sets SET header = substr(header, 1, 20) WHERE number = 2", "change set 2 has an invalid"),
    ("DELETE FROM change_sets WHERE number = 2", "change set 2 is missing"),
    ("DELETE FROM change_sets WHERE number = 6", "refers to missing change set 6"),
    ("UPDATE statements SET bytes = zeroblob(90)", "has an invalid signature"),
    ("UPDATE statements SET id = zeroblob(32)", "is stored under the id of another statement"),
    ("DELETE FROM statements", "do not belong to one circle"), ("DROP TABLE change_sets", "no such table"),
  ])
  func `damage to signed data is named, and nothing is repaired from it`(
    _ sql: String, _ saying: String
  ) async throws {
    let alice = try await node()
    let home = alice.home
    await alice.close()
    do { try Connection(.file(home.store)).execute(sql) }
    let found = try await ControlClient.run("verify", ["deep": true, "repair": true], home: home)
    #expect(found["ok"] == false)
    #expect(found["next"]?.string?.contains("waymark restore") == true)
    #expect(found["repaired"] == .null)
    #expect(found["backup"] == .null)
    let texts = found["findings"]?.array?.compactMap { $0["text"]?.string } ?? []
    #expect(texts.contains { $0.contains(saying) }, "\(texts)")
  }

  @Test func `a store that can't be opened because of a damaged index is restored from its signed data`()
    async throws
  {
    let alice = try await node()
    let home = alice.home
    let before = try await shown { try await alice.run($0) }
    await alice.close()
    do { try Connection(.file(home.store)).execute("UPDATE branches SET lane = 9") }
    func perform(_ arguments: JSON) async throws -> JSON {
      try await ControlClient.run("verify", arguments, home: home)
    }
    await #expect(throws: WaymarkError.self) {
      try await ControlClient.run("trip.list", home: home)
    }
    #expect(try await perform(["deep": true])["next"] == "waymark verify --deep --repair")
    let repaired = try await perform(["deep": true, "repair": true])
    let kept = try #require(repaired["backup"]?.string) + "/store.waymark"
    #expect(repaired["next"]?.string?.hasPrefix("waymark restore \(kept), the newest backup here") == true)
    let request = RestoreOperation.Request(file: kept, name: "alice")
    try await RestoreOperation(home: home, request: request, wall: { TestNode.morning }).restore(
      isConfirmed: true)
    #expect(try await shown { try await ControlClient.run($0, home: home) } == before)
  }

  @Test func `only the newest ten automatic backups are kept`() async throws {
    let alice = try await TestNode.founder("alice")
    for _ in 0..<12 { _ = try await alice.node.withCore { try await $0.backUp(before: "mirror") } }
    let names = try FileManager.default.contentsOfDirectory(atPath: alice.home.backups)
    #expect(names.count == 10)
    #expect(names.allSatisfy { $0.hasPrefix("before-mirror-20260503T080000Z") && $0.hasSuffix(".waymark") })
  }
}
