import Exchange
import Foundation
import Processes
import Testing
import Wire

/// Nodes that do not answer, and nodes that have much to do.
@Suite(.serialized) struct ResponseTests {
  private func founder(on stage: Stage) async throws -> Device {
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    try await alice.start()
    return alice
  }

  @Test func `every command says that the node is stopped, and none is carried out later`() async throws {
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
    for words in commands {
      let outcome = try await alice.run(words, seconds: 10)
      #expect(outcome.code == 3, "\(words): \(outcome.errors)")
      #expect(
        outcome.errors.contains("(process \(node)) is stopped and does not answer"), "\(outcome.errors)")
      #expect(outcome.errors.contains("kill -CONT \(node)"), "\(outcome.errors)")
    }
    let doctor = try await alice.run(["doctor"], seconds: 10)
    #expect(
      doctor.output.split(separator: "\n").first?.contains("process \(node)") == true, "\(doctor.output)")
    // Also where so many have given up that the queue of the socket is full.
    for _ in 0..<20 {
      let outcome = try await alice.run(["trip", "add", "name=Never"], seconds: 15)
      #expect(outcome.code == 3, "\(outcome.errors)")
    }
    kill(node, SIGCONT)
    try await alice.wait(until: "it answers again") { _ in true }
    #expect(try await alice.status().count("trips") == 0)
    #expect(!FileManager.default.fileExists(atPath: stage.path("never.waymark")))
  }

  @Test func `a node that is stopped while it waits for peers is said to be`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await founder(on: stage)
    let node = try #require(alice.nodeID)
    let (child, _, errors) = try alice.begin(["wait", "--timeout", "600s"])
    try await Task.sleep(for: .seconds(5))
    #expect(child.code == nil)
    kill(node, SIGSTOP)
    defer { kill(node, SIGCONT) }
    #expect(try await child.wait(seconds: 10, for: "wait") == 3)
    #expect(try String(contentsOf: errors, encoding: .utf8).contains("is not known"))
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
}
