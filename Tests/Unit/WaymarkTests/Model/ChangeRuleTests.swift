import Foundation
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Model
@testable import Waymark

/// What one change may contain, and when there is nothing to write.
@Suite struct ChangeRuleTests {
  let node: Node
  let trip: Trip

  init() async throws {
    node = try Node.inMemory(name: "alice")
    trip = try await node.save(Trip(name: "Rome"))
  }

  @Test func `a record is saved at most once in a change, or nothing of it is written`() async throws {
    var (first, second) = (trip, trip)
    first.name = "Roma"
    second.notes = "by train"
    let (one, two) = (first, second)
    let refused = try await refusal {
      try await node.change { changes in
        changes.save(one)
        changes.save(two)
      }
    }
    #expect(refused == "usage")
    let twice = try await refusal {
      try await node.change { changes in
        changes.save(one)
        changes.update(trip.id) { $0.notes = "by train" }
      }
    }
    #expect(twice == "usage")
    #expect(try await node.record(trip.id) == trip)
    // A change that was refused leaves nothing that the next one would meet.
    try await node.change { $0.save(one) }
    #expect(try await node.record(trip.id)?.name == "Roma")
  }

  @Test func `an item needs a parent that is alive, whether it is new, moved or unchanged`() async throws {
    let hotel = try await node.save(Lodging(name: "Casa", tripID: trip.id))
    let moved = try await refusal { try await node.update(hotel.id) { $0.tripID = .new() } }
    #expect(moved == "not_found")
    #expect(try await node.record(hotel.id)?.tripID == trip.id)
    let oslo = try await node.save(Trip(name: "Oslo"))
    try await node.delete(oslo)
    #expect(try await refusal { try await node.update(hotel.id) { $0.tripID = oslo.id } } == "not_found")
    #expect(
      try await refusal { _ = try await node.save(Lodging(name: "Hytte", tripID: oslo.id)) } == "not_found")
    try await node.restore(oslo.id)
    try await node.update(hotel.id) { $0.tripID = oslo.id }
    #expect(try await node.records(Lodging.all.filter(\.tripID == oslo.id)).map(\.name) == ["Casa"])
    #expect(try await node.count(Lodging.all.filter(\.tripID == trip.id)) == 0)
  }

  @Test func `a change of nothing is no operation`() async throws {
    let verbs = try await node.history(limit: 9).map(\.verb)
    let (trip, gone) = (trip, Trip.ID.new())
    #expect(try await node.change { _ in } == nil)
    #expect(try await node.change { $0.delete(gone) } == nil)
    #expect(try await node.change { $0.restore(gone) } == nil)
    #expect(try await node.change { $0.restore(trip.id) } == nil)
    #expect(try await node.change { $0.save(trip) } == nil)
    #expect(try await node.change { $0.update(trip.id) { $0.name = "Rome" } } == nil)
    #expect(try await node.history(limit: 9).map(\.verb) == verbs)
    #expect(try await node.change { $0.delete(trip) } != nil)
    #expect(try await node.change { $0.delete(trip) } == nil)
    #expect(try await node.count(Trip.all) == 0)
  }

  @Test(arguments: [
    ("", false), ("x", true), (String(repeating: "x", count: 32), true),
    (String(repeating: "é", count: 16), true), (String(repeating: "é", count: 17), false),
  ])
  func `the label of a change has 1 to 32 bytes`(label: String, isAccepted: Bool) async throws {
    let refused = try await refusal { try await node.change(label) { $0.save(Trip(name: "Oslo")) } }
    #expect(refused == (isAccepted ? nil : "bad_value"))
    #expect(try await node.count(Trip.all) == (isAccepted ? 2 : 1))
    if isAccepted { #expect(try await node.history(limit: 1).first?.verb == label) }
  }
}
