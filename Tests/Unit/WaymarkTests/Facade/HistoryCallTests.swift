import Foundation
import JSONDocument
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// The limits of histories, how an operation is named, and undo of many records, as applications use them.
struct HistoryCallTests {
  @Test(arguments: [(1, true), (2, true), (3, false), (4, false)])
  func `a history has more only if the limit leaves something out`(limit: Int, hasMore: Bool) async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let trip = try await node.save(Trip(name: "Rome"))
    for name in ["Roma", "Rom"] { try await node.update(trip.id) { $0.name = name } }
    let verbs = Array(["trip.edit", "trip.edit", "trip.add"].prefix(limit))
    let listed = try await node.newest(limit)
    #expect(listed.newest.map(\.verb) == verbs && listed.hasMore == hasMore)
    let history = try await node.history(of: trip.id, limit: limit)
    #expect(history.writes.map(\.verb) == verbs && history.hasMore == hasMore)
    await alice.close()
  }

  @Test func `an operation is found by the beginning of its id, with hyphens and in capital letters`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    _ = try await alice.node.save(Trip(name: "Rome"))
    let id = try #require(try await alice.node.history(limit: 1).first?.id.description)
    for text in [id, id.uppercased(), "\(id.prefix(8))-\(id.dropFirst(8))", String(id.prefix(12))] {
      let found = try await alice.run("undo", ["operation": .string(text), "preview": true])
      #expect(found["operation"]?["id"] == .string(id), "\(text)")
    }
    // No text is the beginning of every id.
    for text in ["", "-", "zz"] {
      let refused = try await failure(alice, "undo", ["operation": .string(text), "preview": true])
      #expect(refused?.code == .notFound, "\(text)")
    }
    #expect(try await alice.node.count(Trip.all) == 1)
    await alice.close()
  }

  @Test func `an undo of hundreds of records leaves alone the one that was changed since, and says by whom`()
    async throws
  {
    let now = Wall(TestNode.morning)
    let alice = try await TestNode.founder("alice", wall: { now.value })
    let node = alice.node
    let trips = try await node.save((1...300).map { Trip(name: "Trip to \($0)") })
    let operation = try #require(
      try await node.change("notes") { changes in
        for trip in trips {
          var edited = trip
          edited.notes = "by train"
          changes.save(edited)
        }
      })
    now.value += 60_000
    try await node.update(trips[199].id) { $0.notes = "by bus" }
    let undone = try await node.undo(operation)
    #expect(undone.operationID == operation && undone.changes.map(\.changed) == [299])
    let left = try #require(undone.left.first)
    #expect(undone.left.count == 1 && left.id(as: Trip.self) == trips[199].id && left.name == trips[199].name)
    #expect(left.reason == .changedSince && left.fields == ["notes"] && left.users.isEmpty)
    #expect(left.byName == "alice" && left.time == Date(milliseconds: TestNode.morning + 60_000))
    let notes = Dictionary(grouping: try await node.records(Trip.all), by: \.notes).mapValues(\.count)
    #expect(notes == ["": 299, "by bus": 1])
    // The undo of the undo brings back what the undo has taken, and nothing else.
    let redone = try await node.undo(try #require(undone.undo))
    #expect(redone.changes.map(\.changed) == [299] && redone.left.isEmpty)
    let again = Dictionary(grouping: try await node.records(Trip.all), by: \.notes).mapValues(\.count)
    #expect(again == ["by train": 299, "by bus": 1])
    await alice.close()
  }
}

extension Node {
  fileprivate func newest(_ limit: Int) async throws -> (newest: [History.Operation], hasMore: Bool) {
    try await SlicedHistory(core).newestOperations(limit)
  }
}
