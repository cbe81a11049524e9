import Foundation
import Records
import Testing
import WaymarkKinds
import WaymarkTesting

@testable import Model
@testable import Waymark

/// Which habits, entries, trips and items are of today, at the edges of the day and of a trip.
struct TodaySelectionTests {
  private let today: Day
  private let rome: TimeZone

  init() throws {
    today = try #require(Day(year: 2026, month: 5, day: 4))
    rome = try #require(TimeZone(identifier: "Europe/Rome"))
  }

  /// A node at noon UTC of 4 May 2026, a Monday, whose person is in Rome.
  private func node() async throws -> Node {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock(date(0)))
    try await node.update(Profile.only) { $0.currentZone = "Europe/Rome" }
    return node
  }

  /// Noon UTC of a day near today, and hours from then.
  private func date(_ days: Int, hours: Double = 0) -> Date {
    today.advanced(by: days).noon(in: TimeZone.gmt) + hours * 3_600
  }

  @Test func `habits that are due or done today are listed in their order, unless they are inactive`()
    async throws
  {
    let node = try await node()
    var paused = Habit(name: "Paused")
    paused.isActive = false
    var water = Habit(name: "Water", counting: "glass", dailyTarget: 8, emoji: "💧")
    water.displayOrder = 3
    var run = Habit(name: "Run", schedule: .days([.monday]))
    run.displayOrder = 2
    var swim = Habit(name: "Swim", schedule: .days([.sunday]))
    swim.displayOrder = 1
    for habit in [paused, water, run, swim, Habit(name: "Walk", schedule: .days([.sunday]))] {
      _ = try await node.save(habit)
    }
    try await node.addEntry(to: paused.id, zone: rome)
    try await node.addEntry(to: swim.id, zone: rome)
    try await node.addEntry(to: water.id, 3, zone: rome)
    let habits = try await node.today().habits
    #expect(habits.map(\.name) == ["Swim", "Run", "Water"])
    #expect(habits.map(\.isDue) == [false, true, true])
    #expect(habits.map(\.isDone) == [true, false, false])
    #expect(habits.map(\.value) == [1, 0, 3])
    #expect(habits.map(\.target) == [nil, nil, 8])
    #expect(habits.map(\.unit) == ["", "", "glass"])
    #expect(habits.map(\.emoji) == ["", "", "💧"])
    try await node.addEntry(to: water.id, 5, zone: rome)
    let full = try await node.today().habits.last
    #expect(full?.value == 8 && full?.isDone == true && full?.streak == 1)
    await node.close()
  }

  @Test func `entries of today are those of that day in their own zones, wherever they were made`()
    async throws
  {
    let node = try await node()
    let habit = try await node.save(Habit(name: "Water", counting: "glass", dailyTarget: nil))
    func entry(_ name: String, _ days: Int, _ minutes: Double, _ value: Double?) async throws -> HabitEntry {
      let zone = try #require(TimeZone(identifier: name))
      let noon = today.advanced(by: days).noon(in: zone)
      return try await node.save(
        HabitEntry(habitID: habit.id, date: noon + minutes * 60, zone: zone, value: value))
    }
    // Ten minutes before midnight, and ten minutes after.
    let late = try await entry("Pacific/Honolulu", 0, 710, 3)
    let middle = try await entry("Europe/Rome", 0, 0, nil)
    let early = try await entry("Pacific/Kiritimati", 0, -710, 2)
    for (zone, days, minutes) in [
      ("Europe/Rome", -1, 710), ("Europe/Rome", 1, -710), ("Pacific/Kiritimati", -1, 710),
      ("Pacific/Honolulu", 1, -710),
    ] as [(String, Int, Double)] {
      _ = try await entry(zone, days, minutes, 100)
    }
    let overview = try await node.today()
    #expect(overview.entries.map(\.id) == [early, middle, late].map(\.id))
    #expect(overview.entries.map(\.zone) == ["Pacific/Kiritimati", "Europe/Rome", "Pacific/Honolulu"])
    #expect(overview.entries.map(\.value) == [2, nil, 3])
    #expect(overview.entries.allSatisfy { $0.habitName == "Water" && $0.habitID == habit.id })
    #expect(overview.habits.map(\.value) == [6])
    // For the progress since a day, the entries at its edges count as well.
    let since = try await node.read(.progress(of: Habit.all, since: today)).first
    #expect(since?.value(on: today) == 6 && since?.value(on: today.advanced(by: -1)) == 0)
    // A person who counts days at home has made only one of them on that day.
    try await node.update(Profile.only) { ($0.homeZone, $0.displayZone) = ("Europe/Rome", .home) }
    #expect(try await node.today().entries.map(\.id) == [middle.id])
    await node.close()
  }

  struct Plan: Sendable, CustomTestStringConvertible {
    /// The first and the last day of each trip, in days from today.
    let trips: [(name: String, first: Int, last: Int?)]
    let name: String?
    let dayNumber: Int?
    let daysToGo: Int?

    init(
      _ trips: [(name: String, first: Int, last: Int?)], _ name: String? = nil, day dayNumber: Int? = nil,
      toGo daysToGo: Int? = nil
    ) {
      (self.trips, self.name, self.dayNumber, self.daysToGo) = (trips, name, dayNumber, daysToGo)
    }

    var testDescription: String { "\(trips)" }
  }

  @Test(arguments: [
    Plan([("Rome", 0, 2)], "Rome", day: 1, toGo: 0), Plan([("Rome", -2, 0)], "Rome", day: 3, toGo: 0),
    Plan([("Rome", 0, nil)], "Rome", day: 1, toGo: 0), Plan([("Rome", -2, -1)]), Plan([("Rome", -1, nil)]),
    Plan([("Rome", 1, 2)], "Rome", toGo: 1), Plan([("Later", 3, 4), ("Sooner", 2, 9)], "Sooner", toGo: 2),
    // The one that began last counts, and one that is under way before one that comes next.
    Plan([("Long", -5, 5), ("Short", -1, 1)], "Short", day: 2, toGo: 0),
    Plan([("Next", 1, 2), ("Present", -3, 0)], "Present", day: 4, toGo: 0),
    // A trip that ends before it begins takes place on its first day.
    Plan([("Rome", 0, -3)], "Rome", day: 1, toGo: 0),
  ])
  func `a trip is under way from its first to its last day`(plan: Plan) async throws {
    let node = try await node()
    for trip in plan.trips {
      _ = try await node.save(
        Trip(name: trip.name, startDate: date(trip.first), endDate: trip.last.map { date($0) }))
    }
    let trip = try await node.today().trip
    #expect(trip?.name == plan.name)
    #expect(trip?.dayNumber == plan.dayNumber)
    #expect(trip?.daysToGo == plan.daysToGo)
    if let trip { #expect(trip.firstDay <= trip.lastDay) }
    await node.close()
  }

  @Test func `items are of today in the zones in which they begin and end`() async throws {
    let node = try await node()
    let trip = try await node.save(Trip(name: "Open"))
    _ = try await node.save(
      Lodging(name: "Casa", tripID: trip.id, start: date(-1), end: date(1), zone: "Europe/Rome"))
    // It ends at half past midnight in Rome, which is the evening before in London.
    var train = Transportation(name: "Night train", tripID: trip.id, start: date(-1, hours: 8), type: .train)
    (train.startZone, train.end, train.endZone) = ("Europe/London", date(-1, hours: 10.5), "Europe/Rome")
    _ = try await node.save(train)
    _ = try await node.save([
      // One o'clock in the morning in Tokyo, and half past eight of the next morning.
      Activity(name: "Early", tripID: trip.id, start: date(-1, hours: 4), zone: "Asia/Tokyo"),
      Activity(name: "Tomorrow", tripID: trip.id, start: date(0, hours: 11.5), zone: "Asia/Tokyo"),
      Activity(name: "Yesterday", tripID: trip.id, start: date(-1, hours: 9), zone: "Europe/Rome"),
      Activity(name: "Any day", tripID: trip.id),
    ])
    let shown = try #require(try await node.today().trip)
    #expect(shown.items.map(\.name) == ["Casa", "Early", "Night train"])
    #expect(shown.items.map(\.kind.rawValue) == ["lodging", "activity", "transportation"])
    #expect(shown.items.last?.startZone == "Europe/London" && shown.items.last?.endZone == "Europe/Rome")
    // A trip without dates has those of its items.
    #expect(shown.firstDay == today.advanced(by: -1) && shown.lastDay == today.advanced(by: 1))
    #expect(shown.dayNumber == 2)
    await node.close()
  }
}
