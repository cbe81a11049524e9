import Foundation
import JSONDocument
import Testing
import Wire

/// One altered bit in one old change set, in a circle of three: nothing else is lost, and a peer sends the set again.
@Suite(.serialized) struct DamageTests {
  private func trips(_ device: Device) async throws -> Set<String> {
    let list = try await device.json("trip", "list")["trips"]?.array ?? []
    return Set(list.compactMap { $0["name"]?.string })
  }

  /// Alters the values of the change set that created a trip.
  private func flip(_ name: String, on device: Device) async throws {
    try await device.sql(
      """
      UPDATE change_sets
      SET field_values = CAST(substr(field_values, 1, length(field_values) - 1) || x'a7' AS BLOB)
      WHERE instr(field_values, CAST('\(name)' AS BLOB)) > 0
      """)
  }

  private func notice(_ device: Device) async throws -> JSON? {
    try await device.status().document["notices"]?.array?.first { $0["reason"] == "damaged_set" }
  }

  @Test func `after a bit flip, a revocation elsewhere and a restart only the altered set is lost`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob", "carol"], on: stage, isPremium: true)
    let (alice, bob, carol) = (circle["alice"], circle["bob"], circle["carol"])
    try await bob.start()
    try await carol.start()
    try await alice.text("trip", "add", "name=First-of-Alice")
    try await bob.text("trip", "add", "name=Trip-of-Bob")
    try await alice.text("trip", "add", "name=Last-of-Alice")
    func all(_ devices: [Device], have count: Int) async throws {
      try await eventually("all have \(count) trips") {
        for device in devices where try await trips(device).count != count { return false }
        return true
      }
    }
    try await all([alice, bob, carol], have: 3)
    // The revocation cuts what Alice does not hold of Bob's log, so that Carol has to rebuild her logs.
    try await alice.stop()
    try await bob.text("trip", "add", "name=Late-of-Bob")
    try await all([bob, carol], have: 4)
    try await carol.stop()
    try await bob.stop()
    try await flip("First-of-Alice", on: carol)
    try await alice.start()
    try await alice.text("revoke", "bob", "--yes")
    // Carol receives the revocation, rebuilds her logs and finds the altered set.
    try await carol.start()
    try await eventually("carol has everything") {
      guard try await notice(carol) == nil else { return false }
      return try await trips(carol) == ["First-of-Alice", "Trip-of-Bob", "Last-of-Alice"]
    }
    #expect(carol.log.contains("damaged"))
    #expect(try await carol.status().digest("records") == alice.status().digest("records"))
    try await carol.stop()
    try await carol.start()
    try await carol.waitForSync(with: alice)
    #expect(try await carol.json("verify", "--deep")["ok"] == true)
  }

  @Test
  func `without a peer the altered set is named, backups need a yes, and a partial restore keeps the rest`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    for name in ["Rome-trip", "Oslo-trip", "Bern-trip"] {
      try await alice.text("trip", "add", "name=\(name)")
    }
    try await flip("Oslo-trip", on: alice)
    // Tables of another version are rebuilt without it.
    try await alice.sql("UPDATE meta SET value = 'another version' WHERE key = 'derived'")
    #expect(try await trips(alice) == ["Rome-trip", "Bern-trip"])
    let said = try #require(try await notice(alice))
    #expect(said["text"]?.string?.contains("damaged on disk (records 2 of alice)") == true, "\(said)")
    #expect(said["next"]?.string?.withoutHome.contains("waymark restore FILE") == true)
    let file = stage.path("alice.waymark")
    let refused = try await alice.run(["backup", file])
    #expect(refused.code == 7)
    expectPlainWords(refused.errors, ["records 2 of alice", "backup --yes"], "backup")
    #expect(!FileManager.default.fileExists(atPath: file))
    try await alice.text("backup", "--yes", file)
    let whole = try await alice.run(["restore", "--yes", file])
    #expect(whole.code == 1)
    expectPlainWords(whole.errors, ["restore --partial"], "restore")
    let restored = try await alice.json("restore", "--partial", "--yes", file)
    #expect(restored["missing"] == 1)
    #expect(try await trips(alice) == ["Rome-trip", "Bern-trip"])
    try await alice.text("trip", "add", "name=Turin-trip")
    #expect(try await notice(alice) != nil)
  }

  @Test(arguments: ["garbage", "truncated", "empty"])
  func `for a store file that can't be read every command points to the newest backup`(_ harm: String)
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    try await alice.text("trip", "add", "name=Rome")
    try FileManager.default.createDirectory(
      atPath: alice.home + "/backups", withIntermediateDirectories: true)
    let file = alice.home + "/backups/kept.waymark"
    try await alice.text("backup", file)
    let store = URL(filePath: alice.home + "/store.db")
    let bytes = try Data(contentsOf: store)
    let left =
      switch harm {
      case "garbage": Data("hello\n".utf8)
      case "truncated": bytes.prefix(30_000)
      default: Data()
      }
    let handle = try FileHandle(forWritingTo: store)
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: left)
    try handle.close()
    for words in [
      ["trip", "list"], ["status"], ["verify", "--deep"], ["verify", "--deep", "--repair"], ["doctor"],
    ] {
      let outcome = try await alice.run(words)
      #expect(outcome.code != 0, "\(words)")
      // Lines are wrapped.
      let said = (outcome.output + outcome.errors).split(whereSeparator: \.isWhitespace).joined(
        separator: " ")
      #expect(said.contains("restore \(file)") || said.contains("restore '\(file)'"), "\(words): \(said)")
      #expect(said.contains("0 minutes old"), "\(words): \(said)")
    }
    try await alice.text("restore", "--yes", file)
    #expect(try await trips(alice) == ["Rome"])
  }
}
