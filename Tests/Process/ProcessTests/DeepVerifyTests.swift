import Foundation
import JSONDocument
import Testing
import Wire

/// `verify --deep` and `--repair`, as a user types them, with and without a running node.
@Suite(.serialized) struct DeepVerifyTests {
  @Test func `an intact store verifies as intact, while the node runs and afterwards`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    try await alice.text("trip", "edit", "Rome", "name=Roma")
    try await bob.text("trip", "add", "name=Oslo")
    try await bob.waitForSync(with: alice)
    for device in [alice, bob] {
      let running = try await device.json("verify", "--deep")
      #expect(running["ok"] == true, "\(running)")
      #expect(running["changeSets"]?.integer ?? 0 > 2)
      try await device.stop()
      #expect(try await device.json("verify", "--deep")["ok"] == true)
      #expect(!FileManager.default.fileExists(atPath: device.home + "/verifying"))
    }
  }

  /// The tablet writes a change that only the phone receives; the laptop revokes the tablet before it meets the
  /// phone.
  @Test func `a store is intact after a revocation that discards sets, and opens after a disk error`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["laptop", "phone", "tablet"], on: stage, isPremium: true)
    let (laptop, phone, tablet) = (circle["laptop"], circle["phone"], circle["tablet"])
    for device in [phone, tablet] { try await device.start() }
    try await tablet.text("trip", "add", "name=Rome")
    try await tablet.text("trip", "edit", "Rome", "name=Roma")
    for device in [phone, tablet] { try await device.waitForSync(with: laptop) }
    try await phone.waitForSync(with: tablet)
    try await laptop.stop()
    try await tablet.text("trip", "edit", "Roma", "name=Rom")
    try await phone.waitForSync(with: tablet)
    for device in [phone, tablet] { try await device.stop() }
    try await phone.text("trip", "edit", "Rom", "name=Ostia")
    try await laptop.text("trip", "add", "name=Napoli")
    try await laptop.text("revoke", "tablet", "--yes")
    for device in [laptop, phone] { try await device.start() }
    try await laptop.waitForSync(with: phone)
    let names = try await laptop.json("trip", "list")["trips"]?.array?.compactMap { $0["name"]?.string }
    #expect(Set(names ?? []) == ["Ostia", "Napoli"])
    for device in [laptop, phone] {
      #expect(try await device.json("verify", "--deep")["ok"] == true, "\(device.name)")
      try await device.stop()
      _ = FileManager.default.createFile(atPath: device.home + "/verify-first", contents: nil)
      try await device.start()
      #expect(!FileManager.default.fileExists(atPath: device.home + "/verify-first"))
      #expect(try await device.json("verify", "--deep")["ok"] == true, "\(device.name) after a restart")
    }
  }

  /// Changes bytes of the database file itself, as a failing disk would.
  private func flip(_ device: Device, _ text: String, to other: String) throws -> Int {
    let file = URL(filePath: device.home + "/store.db")
    var bytes = try Data(contentsOf: file)
    var count = 0
    var from = bytes.startIndex
    while let range = bytes.firstRange(of: Data(text.utf8), in: from..<bytes.endIndex) {
      bytes.replaceSubrange(range, with: Data(other.utf8))
      from = range.upperBound
      count += 1
    }
    let handle = try FileHandle(forWritingTo: file)
    try handle.write(contentsOf: bytes)
    try handle.close()
    return count
  }

  @Test func `damage on the disk is named, and an earlier backup restores everything`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    try await alice.text("trip", "add", "name=Rome-before-the-damage")
    let backup = stage.path("good.waymark")
    try await alice.text("backup", backup)
    let good = try await alice.status().digest("records")
    // In the change set and in the table.
    #expect(try flip(alice, "Rome-before-the-damage", to: "Rome-after-the-damage!") >= 2)
    let outcome = try await alice.run(["verify", "--deep"])
    #expect(outcome.code == 1)
    #expect(outcome.output.contains("has damaged values"))
    expectPlainWords(outcome.errors, ["waymark restore"], "verify --deep")
    // A signed change set is only repaired from a copy of it.
    let before = try Data(contentsOf: URL(filePath: alice.home + "/store.db"))
    #expect(try await alice.run(["verify", "--deep", "--repair"]).code == 1)
    #expect(try Data(contentsOf: URL(filePath: alice.home + "/store.db")) == before)
    try await alice.text("restore", "--yes", backup)
    #expect(try await alice.json("verify", "--deep")["ok"] == true)
    #expect(try await alice.status().digest("records") == good)
  }
}
