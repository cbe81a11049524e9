import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// Records of which an erase has left nothing, as applications restore and create them.
struct ErasedRestoreTests {
  @Test func `nothing of an erased record is restored, also with other changes, and its id is free again`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let trip = try await node.save(Trip(name: "Rome", notes: "by train"))
    _ = try await node.erase(trip)
    #expect(try await refusal { try await node.restore(trip.id) } == "erased")
    let together = try await refusal {
      try await node.change { changes in
        changes.save(Trip(name: "Oslo"))
        changes.restore(trip.id)
      }
    }
    #expect(together == "erased")
    #expect(try await node.count(Trip.all) == 0)
    // A new record may have the id, and has nothing of the former one.
    let again = try await node.save(Trip(name: "Bern", id: trip.id))
    #expect(again.name == "Bern" && again.notes == "")
    #expect(try await node.records(Trip.all) == [again])
    await alice.close()
  }
}
