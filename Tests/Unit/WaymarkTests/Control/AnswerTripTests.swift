import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Waymark

/// Answers that cross the control socket, and are read at its other end as they were sent.
struct AnswerTripTests {
  @Test func `a list keeps records in the trash apart from their deletion`() async throws {
    let alice = try await TestNode.founder("alice")
    for trip in ["Rome", "Oslo"] { try await alice.run("trip.add", fields("name=\(trip)")) }
    try await alice.run("trip.delete", ["id": "Rome"])
    let gone = try await list(alice, ["deleted": true])
    #expect(gone.plural == "trips" && gone.total == 1 && gone.items.count == 1)
    #expect(gone.items.first?.deletion?.deleted == true)
    #expect(gone.items.first?.deletion?.deletedByName == "alice")
    let names = gone.items.first?.record.members.map(\.key) ?? []
    #expect(names.contains("name") && names.filter { $0.hasPrefix("deleted") }.isEmpty)
    let present = try await list(alice, [:])
    #expect(present.items.count == 1 && present.items.allSatisfy { $0.deletion == nil })
    await alice.close()
  }

  /// Lists trips, sends the answer, and reads it.
  private func list(_ alice: TestNode, _ arguments: JSON) async throws -> ListRecords.Answer {
    let request = ControlRequest(command: "trip.list", arguments: arguments)
    let answer = try await alice.node.answer(try request.command(as: ListRecords.self)).get()
    let sent = try AnswerCoding.encode(answer)
    let read = try AnswerCoding.decode(ListRecords.Answer.self, from: sent)
    #expect(try AnswerCoding.encode(read) == sent)
    return read
  }

  @Test func `filters reach the node, and one that is off does not`() throws {
    let arguments: JSON = [
      "deleted": false, "zone": "Europe/Rome", "text": "sun", "upcoming": true, "ndjson": false,
    ]
    let request = ControlRequest(command: "trip.list", arguments: arguments)
    let command = try request.command(as: ListRecords.self)
    #expect(command.kind == "trip" && !command.deleted)
    #expect(command.filters == ["text": "sun", "upcoming": "true"] && !command.printsLines)
    // What the client sends is what the node reads.
    let sent = try AnswerCoding.encode(command)
    let again = try ControlRequest(command: "trip.list", arguments: sent).command(as: ListRecords.self)
    #expect(again.filters == command.filters && !again.deleted)
    #expect(sent["zone"] == "Europe/Rome")
  }

  @Test func `a timeline tells the kind of each item apart from its fields`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("activity.add", fields("trip=Rome", "name=Forum", "start=2026-06-02T10:00Z"))
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa", "start=2026-06-01T15:00Z"))
    let answer = try await alice.node.answer(ShowTimeline(id: "Rome")).get()
    let sent = try AnswerCoding.encode(answer)
    let read = try AnswerCoding.decode(ShowTimeline.Answer.self, from: sent)
    #expect(read.name == "Rome" && read.items.map(\.kind) == ["lodging", "activity"])
    #expect(read.items.map(\.name) == ["Casa", "Forum"])
    #expect(read.items.map(\.record) == answer.items.map(\.record))
    #expect(try AnswerCoding.encode(read) == sent)
    await alice.close()
  }

  @Test func `a preview of sync is told from a state of sync`() async throws {
    let circle = try await TestCircle("alice", "bob", isSyncing: false)
    let alice = circle["alice"]
    try await circle.turnSyncOn("bob")
    _ = try await circle["bob"].save(Trip(name: "Rome"))
    _ = try await circle["bob"].update(Profile.only) { $0.name = "Bob" }
    _ = try await alice.save(Trip(name: "Oslo"))
    try await circle.settle()
    let preview = try await circle.during {
      var command = TurnSyncOn()
      command.preview = true
      return try await alice.answer(command).get()
    }
    guard case .preview(let shown) = preview else {
      Issue.record("no preview")
      return
    }
    let trips = try #require(shown.kinds.first { $0.kind == .trip })
    #expect((trips.onlyHere, trips.onlyThere) == (1, 1))
    #expect(shown.profile?.state == .onlyThere && shown.peers.map(\.name) == ["bob"])
    guard
      case .preview(let read) = try AnswerCoding.decode(
        TurnSyncOn.Answer.self, from: try AnswerCoding.encode(preview))
    else {
      Issue.record("not read as a preview")
      return
    }
    #expect(read.kinds == shown.kinds && read.total == shown.total && read.peers == shown.peers)
    #expect(read.premium == shown.premium && read.preference == shown.preference)
    #expect(read.profile?.winnerDevice == shown.profile?.winnerDevice)
    #expect(read.profile?.there == shown.profile?.there && read.profile?.here == nil)
    let state = try await circle.during {
      var command = TurnSyncOn()
      command.yes = true
      return try await alice.answer(command).get()
    }
    guard
      case .state(let active) = try AnswerCoding.decode(
        TurnSyncOn.Answer.self, from: try AnswerCoding.encode(state))
    else {
      Issue.record("not read as a state")
      return
    }
    #expect(active.isActive && active.preference)
    await circle.close()
  }
}
