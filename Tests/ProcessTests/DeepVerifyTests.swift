import Foundation
import Testing
import Wire

/// `verify --deep` and `--repair`, as a person types them, with a node that runs and without.
@Suite(.serialized) struct DeepVerifyTests {
  @Test func `a store that is whole is said to be, while the node runs and after`() async throws {
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

  @Test func `damage on the disk is named, and a backup from before brings all back`() async throws {
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
    #expect(outcome.output.contains("signature does not hold"))
    expectPlainWords(outcome.errors, ["waymark restore"], "verify --deep")
    // What is signed is not mended from anything but a copy of it.
    let before = try Data(contentsOf: URL(filePath: alice.home + "/store.db"))
    #expect(try await alice.run(["verify", "--deep", "--repair"]).code == 1)
    #expect(try Data(contentsOf: URL(filePath: alice.home + "/store.db")) == before)
    try await alice.text("restore", "--yes", backup)
    #expect(try await alice.json("verify", "--deep")["ok"] == true)
    #expect(try await alice.status().digest("records") == good)
  }
}
