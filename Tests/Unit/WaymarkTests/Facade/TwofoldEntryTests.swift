import Foundation
import JSONDocument
import Model
import Records
import Replication
import Testing
import WaymarkCare
import WaymarkKinds
import WaymarkTesting
import Wire

@testable import ChangeHistory
@testable import Waymark

/// Operations that write a record's fields and its life at once, and fields of a newer version.
struct TwofoldEntryTests {
  private func rome() async throws -> (TestNode, Trip, RecordKey) {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    let key = try #require(try await alice.node.keys(of: [Kind.trip]).first)
    return (alice, trip, key)
  }

  @Test func `an undo takes back both the edit and the deletion, and its own undo repeats both`()
    async throws
  {
    let (alice, trip, key) = try await rome()
    let operation = try await alice.node.writeTogether([
      EntryDraft(.put, key, [(1, .text("Roma"))]), EntryDraft(.delete, key),
    ])
    #expect(try await alice.node.records(Trip.all).isEmpty)
    let undone = try await alice.run("undo", ["operation": .string(operation)])
    #expect(undone["left"] == [])
    #expect(try await alice.node.records(Trip.all).map(\.name) == ["Rome"])
    let undo = try #require(undone["undo"])
    try await alice.run("undo", ["operation": undo])
    #expect(try await alice.node.records(Trip.all).isEmpty)
    #expect(try await alice.node.deleted(Trip.self).map(\.id) == [trip.id])
    #expect(try await alice.node.deleted(Trip.self).map(\.record.name) == ["Roma"])
    await alice.close()
  }

  @Test func `an undo takes back both the edit and the restoration`() async throws {
    let (alice, trip, key) = try await rome()
    try await alice.node.delete(trip)
    let operation = try await alice.node.writeTogether([
      EntryDraft(.put, key, [(1, .text("Roma"))]), EntryDraft(.restore, key),
    ])
    #expect(try await alice.node.records(Trip.all).map(\.name) == ["Roma"])
    try await alice.run("undo", ["operation": .string(operation)])
    #expect(try await alice.node.records(Trip.all).isEmpty)
    #expect(try await alice.node.deleted(Trip.self).map(\.record.name) == ["Rome"])
    await alice.close()
  }

  @Test func `a watch names a record once, whatever an operation did to it`() async throws {
    let (alice, trip, key) = try await rome()
    let updates = Updates(alice.node.watch(Trip.all))
    _ = try await updates.next("one trip")
    _ = try await alice.node.writeTogether([
      EntryDraft(.put, key, [(1, .text("Roma"))]), EntryDraft(.delete, key),
    ])
    let update = try await updates.next("no trip")
    guard case .operation(let change) = update.causes.first else {
      Issue.record("another cause: \(update.causes)")
      return
    }
    let expected = RecordChange(kind: .trip, id: trip.id.uuid, change: .deleted, fields: [])
    #expect(change.records == [expected] && change.otherRecords == 0)
    await alice.close()
  }

  @Test func `a conflict shows fields of a newer version by their numbers`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    let trip = try await alice.save(Trip(name: "Rome"))
    try await circle.settle()
    let key = try #require(try await bob.keys(of: [Kind.trip]).first)
    await circle.disconnect("alice", "bob")
    try await alice.delete(trip)
    _ = try await bob.writeTogether([EntryDraft(.put, key, [(1, .text("Roma")), (99, .text("new"))])])
    await circle.connect("alice", "bob")
    try await circle.settle()
    let conflict = try #require(try await alice.conflicts().first)
    let sides = [conflict.winner] + conflict.losers
    let edit = try #require(sides.compactMap(\.fields).first)
    #expect(edit.map(\.name) == ["name", "field 99"])
    #expect(edit.last?.value == .text("new"))
    await circle.close()
  }
}
