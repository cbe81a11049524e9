import Foundation
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// A record that one device has deleted and another one, without knowing that, has brought back.
struct LifeConflictTests {
  @Test(arguments: [Conflict.Choice.winner, .loser])
  func `a restoration and a concurrent deletion are a conflict, and either side can be kept`(
    choice: Conflict.Choice
  ) async throws {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    let trip = try await alice.save(Trip(name: "Rome"))
    try await circle.settle()
    await circle.disconnect("alice", "bob")
    try await bob.delete(trip)
    try await circle.clock.advance(by: .seconds(1))
    try await alice.delete(trip)
    try await alice.restore(trip.id)
    await circle.connect("alice", "bob")
    try await circle.settle()
    let conflict = try #require(try await bob.conflicts().first)
    #expect(try await alice.conflicts() == [conflict])
    #expect(conflict.reason == .field && conflict.field == "life" && conflict.record == trip.id.uuid)
    #expect(conflict.isVisible && conflict.hiddenBy == nil)
    #expect(conflict.winner.value == .text("alive") && conflict.winner.deviceName == "alice")
    #expect(conflict.losers.map(\.value) == [.text("deleted")])
    #expect(conflict.losers.map(\.deviceName) == ["bob"])

    let resolution = try await alice.resolve(conflict.id, taking: choice)
    #expect(resolution.resolved == [conflict.id] && resolution.remaining == 0)
    let author = choice == .winner ? "alice" : "bob"
    #expect(resolution.text.description == "trip · Rome · life: took the value from \(author).")
    try await circle.settle()
    try await circle.assertConverged()
    for node in circle.nodes {
      #expect(try await node.conflicts().isEmpty)
      #expect(try await node.records(Trip.all).map(\.id) == (choice == .winner ? [trip.id] : []))
      #expect(try await node.deleted(Trip.self).map(\.id) == (choice == .winner ? [] : [trip.id]))
    }
    await circle.close()
  }
}
