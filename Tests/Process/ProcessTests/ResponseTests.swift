import Exchange
import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// Nodes that do not answer, and nodes with much work to do.
@Suite(.serialized) struct ResponseTests {
  private func founder(on stage: Stage) async throws -> Device {
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    try await alice.start()
    return alice
  }

  @Test func `every command reports a suspended node, and none is executed later`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await founder(on: stage)
    let node = try #require(alice.nodeID)
    kill(node, SIGSTOP)
    defer { kill(node, SIGCONT) }
    let commands = [
      ["status"], ["trip", "add", "name=Never"], ["history"], ["wait", "--timeout", "1s"], ["sync", "now"],
      ["backup", stage.path("never.waymark")],
    ]
    try await runTogether(commands, on: alice, seconds: 30) { words, outcome in
      #expect(outcome.code == 3, "\(words): \(outcome.errors)")
      #expect(
        outcome.errors.contains("(process \(node)) is stopped and does not answer"), "\(outcome.errors)")
      #expect(outcome.errors.contains("kill -CONT \(node)"), "\(outcome.errors)")
    }
    let doctor = try await alice.run(["doctor"], seconds: 10)
    #expect(
      doctor.output.split(separator: "\n").first?.contains("process \(node)") == true, "\(doctor.output)")
    // Also when so many clients have given up that the queue of the socket is full.
    let add = ["trip", "add", "name=Never"]
    for commands in [[[String]](repeating: add, count: 20), [add]] {
      try await runTogether(commands, on: alice, seconds: 30) { _, outcome in
        #expect(outcome.code == 3, "\(outcome.errors)")
      }
    }
    kill(node, SIGCONT)
    try await alice.wait(until: "it answers again") { _ in true }
    #expect(try await alice.status().count("trips") == 0)
    #expect(!FileManager.default.fileExists(atPath: stage.path("never.waymark")))
  }

  /// Runs commands at the same time, and checks the outcome of each.
  private func runTogether(
    _ commands: [[String]], on device: Device, seconds: Int, check: ([String], Outcome) -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: ([String], Outcome).self) { group in
      for words in commands { group.addTask { (words, try await device.run(words, seconds: seconds)) } }
      for try await (words, outcome) in group { check(words, outcome) }
    }
  }

  @Test func `a node that is suspended while it waits for peers is reported`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: false)
    let alice = circle.founder
    let node = try #require(alice.nodeID)
    let (child, _, errors) = try alice.begin(["wait", "--timeout", "600s"])
    try await Task.sleep(for: .seconds(5))
    #expect(child.code == nil)
    kill(node, SIGSTOP)
    defer { kill(node, SIGCONT) }
    #expect(try await child.wait(seconds: 10, for: "wait") == 3)
    #expect(try String(contentsOf: errors, encoding: .utf8).contains("It is unknown"))
  }

  @Test func `SIGTERM ends a node that reads a large file for import`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await founder(on: stage)
    let events = (1...200_000).map { number in
      "BEGIN:VEVENT\r\nUID:\(number)\r\nSUMMARY:Tour \(number)\r\nDTSTART:20260503T150000Z\r\nEND:VEVENT\r\n"
    }
    let file = try stage.write(
      Array("BEGIN:VCALENDAR\r\n\(events.joined())END:VCALENDAR\r\n".utf8), "large.ics")
    let (child, output, _) = try alice.begin(["import", file, "--json"])
    try await eventually("the import has begun", seconds: 30) {
      (try? String(contentsOf: output, encoding: .utf8))?.contains("reading") == true
    }
    #expect(try await alice.json("status")["counts"]?["trips"] == 0)
    #expect(try await alice.stop(SIGTERM) == 0)
    #expect(try await child.wait(seconds: 10, for: "the import") != 0)
    #expect(try await alice.status().count("activities") == 0)
  }

  @Test func `SIGTERM ends a node that writes a large import, and acknowledged data is kept`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await founder(on: stage)
    try await alice.text("trip", "add", "name=Rome")
    let rows = (0..<50).flatMap { habit in
      (0..<10_000).map {
        "Habit \(habit),,Health,\(2000 + $0 / 336)-\(two($0 / 28 % 12))-\(two($0 % 28)),1,\n"
      }
    }
    let header = "HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText\n"
    let file = try stage.write(Array((header + rows.joined()).utf8), "large.csv")
    let (child, output, _) = try alice.begin(["import", file, "--json"])
    try await eventually("the import is being written", seconds: 300) {
      if let code = child.code { throw Failure("the import ended with \(code)") }
      return (try? String(contentsOf: output, encoding: .utf8))?.contains("writing") == true
    }
    #expect(try await alice.stop(SIGTERM) == 0)
    let code = try await child.wait(seconds: 10, for: "the import")
    try await alice.start()
    try await alice.text("verify", "--deep", seconds: 120)
    #expect(try await alice.json("trip", "list", seconds: 60)["trips"]?.array?.map { $0["name"] } == ["Rome"])
    let habits = try await alice.json("habit", "list", seconds: 60)["habits"]?.array?.count ?? 0
    // All of the import or none of it; all, if it was acknowledged.
    #expect(
      habits == 50 || (habits == 0 && code != 0),
      "\(alice.log.suffix(300)): \(habits) habits, exit code \(code)")
  }

  /// The number, counted from 1, as two digits.
  private func two(_ index: Int) -> String { index < 9 ? "0\(index + 1)" : "\(index + 1)" }

  @Test func `commands whose clients were killed end, and make room for others`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: false)
    let alice = circle.founder
    let clients = try (0..<Limits.controlClientsMax).map { _ in
      try alice.begin(["wait", "--timeout", "600s"]).child
    }
    try await eventually("all slots are taken", seconds: 60) {
      let outcome = try await alice.run(["status"])
      return outcome.code != 0 && outcome.errors.contains("other commands are already connected to the node")
    }
    for client in clients {
      #expect(client.code == nil)
      client.signal(SIGKILL)
    }
    try await eventually("the node serves others", seconds: 60) { try await alice.run(["status"]).code == 0 }
  }
}
