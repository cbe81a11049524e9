import Exchange
import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// Joining: invalid tickets, and devices that bring data of their own.
@Suite(.serialized) struct TicketTests {
  @Test func `an invalid ticket gets an error with the reason, and leaves nothing behind`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: false)
    let (alice, carol) = (circle["alice"], Device("carol", on: stage))
    let ticket = try await alice.text("invite")
    var damaged = Array(ticket)
    damaged[ticket.count / 2] = damaged[ticket.count / 2] == "a" ? "b" : "a"
    for (input, wanted) in [
      ("nonsense\n", "not a Waymark ticket"), (String(damaged), "damaged"),
      (String(ticket.dropLast(5)), "damaged"), ("", "no ticket"),
    ] { try await expectNoEntry(carol, input, code: 2, wanted) }

    let short = try await alice.text("invite", "--expires", "1s")
    try await Task.sleep(for: .milliseconds(1_200))
    try await expectNoEntry(carol, short, code: 1, "has expired")

    try await carol.text("join", "-", "--name", "carol", input: ticket)
    try await expectNoEntry(Device("dave", on: stage), ticket, code: 1, "used")
    let members = try await alice.json("members")["members"]?.array ?? []
    #expect(Set(members.map { $0["name"]?.string }) == ["alice", "bob", "carol"])

    let later = try await alice.text("invite")
    try await alice.stop()
    try await expectNoEntry(Device("dave", on: stage), later, code: 1, "can't be reached")
    // Another device now listens at the address in the ticket.
    let eve = Device("eve", on: stage)
    try await eve.text("init", "--name", "eve")
    let other = try stage.start(
      .plain, ["--home", eve.home, "run", "--listen", alice.address],
      output: URL(filePath: stage.path("eve-ready")), errors: URL(filePath: stage.path("eve-log")))
    try await eventually("Eve listens at Alice's address") {
      try String(contentsOfFile: stage.path("eve-ready"), encoding: .utf8).hasSuffix("\n")
        || other.code != nil
    }
    try await expectNoEntry(Device("dave", on: stage), later, code: 1, "waymark invite")
    #expect(try await eve.json("members")["members"]?.array?.count == 1)
  }

  private func expectNoEntry(
    _ device: Device, _ ticket: String, code: Int32, _ wanted: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let outcome = try await device.run(["join", "-", "--name", device.name], input: ticket)
    #expect(outcome.code == code, "\(outcome.errors)", sourceLocation: sourceLocation)
    expectPlainWords(outcome.errors, [wanted, "Next:"], "join", sourceLocation)
    #expect(outcome.output.isEmpty, sourceLocation: sourceLocation)
    #expect(try await device.run(["status"]).code == 10, sourceLocation: sourceLocation)
  }

  @Test func `a failed join leaves the data of the device unchanged`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let bob = Device("bob", on: stage)
    try await bob.text("init", "--name", "bob")
    try await bob.text("trip", "add", "name=Oslo")
    let ticket = try await circle.founder.text("invite")
    try await expectRefusal(bob, ["join", "nonsense", "--yes"], code: 2, saying: "not a Waymark ticket")
    try await expectRefusal(
      bob, ["join", "-"], code: 7, saying: "1 trip", "--yes", input: ticket)
    try await circle.founder.stop()
    try await expectRefusal(
      bob, ["join", "-", "--yes"], code: 1, saying: "can't be reached", input: ticket)
  }

  @Test func `a device brings its records and settings along, and keeps a backup`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: true)
    let alice = circle.founder
    try await alice.text("trip", "add", "name=Rome")
    let bob = Device("bob", on: stage)
    try await bob.text("init", "--name", "bob")
    var size = SampleData.Size()
    (size.habits, size.logs, size.trips, size.items) = (4, 300, 3, 24)
    let trips = try stage.write(SampleData.travelingSnails(seed: 5, size: size), "trips.json")
    let habits = try stage.write(SampleData.ritualist(seed: 6, size: size), "habits.json")
    try await bob.text("import", trips, habits)
    try await bob.text("settings", "set", "colorScheme", "dark")
    let before = try await bob.status()
    let exported = try await exports(bob)
    let ticket = try await alice.text("invite")
    let asked = try await bob.run(["join", "-"], input: ticket)
    #expect(asked.code == 7)
    expectPlainWords(asked.errors, ["3 trips", "300 ", "4 habits", "--yes", "backup"], "join")
    #expect(try await bob.status().everything == before.everything)
    // The question has not used up the ticket.
    try await bob.text("join", "-", "--name", "bob", "--yes", input: ticket)
    let after = try await bob.status()
    #expect(after.circle != before.circle)
    #expect(after.counts == before.counts)
    #expect(try await exports(bob) == exported)
    #expect(try FileManager.default.contentsOfDirectory(atPath: stage.path("bob/backups")).count >= 1)
    try await bob.text("sync", "on", "--yes")
    try await bob.start()
    try await bob.waitForSync(with: alice)
    let (mine, theirs) = (try await alice.status(), try await bob.status())
    #expect(mine.digest("records") == theirs.digest("records"))
    #expect(mine.digest("settings") == theirs.digest("settings"))
    #expect(mine.counts == theirs.counts)
    #expect(mine.count("trips") == 4)
    #expect(try await alice.text("settings", "get", "colorScheme") == "dark")
  }
}

/// Both exports of a device without the time of export.
func exports(_ device: Device) async throws -> [String] {
  var texts: [String] = []
  for format in ["ritualist", "traveling-snails"] {
    let file = device.stage.path("export-\(device.stage.number())")
    try await device.text("export", "--format", format, "--output", file)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    let lines = text.split(separator: "\n").filter {
      !$0.contains("\"exportedAt\"") && !$0.contains("\"timestamp\"")
    }
    texts.append(lines.joined(separator: "\n"))
  }
  return texts
}
