import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// What an undo says of a record that it keeps because others use it.
struct KeptRecordUndoTests {
  @Test func `a record that an undo keeps is listed with its users and with the fields changed since`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let (rome, oslo) = (Trip(name: "Rome"), Trip(name: "Oslo"))
    let operation = try #require(
      try await node.change("plan") { changes in
        changes.save(rome)
        changes.save(oslo)
      })
    try await node.update(rome.id) { $0.name = "Roma" }
    try await node.update(oslo.id) { $0.name = "Bergen" }
    let casa = try await node.save(Lodging(name: "Casa", tripID: rome.id))
    let undone = try await node.undo(operation)
    // The other trip goes to the trash as a whole, so what was changed in it is not listed.
    #expect(undone.changes.map(\.deleted) == [1])
    #expect(undone.left.map { $0.id(as: Trip.self) } == [rome.id, rome.id])
    #expect(undone.left.map(\.name) == ["Roma", "Roma"])
    let changed = try #require(undone.left.first { $0.reason == .changedSince })
    #expect(changed.fields == ["name"] && changed.byName == "alice" && changed.users.isEmpty)
    let used = try #require(undone.left.first { $0.reason == .inUse })
    #expect(used.users.map(\.id) == [casa.id.uuid] && used.users.map(\.name) == ["Casa"])
    #expect(used.fields.isEmpty)
    let trips = try await node.records(Trip.all)
    #expect(trips.map(\.name) == ["Roma"])
    await alice.close()
  }
}
