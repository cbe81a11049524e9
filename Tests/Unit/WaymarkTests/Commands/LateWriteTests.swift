import JSONDocument
import Records
import Replication
import Storage
import Testing
import WaymarkCare
import WaymarkTesting

@testable import NodeRuntime
@testable import Waymark

/// Writes to a record that is deleted.
struct LateWriteTests {
  @Test func `a write by someone who knew of the deletion is not shown as one made without knowing of it`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    let trip = try #require(try await alice.node.firstTrip)
    try await alice.run("trip.delete", ["id": "Rome"])
    // Another program may do this; commands refuse it.
    try await alice.node.write("Roma", to: trip)
    let writes = try await alice.run("history", ["record": .string("\(trip.id.uuid)")])["writes"]?.array ?? []
    #expect(writes.map { $0["verb"]?.string } == ["trip.edit", "trip.delete", "trip.add"])
    #expect(writes.allSatisfy { $0["hidden"] != true }, "\(writes.map { $0.text() })")
    await alice.close()
  }
}

extension Node {
  fileprivate var firstTrip: RecordKey? {
    get throws { try core.store.visible(Kind.trip).first?.key }
  }

  fileprivate func write(_ name: String, to trip: RecordKey) throws {
    _ = try core.write("trip.edit", [EntryDraft(.put, trip, [(1, .text(name))])])
  }
}
