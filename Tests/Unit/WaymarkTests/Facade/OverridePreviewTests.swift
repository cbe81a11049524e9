import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// What an override says before it is confirmed.
struct OverridePreviewTests {
  @Test func `of what only the peer has, this device can't tell what belongs to the trip`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    let rome = try await alice.save(Trip(name: "Rome"))
    try await circle.settle()
    let device = try await bob.status().device
    try await alice.turnSyncOff()
    try await circle.settle()
    _ = try await alice.save(Lodging(name: "Casa", tripID: rome.id))
    _ = try await bob.save(Activity(name: "Forum", tripID: rome.id))
    _ = try await bob.save(Trip(name: "Oslo"))
    let habit = try await bob.save(Habit(name: "Read"))
    _ = try await bob.save(HabitEntry(habitID: habit.id, date: .now))
    try await circle.settle()
    let trip = try await circle.during { try await alice.mirrorPreview(of: device, .trip(rome.id)) }
    #expect(trip.total.deleted == 1 && trip.total.added == 0 && trip.total.changed == 0)
    #expect(trip.kinds.map(\.kind) == [.lodging])
    // A trip, a habit and its entry can't belong to a trip.
    #expect(trip.unknown == 1)
    let all = try await circle.during { try await alice.mirrorPreview(of: device) }
    #expect(all.total.added == 4 && all.total.deleted == 1 && all.unknown == 0)
    let question = await #expect(throws: WaymarkError.self) {
      try await circle.during { try await alice.run("mirror", ["from": "bob", "trip": "Rome"]) }
    }
    #expect(question?.code == .needsYes)
    #expect(question?.next?.description == "waymark mirror --from bob --trip Rome --yes")
    let message = question?.message.description ?? ""
    #expect(message.hasPrefix("The selected records of this device will be replaced with what bob holds now"))
    #expect(message.contains("1 lodging deleted, and any of 1 record unknown to this device"), "\(message)")
    #expect(message.contains("This also turns on sync of records."), "\(message)")
    #expect(try await alice.count(Lodging.all) == 1)
    #expect(try await !alice.syncState().preference)
    await circle.close()
  }

  @Test func `a record that would change on several devices is counted once`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol")
    let (alice, bob, carol) = (circle["alice"], circle["bob"], circle["carol"])
    let rome = try await alice.save(Trip(name: "Rome"))
    let oslo = try await alice.save(Trip(name: "Oslo"))
    try await circle.settle()
    try await alice.turnSyncOff()
    await circle.disconnect("bob", "carol")
    try await circle.settle()
    try await bob.delete(rome)
    try await carol.update(rome.id) { $0.name = "Roma" }
    try await carol.update(oslo.id) { $0.notes = "cold" }
    try await circle.settle()
    let preview = try await circle.during { try await alice.overrideCirclePreview() }
    #expect(preview.peers.map(\.name) == ["bob", "carol"] && preview.notAsked.isEmpty)
    // Rome counts as it changes for Bob, who comes first.
    #expect(preview.total.added == 1 && preview.total.changed == 1)
    #expect(preview.total.deleted == 0 && preview.total.restored == 0)
    let trips = try #require(preview.kinds.first)
    #expect(preview.kinds.count == 1 && trips.kind == .trip && trips.plural == "trips")
    #expect(trips.added == 1 && trips.changed == 1)
    #expect(try await bob.count(Trip.all) == 1)
    await circle.close()
  }

  @Test(arguments: ["setting", "pizza", ""])
  func `an override can't be limited to a kind that is none of the records`(kind: String) async throws {
    let circle = try await TestCircle("alice", "bob")
    let alice = circle["alice"]
    for arguments: JSON in [["from": "bob", "only": .string(kind)], ["only": .string(kind)]] {
      let command = arguments["from"] == nil ? "assert" : "mirror"
      let refused = await #expect(throws: WaymarkError.self, "\(command)") {
        try await circle.during { try await alice.run(command, arguments) }
      }
      #expect(refused?.code == .badValue, "\(command)")
      #expect(refused?.message.description.contains("trip") == true, "\(command)")
    }
    await circle.close()
  }
}
