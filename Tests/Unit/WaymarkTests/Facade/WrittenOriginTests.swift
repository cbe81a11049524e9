import ChangeHistory
import Foundation
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// The document that says where the values of a record came from.
struct WrittenOriginTests {
  @Test func `the origin of a value that was not erased is read as such by another process`() async throws {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    try await alice.node.update(trip.id) { $0.name = "Roma" }
    let why = try await alice.node.explanation(of: trip.id)
    let copy = try JSONDecoder().decode(RecordExplanation.self, from: JSONEncoder().encode(why))
    #expect(copy.values.contains { $0.field == "name" && !$0.wonAgainst.isEmpty })
    #expect(!copy.values.contains { $0.written.isErased })
    #expect(!copy.values.flatMap(\.wonAgainst).contains { $0.isErased })
    await alice.close()
  }
}
