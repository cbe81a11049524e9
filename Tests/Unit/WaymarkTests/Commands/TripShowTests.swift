import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

struct TripShowTests {
  @Test func `a trip is shown with its first start and last end in their own zones`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=World"))
    try await alice.run(
      "lodging.add",
      fields(
        "trip=World", "name=Ryokan", "start=2026-05-03T15:00", "startTZ=Asia/Tokyo", "end=2026-05-04T10:00"))
    try await alice.run(
      "transportation.add",
      fields(
        "trip=World", "name=Flight", "start=2026-05-05T08:00", "startTZ=Europe/Rome", "end=2026-05-05T12:00",
        "endTZ=America/New_York"))
    // One begins together with the stay, and the other has no time.
    try await alice.run(
      "activity.add", fields("trip=World", "name=Tour", "start=2026-05-03T15:00", "startTZ=Asia/Tokyo"))
    try await alice.run("activity.add", fields("trip=World", "name=Any day"))
    let shown = try await alice.run("trip.show", ["id": "World"])
    #expect(shown["firstStart"] == "2026-05-03T15:00:00+09:00")
    #expect(shown["lastEnd"] == "2026-05-05T12:00:00-04:00")
    #expect(shown["activities"] == 4)
    let listed = try await alice.run("trip.list")["trips"]?[0]
    #expect(listed?["firstStart"] == "2026-05-03T06:00:00Z" && listed?["lastEnd"] == "2026-05-05T16:00:00Z")
    let items = try await alice.run("trip.timeline", ["id": "World"])["items"]?.array ?? []
    #expect(items.map { $0["name"] } == ["Tour", "Ryokan", "Flight", "Any day"])
    // Without its last item with an end, the trip ends with the one before.
    try await alice.run("transportation.delete", ["id": "Flight"])
    #expect(try await alice.run("trip.show", ["id": "World"])["lastEnd"] == "2026-05-04T10:00:00+09:00")
  }

  @Test func `an item that moves to another trip counts there, and no longer where it was`() async throws {
    let alice = try await TestNode.founder("alice")
    for name in ["Rome", "Oslo"] { try await alice.run("trip.add", fields("name=\(name)")) }
    try await alice.run(
      "lodging.add",
      fields("trip=Rome", "name=Casa", "start=2026-05-03T15:00", "startTZ=UTC", "cost=120", "currency=EUR"))
    func start(_ trip: String) async throws -> String? {
      let listed = try await alice.run("trip.list")["trips"]?.array ?? []
      return listed.first { $0["name"]?.string == trip }?["firstStart"]?.string
    }
    for (trip, other) in [("Rome", "Oslo"), ("Oslo", "Rome"), ("Rome", "Oslo")] {
      try await alice.run("lodging.edit", fields("trip=\(trip)", id: "Casa"))
      #expect(try await start(trip) == "2026-05-03T15:00:00Z")
      #expect(try await start(other) == nil)
      let (shown, left) = (
        try await alice.run("trip.show", ["id": .string(trip)]),
        try await alice.run("trip.show", ["id": .string(other)])
      )
      #expect(shown["activities"] == 1 && left["activities"] == 0)
    }
    await alice.close()
  }
}
