import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// Joins that are interrupted, repeated, or made by a device that is already a member.
@Suite(.serialized) struct JoinTests {
  private func members(_ device: Device) async throws -> [JSON] {
    try await device.json("members")["members"]?.array ?? []
  }

  @Test func `a join that is killed at any moment ends as one member when it is repeated`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let alice = circle.founder
    let clock = ContinuousClock()
    let first = Device("first", on: stage)
    let ticket = try await alice.text("invite")
    let whole = try await clock.measure {
      try await first.text("join", "-", "--name", "first", input: ticket)
    }
    var devices = [first]
    let moments = 24
    for moment in 0..<moments {
      let device = Device("device-\(moment)", on: stage)
      // Some have a circle and data of their own, some repeat the join with another ticket.
      let (hasData, hasOtherTicket) = (moment % 4 == 3, moment % 3 == 2)
      if hasData {
        try await device.text("init", "--name", "old")
        try await device.text("trip", "add", "name=Rome")
      }
      let ticket = try await alice.text("invite")
      let arguments = ["join", "-", "--name", device.name] + (hasData ? ["--yes"] : [])
      let (child, _, _) = try device.begin(arguments, input: ticket)
      try await Task.sleep(for: whole * moment / (moments - 2))
      child.signal(moment % 2 == 0 ? SIGKILL : SIGINT)
      _ = try await child.wait(seconds: 10, for: "the interrupted join")
      // For a device that has already joined, a yes would add another member.
      let hasJoined =
        try await device.run(["status", "--json"]).json["circle"]?.string == alice.status().circle
      let next = hasOtherTicket && !hasJoined ? try await alice.text("invite") : ticket
      let again = try await device.run(arguments, input: next)
      #expect(again.code == 0, "moment \(moment): \(again.errors)")
      if hasData {
        let trips = try await device.json("trip", "list")["trips"]?.array ?? []
        #expect(trips.compactMap { $0["name"]?.string } == ["Rome"])
      }
      devices.append(device)
    }
    var joined: Set<String> = [try await alice.status().device]
    for device in devices { joined.insert(try await device.status().device) }
    #expect(joined.count == devices.count + 1)
    #expect(Set(try await members(alice).compactMap { $0["device"]?.string }) == joined)
    for device in devices { #expect(!FileManager.default.fileExists(atPath: device.home + "/join-pending")) }
  }

