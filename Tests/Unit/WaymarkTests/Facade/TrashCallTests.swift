import Foundation
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// The trash, and deleting and restoring several records, as applications do it.
struct TrashCallTests {
  @Test func `the trash is emptied of what was deleted as long ago as the age says, to the millisecond`()
    async throws
  {
    let now = Wall(TestNode.morning)
    let alice = try await TestNode.founder("alice", wall: { now.value })
    let node = alice.node
    let rome = try await node.save(Trip(name: "Rome"))
    _ = try await node.save(Lodging(name: "Casa", tripID: rome.id))
    let oslo = try await node.save(Trip(name: "Oslo"))
    try await node.delete(rome)
    now.value += 1
    try await node.delete(oslo)
    // Rome was deleted an hour ago, and Oslo a millisecond less than that.
    now.value += 3_599_999
    #expect(try await node.emptyTrashPreview(olderThan: .milliseconds(3_600_001)).records.isEmpty)
    let preview = try await node.emptyTrashPreview(olderThan: .seconds(3_600))
    #expect(preview.isPreview && preview.operation == nil)
    #expect(preview.records.map(\.name) == ["Rome", "Casa"])
    #expect(try await node.deleted(Trip.self).count == 2)
    let emptied = try await node.emptyTrash(olderThan: .seconds(3_600))
    #expect(
      !emptied.isPreview && emptied.operation != nil && emptied.records.map(\.name) == ["Rome", "Casa"])
    #expect(try await node.deleted(Trip.self).map(\.id) == [oslo.id])
    #expect(try await node.deleted(Lodging.self).isEmpty)
    #expect(try await node.emptyTrash().records.map(\.name) == ["Oslo"])
    // An empty trash is no reason to write anything.
    #expect(try await node.emptyTrash().operation == nil)
    #expect(try await node.history(limit: 20).count { $0.verb == "trash.empty" } == 2)
    await alice.close()
  }

  @Test func `several records are saved, deleted and restored in operations that are named after their kind`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let trips = try await node.save([Trip(name: "Rome"), Trip(name: "Oslo")])
    let casa = try await node.save(Lodging(name: "Casa", tripID: trips[0].id))
    let deletion = try #require(try await node.delete(trips))
    #expect(try await node.count(Trip.all) == 0)
    // A lodging that is only hidden is not restored by itself, and nothing is written.
    #expect(try await node.restore(casa.id) == nil)
    #expect(try await node.restore(Trip.ID.new()) == nil)
    #expect(try await node.restore(trips[0].id)?.name == "Rome")
    #expect(try await node.restore(trips[0].id)?.name == "Rome")
    #expect(try await node.record(casa.id)?.name == "Casa")
    #expect(try await node.records(Trip.all).map(\.name) == ["Rome"])
    let history = try await node.history()
    #expect(history.map(\.verb) == ["trip.restore", "trip.delete", "lodging.add", "trip.save"])
    #expect(history[1].id == deletion && history[1].counts.map(\.deleted) == [2])
    #expect(history[3].counts.map(\.added) == [2])
    // The undo brings back what is still deleted, and leaves alone what was restored since.
    #expect(try await node.undo(deletion).changes.map(\.restored) == [1])
    #expect(Set(try await node.records(Trip.all).map(\.name)) == ["Rome", "Oslo"])
    await alice.close()
  }
}
