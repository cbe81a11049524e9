import Exchange
import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// Mirror and assert on real devices: after a restore, and with a node that is killed.
@Suite(.serialized) struct MirrorAndAssertProcessTests {
  private func trips(_ device: Device) async throws -> Set<String> {
    Set(try await device.json("trip", "list")["trips"]?.array?.compactMap { $0["name"]?.string } ?? [])
  }

  private func expectEqual(_ one: Device, _ other: Device) async throws {
    try await eventually("\(one.name) and \(other.name) hold the same", seconds: 60) {
      try await one.status().digest("records") == other.status().digest("records")
    }
    #expect(try await one.status().counts == other.status().counts)
  }

  @Test func `a restored state wins over later changes of the peers`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    let file = stage.path("alice.waymark")
    try await alice.json("backup", file)
    try await alice.text("trip", "delete", "Rome")
    try await bob.text("trip", "add", "name=Oslo")
    try await bob.waitForSync(with: alice)
    try await alice.stop()
    try await alice.json("restore", "--yes", file)
    try await alice.text("sync", "off")
    let refused = try await alice.run(["assert", "--yes"])
    #expect(refused.code == 3, "\(refused.errors)")
    try await alice.start()
    try await alice.text("sync", "now")
    try await alice.wait(until: "bob is connected") { $0.peer("bob")?["state"] != "offline" }
    let question = try await alice.run(["assert"])
    #expect(question.code == 7, "\(question.errors)")
    #expect(question.errors.contains("1 trip deleted"), "\(question.errors)")
    let done = try await alice.json("assert", "--yes")
    #expect(done["turnsSyncOn"] == true)
    try await expectEqual(alice, bob)
    #expect(try await trips(bob) == ["Rome"])
    try await bob.text("undo", "--yes", String((done["operation"]?.string ?? "").prefix(8)))
    try await expectEqual(alice, bob)
    #expect(try await trips(alice) == ["Oslo"])
  }

  @Test(arguments: [50, 300, 900, 2_000])
  func `a node that is killed during a mirror completes it, or has not begun`(_ milliseconds: Int)
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await alice.text("sync", "off")
    try await bob.start()
    let file = try stage.write(SampleData.ritualist(seed: 23), "habits.json")
    try await bob.text("import", file, seconds: 60)
    for name in ["Rome", "Oslo"] { try await alice.text("trip", "add", "name=\(name)") }
    let command = try stage.start(
      .plain, ["--home", alice.home, "mirror", "--from", "bob", "--yes"],
      output: URL(filePath: stage.path("mirror.out")), errors: URL(filePath: stage.path("mirror.err")))
    try await Task.sleep(for: .milliseconds(milliseconds))
    #expect(try await alice.stop(SIGKILL) == -SIGKILL)
    _ = try await command.wait(seconds: 20, for: "the mirror")
    // All of it is there, or none.
    let held = try await trips(alice)
    #expect(held == [] || held == ["Rome", "Oslo"], "\(held)")
    let hasBegun = try await alice.status().preference == true
    try await alice.start()
    if hasBegun {
      try await alice.text("sync", "now")
      try await expectEqual(alice, bob)
      try await alice.wait(until: "no notice is left") { $0.document.otherNotices == [] }
      #expect(try await trips(alice) == [])
      #expect(try await alice.status().count("habitEntries") == 20_000)
    } else {
      #expect(try await trips(alice) == ["Rome", "Oslo"])
    }
    #expect(try await bob.status().count("habitEntries") == 20_000)
    #expect(try await trips(bob) == [])
  }
}
