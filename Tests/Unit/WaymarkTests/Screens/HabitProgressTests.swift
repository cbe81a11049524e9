import Foundation
import JSONDocument
import Model
import Testing
import WaymarkCare
import WaymarkKinds
import WaymarkTesting

@testable import NodeOperations
@testable import Waymark

@Suite struct HabitProgressTests {
  private let rome = TimeZone(identifier: "Europe/Rome") ?? .gmt
  private let tokyo = TimeZone(identifier: "Asia/Tokyo") ?? .gmt
  private let habit: Habit

  init() {
    var habit = Habit(name: "Read")
    habit.startDate = Day("2026-03-01")?.noon(in: .gmt)
    self.habit = habit
  }

  private func day(_ text: String) -> Day { Day(text) ?? Day(.distantPast, in: .gmt) }

  private func logs(_ days: [String], _ zone: TimeZone, value: Double = 1) -> [HabitEntry] {
    days.map { HabitEntry(habitID: habit.id, date: day($0).noon(in: zone), zone: zone, value: value) }
  }

  private func progress(
    _ habit: Habit, _ logs: [HabitEntry], _ count: DayCount? = nil, today: String
  ) -> HabitProgress {
    HabitProgress(
      habit, logs, count: count ?? DayCount(in: rome), now: day(today).noon(in: count?.zone ?? rome))
  }

  @Test func `the entries of a day are added up exactly`() {
    let entered = logs(["2026-05-10"], rome, value: 0.1) + logs(["2026-05-10"], rome, value: 0.2)
    #expect(progress(habit, entered, today: "2026-05-10").value(on: day("2026-05-10")) == 0.3)
  }

  @Test(arguments: ["Pacific/Auckland", "Europe/Rome", "America/Los_Angeles"])
  func `a habit begins and ends on the days that were entered, in any zone`(_ zone: String) async throws {
    let alice = try await TestNode.founder("alice")
    var arguments = fields("name=Run", "startDate=2026-05-03", "endDate=2026-05-05")
    arguments["zone"] = .string(zone)
    try await alice.run("habit.add", arguments)
    let habit = try #require(try await alice.node.records(Habit.all).first)
    let place = try #require(TimeZone(identifier: zone))
    let progress = HabitProgress(
      habit, [], count: DayCount(in: place), now: day("2026-05-04").noon(in: place))
    let due = (1...7).filter { progress.isDue(on: day("2026-05-0\($0)")) }
    #expect(due == [3, 4, 5])
  }

  @Test func `a yes or no habit is not done on a day that is set to nothing`() async throws {
    let node = try await TestNode.founder("alice").node
    let habit = Habit(name: "Run")
    _ = try await node.save(habit)
    try await node.setTotal(1, of: habit.id, on: day("2026-05-03"))
    #expect(try await node.records(HabitEntry.all).count == 1)
    try await node.setTotal(0, of: habit.id, on: day("2026-05-03"))
    #expect(try await node.records(HabitEntry.all).isEmpty)
  }

  @Test func `a streak is of consecutive days, and today does not break it`() {
    let table: [(days: [String], current: Int, best: Int)] = [
      ([], 0, 0), (["2026-05-10"], 1, 1), (["2026-05-09"], 1, 1), (["2026-05-08"], 0, 1),
      (["2026-05-08", "2026-05-09", "2026-05-10"], 3, 3), (["2026-05-08", "2026-05-10"], 1, 1),
      (["2026-05-01", "2026-05-02", "2026-05-03", "2026-05-09", "2026-05-10"], 2, 3),
    ]
    for row in table {
      let progress = progress(habit, logs(row.days, rome), today: "2026-05-10")
      #expect(progress.currentStreak == row.current, "\(row.days)")
      #expect(progress.bestStreak == row.best, "\(row.days)")
    }
  }

  @Test func `a streak ends at the first day of the calendar`() {
    var ended = habit
    ended.endDate = day("0001-01-01").noon(in: rome)
    let progress = progress(ended, logs(["0001-01-01"], rome), today: "2026-05-10")
    #expect(progress.currentStreak == 1)
    #expect(progress.bestStreak == 1)
  }

