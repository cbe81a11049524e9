import Engine
import Foundation
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import SQLite
@testable import Waymark

/// Live queries for state that apps used to poll: the trash, the day, the authors of settings, the store.
struct LiveStateTests {
  @Test func `the trash of one kind and of all kinds follows deletions and restorations on every device`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    let trip = try await alice.save(Trip(name: "Rome"))
    let room = try await alice.save(Lodging(name: "Casa", tripID: trip.id))
    let habit = try await alice.save(Habit(name: "Read"))
    try await circle.settle()
    let rooms = Watcher(bob.watch(.deleted(Lodging.self)))
    let all = Watcher(bob.watch(.trash))
    #expect(try await rooms.next("no rooms").isEmpty)
    #expect(try await all.next("an empty trash").isEmpty)
    try await alice.delete(trip)
    try await circle.settle()
    let hidden = try await rooms.next("a hidden room")
    #expect(hidden.map(\.id) == [room.id] && hidden.first?.hiddenBy?.id(as: Trip.self) == trip.id)
    let first = try await all.next("a trip and its room")
    #expect(
      Set(first.map(\.record.name)) == ["Rome", "Casa"] && first.allSatisfy { $0.deletedBy.name == "alice" })
    #expect(first.contains { $0.hiddenBy?.id(as: Trip.self) == trip.id })
    // A record that was deleted itself stays in the trash when the trip is visible again.
    try await alice.delete(habit)
    try await circle.settle()
    #expect(try await all.next("a habit").map(\.record.kind).contains(.habit))
    let deletedTrip = try #require(first.first { $0.record.kind == .trip })
    #expect(try await bob.restore(deletedTrip.record) != nil)
    #expect(try await rooms.next("the room again").isEmpty)
    #expect(try await all.next("the habit alone").map(\.record.name) == ["Read"])
    await #expect(throws: WaymarkError.self) { try await bob.restore(deletedTrip.record) }
    await circle.close()
  }

  @Test func `the day changes at midnight where the person counts days, and with the zone`() async throws {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "alice", clock: clock)
    try await node.update(Profile.only) { profile in
      (profile.homeZone, profile.displayZone) = ("Europe/Rome", .home)
    }
    let days = Watcher(node.watch(.day))
    #expect(try await days.next("today") == Day("2026-05-03"))
    async let next = days.next("tomorrow")
    try await eventually("the watcher waits") { await node.watchCounts.watchers == 1 }
    // Midnight in Rome is 22:00 UTC.
    let midnight = try #require(ISO8601DateFormatter().date(from: "2026-05-03T22:00:00Z"))
    try await clock.sleep(until: midnight - 120)
    try await clock.advance(to: midnight - 0.001)
    #expect(try await node.read(.day) == Day("2026-05-03"))
    try await clock.advance(to: midnight)
    #expect(try await next == Day("2026-05-04"))
    try await node.update(Profile.only) { $0.homeZone = "America/New_York" }
    #expect(try await days.next("another zone") == Day("2026-05-03"))
    await node.close()
  }

  @Test func `a setting tells which device set it, and when`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    let states = Watcher(bob.watch(.settingState(.colorScheme)))
    #expect(try await states.next("the default") == SettingState(value: .system, setBy: nil))
    try await alice.set(.colorScheme, to: .dark)
    try await circle.settle()
    let dark = try await states.next("dark")
    let author = try #require(dark.setBy)
    #expect(dark.value == .dark && author.deviceName == "alice" && !author.isOwn)
    #expect(author.verb == "settings.set")
    #expect(try await alice.history(limit: 1).first?.id == author.id)
    try await bob.set(.colorScheme, to: .light)
    let light = try await states.next("light")
    #expect(light.value == .light && light.setBy?.isOwn == true)
    try await bob.remove(.colorScheme)
    #expect(try await states.next("the default again") == SettingState(value: .system, setBy: nil))
    await circle.close()
  }

  @Test func `the health of a store reports a full disk and a failed one`() async throws {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "alice", clock: clock)
    let health = Watcher(node.watch(.storeHealth))
    #expect(try await health.next("a good store") == .good)
    await node.storeFails(SQLiteError(code: 13, message: "database or disk is full", sql: nil))
    #expect(try await health.next("a full disk") == .full)
    // The node looks at its disk again, and finds room.
    async let room = health.next("room on the disk")
    try await eventually("the watcher waits") { await node.watchCounts.watchers == 1 }
    try await clock.advance(by: .seconds(1))
    #expect(try await room == .good)
    let trips = Task { for await _ in node.watch(Trip.all) {} }
    try await eventually("the watch of trips waits") { await node.watchCounts.watchers == 1 }
    await node.storeFails(SQLiteError(code: 10, message: "disk I/O error", sql: nil))
    try await within("the watch of trips to end") { await trips.value }
    guard case .failed(let failure) = try await health.next("a failed disk") else {
      Issue.record("the failure is not reported")
      return
    }
    await #expect(throws: failure) { try await node.count(Trip.all) }
    await node.close()
  }

  @Test func `a watch of a file's state delivers its arrival`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let trip = try await circle["alice"].save(Trip(name: "Rome"))
    let room = try await circle["alice"].save(Lodging(name: "Casa", tripID: trip.id))
    let file = try await circle["alice"].attach(Data(count: 300_000), named: "a.pdf", to: .lodging(room.id))
    let bob = circle["bob"]
    #expect(try await Watcher(bob.watch(.fileState(of: file))).next("no file") == .nowhere)
    let arrival = Task {
      for await state in bob.watch(.fileState(of: file)) where state.isHere { return true }
      return false
    }
    // The node fetches the file by itself; the watch alone says that it is there.
    try await eventually("the watcher waits") { await bob.watchCounts.watchers >= 1 }
    for _ in 0..<20 {
      try await circle.settle()
      try await circle.clock.advance(by: .seconds(1))
    }
    #expect(try await within("the file to arrive") { await arrival.value })
    await circle.close()
  }
}

extension Node {
  /// Behaves as if a transaction had failed with an error.
  fileprivate func storeFails(_ error: any Error) {
    core.loop.turn { $0.storeFailed(error) }
  }
}
