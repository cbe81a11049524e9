import Foundation
import Testing
import WaymarkKinds

@testable import Model
@testable import Waymark

/// When a habit is done on a day, and the days that its calendar and its streaks cover.
struct HabitDayTests {
  private let utc: TimeZone

  init() throws { utc = try #require(TimeZone(identifier: "UTC")) }

  private func progress(_ habit: Habit, _ entries: [(String, Double?)], today: String) throws -> HabitProgress
  {
    var made: [HabitEntry] = []
    for (text, value) in entries {
      let day = try #require(Day(text))
      made.append(HabitEntry(habitID: habit.id, date: day.noon(in: utc), zone: utc, value: value))
    }
    let now = try #require(Day(today)).noon(in: utc)
    return HabitProgress(habit, made, count: DayCount(in: utc), now: now)
  }

  private static let run = Habit(name: "Run")
  private static let water = Habit(name: "Water", counting: "glass", dailyTarget: nil)
  private static let reading = Habit(name: "Read", counting: "hour", dailyTarget: 2)

  private static let days: [(habit: Habit, values: [Double?], isDone: Bool)] = [
    // Any entry counts for a habit without an amount.
    (run, [], false), (run, [1], true), (run, [0], true), (run, [nil], true),
    // Without a target, anything above nothing does.
    (water, [], false), (water, [0], false), (water, [0.01], true), (water, [-1], false),
    (water, [nil], true),
    (water, [1, -1], false),
    // An entry without an amount counts as 1, and amounts are added up as decimals.
    (reading, [1.9], false), (reading, [2], true), (reading, [3], true), (reading, [1, nil], true),
    (reading, [nil], false), (reading, [0.7, 1.3], true), (reading, [3, -1.5], false),
  ]

  @Test func `a habit is done on a day by its kind and its target`() throws {
    let day = try #require(Day("2026-05-04"))
    for (habit, values, isDone) in Self.days {
      let found = try progress(habit, values.map { ("2026-05-04", $0) }, today: "2026-05-04")
      #expect(found.isDone(on: day) == isDone, "\(habit.name) \(values)")
      #expect(found.currentStreak == (isDone ? 1 : 0), "\(habit.name) \(values)")
      #expect(!found.isDone(on: day.advanced(by: 1)) && !found.isDone(on: day.advanced(by: -1)))
    }
  }

  @Test(arguments: [("2026-05-31", 31), ("2026-04-01", 30), ("2028-02-10", 29), ("2026-02-28", 28)])
  func `the calendar of a habit has the days of the current month, and no others`(
    today: String, count: Int
  ) throws {
    let habit = Habit(name: "Run", schedule: .days([.monday]))
    let day = try #require(Day(today))
    let month = try progress(habit, [(today, 2), (today, 1.5)], today: today).month
    #expect(month.map(\.day.day) == Array(1...count))
    #expect(month.allSatisfy { $0.day.month == day.month && $0.day.year == day.year })
    #expect(month.filter(\.isDue).map(\.day) == month.map(\.day).filter { $0.weekday == .monday })
    #expect(month.filter(\.isDone).map(\.day) == [day])
    #expect(month.map(\.value).reduce(0, +) == 3.5)
  }

  @Test func `streaks end today, and entries of days to come don't count`() throws {
    let table: [(days: [String], current: Int, best: Int)] = [
      (["2026-05-11"], 0, 0), (["2026-05-09", "2026-05-10", "2026-05-11"], 2, 2),
      (["2026-05-08", "2026-05-11", "2026-05-12"], 0, 1),
    ]
    for row in table {
      let found = try progress(Self.run, row.days.map { ($0, 1) }, today: "2026-05-10")
      #expect(found.currentStreak == row.current && found.bestStreak == row.best, "\(row.days)")
    }
  }

  @Test func `a streak stays after the end of its habit, and a day after the end does not break it`() throws {
    var ended = Habit(name: "Run")
    ended.startDate = Day("2026-05-01")?.noon(in: utc)
    ended.endDate = Day("2026-05-05")?.noon(in: utc)
    let done = try progress(
      ended, [("2026-05-03", 1), ("2026-05-04", 1), ("2026-05-05", 1)], today: "2026-05-10")
    #expect(done.currentStreak == 3 && done.bestStreak == 3)
    let missed = try progress(ended, [("2026-05-03", 1), ("2026-05-04", 1)], today: "2026-05-10")
    #expect(missed.currentStreak == 0 && missed.bestStreak == 2)
    let first = try #require(Day("2026-05-01"))
    #expect(done.completion(in: first...first.advanced(by: 9)) == 0.6)
  }
}