  @Test func `days that are not due neither break a streak nor count`() {
    var weekly = habit
    weekly.schedule = .days([.monday, .wednesday])
    // 4 May 2026 is a Monday.
    let done = logs(["2026-05-04", "2026-05-06", "2026-05-11"], rome)
    let progress = progress(weekly, done, today: "2026-05-12")
    #expect(progress.currentStreak == 3)
    #expect(progress.completion(in: day("2026-05-04")...day("2026-05-12")) == 1)
    #expect(progress.completion(in: day("2026-05-05")...day("2026-05-05")) == nil)
    #expect(progress.completion(in: day("2026-05-04")...day("2026-05-13")) == 0.75)
  }

  @Test func `a habit is due from its start, or its first entry if that is earlier, to its end`() {
    var (ended, archived) = (habit, habit)
    ended.endDate = day("2026-03-03").noon(in: rome)
    archived.endDate = ended.endDate
    archived.archivedDate = day("2026-03-02").noon(in: rome)
    let table: [(habit: Habit, entries: [String], due: [String])] = [
      (ended, [], ["2026-03-01", "2026-03-02", "2026-03-03"]),
      (ended, ["2026-02-28"], ["2026-02-28", "2026-03-01", "2026-03-02", "2026-03-03"]),
      (ended, ["2026-03-02"], ["2026-03-01", "2026-03-02", "2026-03-03"]),
      (archived, ["2026-02-28"], ["2026-02-28", "2026-03-01", "2026-03-02"]),
    ]
    for row in table {
      let progress = progress(row.habit, logs(row.entries, rome), today: "2026-03-05")
      let days = (0..<8).map { day("2026-02-26").advanced(by: $0) }
      #expect(days.filter(progress.isDue).map(\.description) == row.due, "\(row.entries)")
    }
  }

  @Test func `a numeric habit is done when its entries reach the target`() {
    var water = Habit(name: "Water", counting: "glass", dailyTarget: 8)
    water.startDate = habit.startDate
    let entries = logs(["2026-05-09", "2026-05-10"], rome, value: 5) + logs(["2026-05-10"], rome, value: 3)
    let progress = progress(water, entries, today: "2026-05-10")
    #expect(!progress.isDone(on: day("2026-05-09")) && progress.isDone(on: day("2026-05-10")))
    #expect(progress.value(on: day("2026-05-10")) == 8)
    #expect(progress.currentStreak == 1)
  }

  @Test func `days with a clock change are days like others`() {
    // Europe: 29 March and 25 October 2026.
    for span in [["2026-03-28", "2026-03-29", "2026-03-30"], ["2026-10-24", "2026-10-25", "2026-10-26"]] {
      for hour in [-10.0, 0, 11] {
        let entries = span.map {
          HabitEntry(habitID: habit.id, date: day($0).noon(in: rome) + hour * 3_600, zone: rome)
        }
        #expect(progress(habit, entries, today: span[2]).currentStreak == 3, "\(span) \(hour)")
      }
    }
  }

  @Test func `entries of a traveller stay on their local days, unless days are counted at home`() {
    // Half past eleven at night in Tokyo is the afternoon in Rome; half past one in the morning is the day before.
    let late = HabitEntry(
      habitID: habit.id, date: day("2026-05-10").noon(in: tokyo) + 13.5 * 3_600, zone: tokyo)
    #expect(late.day == day("2026-05-11"))
    var profile = Profile(id: .new())
    (profile.homeZone, profile.currentZone) = ("Europe/Rome", "Asia/Tokyo")
    profile.displayZone = .current
    #expect(DayCount(profile).day(of: late) == day("2026-05-11"))
    #expect(DayCount(profile).zone == tokyo)
    profile.displayZone = .home
    #expect(DayCount(profile).day(of: late) == day("2026-05-10"))
    profile.displayZone = .custom("Pacific/Auckland")
    #expect(DayCount(profile).day(of: late) == day("2026-05-11"))
    // The user flies home: entries from Tokyo stay on their days.
    (profile.currentZone, profile.displayZone) = ("Europe/Rome", .current)
    #expect(DayCount(profile).day(of: late) == day("2026-05-11"))
    #expect(DayCount(profile).day(at: late.date) == day("2026-05-10"))
  }

