import Model
import NodeRuntime
import Records
import Testing
import Waymark
import WaymarkCare
import WaymarkTesting
import Wire

/// How many records of an app's own kinds a status counts.
struct AppCountTests {
  @Test func `a status counts the kinds of an app that have records, and no others`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    let trip = try await alice.save(Trip(name: "Rome"))
    #expect(try await alice.status().counts.apps.isEmpty)
    for name in ["Trunk", "Purse"] { _ = try await alice.save(PackingBag(name)) }
    let bags = try await alice.status().counts
    #expect(bags.apps.map(\.kind.rawValue) == ["packing-bag"] && bags.apps.map(\.count) == [2])
    #expect(bags.trips == 1)
    _ = try await alice.save(PackingItem("Towel", in: trip.id))
    let both = try await alice.status().counts.apps
    let counts = Dictionary(uniqueKeysWithValues: both.map { ($0.kind.rawValue, $0.count) })
    #expect(counts == ["packing-bag": 2, "packing-item": 1])
    await alice.close()
  }
}
