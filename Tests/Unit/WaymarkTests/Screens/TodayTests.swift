import Foundation
import Model
import Testing
import WaymarkKinds
import WaymarkTesting

@testable import Waymark

/// What `waymark today` and an app's first screen show.
struct TodayTests {
  private let today = Day(year: 2026, month: 5, day: 4)

  private func node() async throws -> Node {
    let noon = try #require(today).noon(in: .gmt)
    let node = try Node.inMemory(name: "alice", clock: VirtualClock(noon))
    var profile = try await node.profile()
    profile.currentZone = "Europe/Rome"
    _ = try await node.save(profile)
    return node
  }

  private func date(_ day: Int, _ month: Int = 5) throws -> Date {
    try #require(Day(year: 2026, month: month, day: day)).noon(in: .gmt)
  }

  @Test func `habits that are due are listed with what is done and their streaks`() async throws {
    let node = try await node()
    let water = Habit(name: "Water")
    for habit in [water, Habit(name: "Sunday walk", schedule: .days([.sunday]))] {
      _ = try await node.save(habit)
    }
    for day in 2...4 { try await node.addEntry(to: water.id, 1, on: Day(year: 2026, month: 5, day: day)) }
    let overview = try await node.today()
    #expect(overview.day == today)
    #expect(overview.habits.map(\.name) == ["Water"])
    #expect(overview.habits.first?.isDone == true)
    #expect(overview.habits.first?.streak == 3)
    #expect(overview.entries.map(\.habitName) == ["Water"])
    await node.close()
  }

  @Test func `the trip under way wins over the next one, with what happens today`() async throws {
    let node = try await node()
    let rome = try await node.save(Trip(name: "Rome", startDate: try date(2), endDate: try date(6)))
    _ = try await node.save(Trip(name: "Oslo", startDate: try date(9), endDate: try date(12)))
    var stay = Lodging(name: "Casa", tripID: rome.id)
    (stay.start, stay.startZone, stay.end) = (try date(2), "Europe/Rome", try date(6))
    var forum = Activity(name: "Forum", tripID: rome.id)
    (forum.start, forum.startZone) = (try date(4), "Europe/Rome")
    var museum = Activity(name: "Museum", tripID: rome.id)
    (museum.start, museum.startZone) = (try date(5), "Europe/Rome")
    _ = try await node.save(stay)
    _ = try await node.save(forum)
    _ = try await node.save(museum)
    let trip = try #require(try await node.today().trip)
    #expect(trip.name == "Rome")
    #expect(trip.dayNumber == 3)
    #expect(trip.daysToGo == 0)
    #expect(trip.items.map(\.name) == ["Casa", "Forum"])
    await node.close()
  }

  @Test func `without a trip under way, the next one says how many days are left`() async throws {
    let node = try await node()
    #expect(try await node.today().trip == nil)
    _ = try await node.save(Trip(name: "Past", startDate: try date(1, 4), endDate: try date(2, 4)))
    _ = try await node.save(Trip(name: "Later", startDate: try date(20)))
    _ = try await node.save(Trip(name: "Next", startDate: try date(9)))
    let trip = try #require(try await node.today().trip)
    #expect(trip.name == "Next")
    #expect(trip.daysToGo == 5)
    #expect(trip.dayNumber == nil)
    #expect(trip.items.isEmpty)
    await node.close()
  }
}