  @Test func `an invitation that waits at the terminal and a joiner that is killed leave no unused member`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let (alice, bob) = (circle.founder, Device("bob", on: stage))
    try await alice.stop()
    let attempts = 10
    for attempt in 0..<attempts {
      let (inviter, output, _) = try alice.begin(["invite"])
      var ticket = ""
      try await eventually("the ticket is printed") {
        ticket = try String(contentsOf: output, encoding: .utf8)
        return ticket.hasSuffix("\n")
      }
      let arguments = ["join", "-", "--name", "bob"]
      if attempt == attempts - 1 {
        let done = try await bob.run(arguments, input: ticket)
        #expect(done.code == 0, "\(done.errors)")
      } else {
        let (child, _, _) = try bob.begin(arguments, input: ticket)
        try await eventually("the ticket is stored, or the join has ended") {
          FileManager.default.fileExists(atPath: bob.home + "/join-pending/ticket") || child.code != nil
        }
        try await Task.sleep(for: .milliseconds(8 * attempt))
        child.signal(SIGKILL)
        _ = try await child.wait(seconds: 10, for: "the interrupted join")
        if try await bob.run(["status"]).code == 0 { break }
      }
      inviter.signal(SIGINT)
      _ = try await inviter.wait(seconds: 10, for: "the inviter")
    }
    let device = try await bob.status().device
    #expect(try await members(alice).compactMap { $0["device"]?.string }.filter { $0 == device }.count == 1)
    #expect(try await members(alice).count == 2)
  }

  @Test func `a member that joins again is told so, and becomes another member only after a yes`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let (alice, bob, carol) = (circle.founder, Device("bob", on: stage), Device("carol", on: stage))
    let first = try await alice.text("invite")
    try await bob.text("join", "-", "--name", "bob", input: first)
    let before = try await bob.status()

    let same = try await bob.run(["join", "-", "--yes"], input: first)
    #expect(same.code == 0)
    expectPlainWords(same.errors, ["(bob)", "nothing was changed"], "join")

    let ticket = try await alice.text("invite")
    let asked = try await bob.run(["join", "-"], input: ticket)
    #expect(asked.code == 7)
    expectPlainWords(asked.errors, ["This device (bob) is already in this circle", "--yes"], "join")
    #expect(try await bob.status().device == before.device)
    #expect(try await members(alice).count == 2)
    // The question has not used up the ticket, and a yes makes another member of the same device.
    let other = try await alice.text("invite")
    let dave = Device("dave", on: stage)
    try await dave.text("join", "-", "--name", "dave", input: other)
    let third = try await alice.text("invite")
    let again = try await dave.run(["join", "-", "--name", "dave", "--yes"], input: third)
    #expect(again.code == 0)
    expectPlainWords(again.errors, ["“dave 2”", "“dave” is still in the circle", "waymark revoke"], "join")
    try await carol.text("join", "-", "--name", "bob", input: ticket)
    #expect(try await carol.status().document["name"] == "bob 2")

    try await alice.stop()
    let alone = try await bob.run(["join", "-"], input: try await later(alice))
    #expect(alone.code == 7, "\(alone.errors)")
    #expect(try await bob.status().device == before.device)
  }

  /// A ticket whose inviter has stopped.
  private func later(_ device: Device) async throws -> String {
    try await device.start()
    let ticket = try await device.text("invite")
    try await device.stop()
    return ticket
  }

  @Test func `a device that was revoked without knowing it is admitted again with new keys`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: false)
    let (alice, bob) = (circle.founder, circle["bob"])
    let before = try await bob.status()
    try await alice.text("revoke", "bob", "--yes")
    let ticket = try await alice.text("invite")
    try await bob.start()
    let running = try await bob.run(["join", "-"], input: ticket)
    #expect(running.code == 11)
    expectPlainWords(running.errors, ["its node is running", "nothing was done"], "join")
    try await bob.stop()
    // Without a given name it keeps its old one.
    try await bob.text("join", "-", input: ticket)
    let after = try await bob.status()
    #expect(after.device != before.device)
    #expect(after.document["name"] == "bob")
  }

  @Test func `join without a ticket continues an interrupted join, or says what to type`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let (alice, bob) = (circle.founder, Device("bob", on: stage))
    let none = try await bob.run(["join"])
    #expect(none.code == 2)
    expectPlainWords(none.errors, ["needs a ticket", "waymark invite"], "join")
    let ticket = try await alice.text("invite")
    let node = try #require(alice.nodeID)
    kill(node, SIGSTOP)
    let (child, _, _) = try bob.begin(["join", "-", "--name", "bob"], input: ticket)
    try await eventually("the ticket is stored") {
      FileManager.default.fileExists(atPath: bob.home + "/join-pending/ticket")
    }
    child.signal(SIGKILL)
    _ = try await child.wait(seconds: 10, for: "the interrupted join")
    kill(node, SIGCONT)
    let continued = try await bob.run(["join", "--name", "bob"])
    #expect(continued.code == 0, "\(continued.errors)")
    expectPlainWords(continued.errors, ["Continuing the interrupted join"], "join")
    #expect(try await members(alice).count == 2)
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/cmdline")))
  func `a ticket on the command line is overwritten at once`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let (alice, bob) = (circle.founder, Device("bob", on: stage))
    let ticket = try await alice.text("invite")
    let node = try #require(alice.nodeID)
    kill(node, SIGSTOP)
    let (child, _, errors) = try bob.begin(["join", ticket, "--name", "bob"])
    try await eventually("the join waits for its answer") {
      FileManager.default.fileExists(atPath: bob.home + "/join-pending/ticket")
    }
    let line = try Data(contentsOf: URL(filePath: "/proc/\(child.id)/cmdline"))
    #expect(line.range(of: Data("--name".utf8)) != nil)
    #expect(line.range(of: Data("waymark1".utf8)) == nil)
    kill(node, SIGCONT)
    let code = try await child.wait(seconds: 30, for: "the join")
    let said = try String(contentsOf: errors, encoding: .utf8)
    #expect(code == 0, "\(said)")
  }
}