  @Test func `progress is computed in the profile's zone, and again when that changes`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    _ = try await node.save(habit)
    _ = try await node.save(
      HabitEntry(habitID: habit.id, date: day("2026-05-02").noon(in: tokyo) + 13.5 * 3_600, zone: tokyo))
    let readings = Watcher(node.watch(.progress(of: habit.id)))
    let first = try #require(try await readings.next("progress"))
    #expect(first.values.keys.sorted() == [day("2026-05-03")])
    #expect(first.today == Day(Date(timeIntervalSince1970: Double(TestNode.morning) / 1_000), in: .current))
    var profile = try await node.profile()
    (profile.name, profile.homeZone, profile.displayZone) = ("Anna", "Europe/Rome", .home)
    _ = try await node.save(profile)
    let second = try #require(try await readings.next("progress by the zone at home"))
    #expect(second.values.keys.sorted() == [day("2026-05-02")])
    #expect(try await node.read(.progress(of: Habit.all, since: day("2026-05-03"))).first?.values == [:])
  }

  @Test func `a user who counts days at home sets and enters the intended day in any zone`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let losAngeles = try #require(TimeZone(identifier: "America/Los_Angeles"))
    _ = try await node.save(habit)
    var profile = try await node.profile()
    (profile.name, profile.homeZone, profile.displayZone) = ("Anna", "Asia/Tokyo", .home)
    _ = try await node.save(profile)
    func values() async throws -> [String: Double] {
      let progress = try #require(try await node.read(.progress(of: habit.id)))
      return Dictionary(uniqueKeysWithValues: progress.values.map { ($0.key.description, $0.value) })
    }
    // It is 17:00 of 3 May in Tokyo, and 01:00 of the same day in Los Angeles.
    try await node.setTotal(4, of: habit.id, on: day("2026-05-03"), zone: losAngeles)
    try await node.setTotal(7, of: habit.id, on: day("2026-05-02"), zone: losAngeles)
    #expect(try await values() == ["2026-05-02": 7, "2026-05-03": 4])
    try await node.addEntry(to: habit.id, 2, on: day("2026-05-01"), zone: losAngeles)
    try await node.setTotal(5, of: habit.id, on: day("2026-05-02"), zone: losAngeles)
    #expect(try await values() == ["2026-05-01": 2, "2026-05-02": 5, "2026-05-03": 4])
  }

  @Test func `an entry that was moved to another day stays there when its first day is set`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    _ = try await node.save(habit)
    try await node.setTotal(4, of: habit.id, on: day("2026-05-01"), zone: rome)
    var moved = try #require(try await node.records(HabitEntry.all).first)
    moved.move(to: day("2026-05-02").noon(in: rome), zone: rome)
    _ = try await node.save(moved)
    try await node.setTotal(7, of: habit.id, on: day("2026-05-01"), zone: rome)
    let logs = try await node.records(HabitEntry.all)
    #expect(Set(logs.map { "\($0.day) \($0.value ?? 0)" }) == ["2026-05-01 7.0", "2026-05-02 4.0"])
  }

  @Test func `entries add up, and a day can be set to a value or cleared`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    var habit = habit
    habit.kind = .numeric
    _ = try await node.save(habit)
    try await node.addEntry(to: habit.id, 2, zone: rome)
    try await node.addEntry(to: habit.id, 3, zone: rome)
    func values() async throws -> [Double] {
      // Entries of one moment are in the order of their ids, which are random.
      try await node.records(HabitEntry.all.filter(\.habitID == habit.id)).map { $0.value ?? 0 }.sorted()
    }
    #expect(try await values() == [2, 3])
    #expect(try await node.setTotal(7, of: habit.id, zone: rome) != nil)
    #expect(try await values() == [7])
    #expect(try await node.setTotal(7, of: habit.id, zone: rome) == nil)
    let past = try await node.addEntry(to: habit.id, on: day("2026-04-01"), zone: rome)
    #expect(past.day == day("2026-04-01"))
    try await node.setTotal(nil, of: habit.id, zone: rome)
    #expect(try await node.records(HabitEntry.all) == [past])
    await #expect(throws: WaymarkError.self) { try await node.addEntry(to: .new(), zone: rome) }
    for value in [Double.infinity, .nan, 2_000_000] {
      await #expect(throws: WaymarkError.self) { try await node.setTotal(value, of: habit.id, zone: rome) }
      await #expect(throws: WaymarkError.self) { try await node.addEntry(to: habit.id, value, zone: rome) }
    }
  }
}
