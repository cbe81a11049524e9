import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// A clock that ran ahead, with real processes.
@Suite(.serialized) struct RestampTests {
  private static let month = 30 * 86_400

  @Test
  func `restamp on a lone device corrects dates years ahead, and new devices accept the changes at once`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    try await alice.text("settings", "set", "colorScheme", "system")
    alice.clockAhead = 36 * Self.month
    try await alice.text("settings", "set", "colorScheme", "light")
    try await alice.text("settings", "set", "colorScheme", "dark")
    try await alice.text("trip", "add", "name=Rome")
    alice.clockAhead = 0
    let preview = try await alice.json("restamp", "--preview")
    #expect(preview["changeSets"] == 3)
    #expect(try await alice.run(["restamp"]).code == 7)
    #expect(try await alice.json("restamp", "--yes")["changeSets"] == 3)
    #expect(try await alice.text("settings", "get", "colorScheme") == "dark")
    #expect(try await alice.json("restamp", "--preview")["changeSets"] == 0)
    try await alice.text("verify", "--deep")
    try await alice.start()
    let bob = Device("bob", on: stage)
    try await bob.join(alice)
    try await bob.start()
    try await bob.waitForSync(with: alice)
    #expect(try await bob.text("settings", "get", "colorScheme") == "dark")
    #expect(try await bob.status().parked("settings") == 0)
  }

  @Test func `peers that hold parked sets drop them and accept the restamped ones`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await bob.start()
    try await alice.text("trip", "add", "name=Rome")
    try await bob.waitForSync(with: alice)
    try await alice.stop()
    alice.clockAhead = Self.month
    try await alice.start()
    try await alice.text("trip", "edit", "Rome", "name=Roma")
    try await alice.text("trip", "add", "name=Oslo")
    try await alice.text("settings", "set", "colorScheme", "dark")
    try await bob.wait(until: "Alice's changes dated ahead are parked") {
      $0.parked("records") == 2 && $0.parked("settings") == 1
    }
    #expect(try await bob.status().notices("peer_clock_ahead").count == 1)
    #expect(try await bob.status().count("trips") == 1)
    try await alice.stop()
    alice.clockAhead = 0
    try await alice.start()
    let status = try await alice.wait(until: "Bob's clock shows that hers ran ahead") {
      !$0.notices("clock_ahead").isEmpty && $0.peer("bob")?["clockSkewMilliseconds"]?.isNull == false
    }
    #expect(status.notices("clock_ahead").first?["next"]?.string?.withoutHome == "waymark restamp")
    try await alice.text("restamp", "--yes")
    try await bob.wait(until: "he has everything") {
      $0.count("trips") == 2 && $0.parked("records") == 0 && $0.parked("settings") == 0
    }
    try await bob.waitForSync(with: alice)
    for device in [alice, bob] {
      #expect(try await device.status().document.otherNotices == [])
      #expect(try await device.text("settings", "get", "colorScheme") == "dark")
    }
    #expect(try await alice.status().everything == bob.status().everything)
  }

  @Test func `a kill at any moment leaves all of a restamp or none`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    try await alice.text("trip", "add", "name=Rome")
    alice.clockAhead = Self.month
    for index in 1...4 { try await alice.text("trip", "add", "name=\(index)") }
    alice.clockAhead = 0
    let before = try await alice.status()
    for delay in [40, 80, 120, 160, 200, 260, 340, 450] {
      let (child, _, _) = try alice.begin(["restamp", "--yes"])
      try await Task.sleep(for: .milliseconds(delay))
      child.signal(SIGKILL)
      _ = try await child.wait(seconds: 20, for: "the killed command")
      let left = try await alice.json("restamp", "--preview")["changeSets"]?.integer ?? -1
      #expect([0, 4].contains(left))
      #expect(try await alice.status().counts == before.counts)
    }
    try await alice.text("restamp", "--yes")
    #expect(try await alice.status().counts == before.counts)
    #expect(try await alice.status().notices("clock_ahead").isEmpty)
    try await alice.text("verify", "--deep")
  }
}
