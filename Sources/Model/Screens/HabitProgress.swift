public import Foundation
import Home
import Records
import Replication
import Storage

/// A habit and its progress: values by day, completion, streaks.
///
/// A day is due if the schedule includes its weekday and the habit is active then: from its start, or its first
/// entry if that is earlier, to its end. It is done if a binary habit has an entry, or if the entries of a numeric
/// habit reach its daily target (any entry above zero if there is none).
public struct HabitProgress: Identifiable, Hashable, Sendable {
  public var id: Habit.ID { habit.id }
  /// The habit.
  public let habit: Habit
  /// Today, by the way days are counted.
  public let today: Day
  /// The sum of entries for each day that has any.
  public let values: [Day: Double]
  /// The day of the first entry; there is no streak before it.
  private let earliest: Day?
  private let first: Day?
  private let last: Day?

  /// Computes the progress.
  ///
  /// - Parameters:
  ///   - habit: the habit.
  ///   - logs: all entries of the habit, in any order.
  ///   - count: the rule for the day of an entry.
  ///   - now: the time that determines today.
  public init(_ habit: Habit, _ logs: [HabitEntry], count: DayCount, now: Date = .now) {
    self.habit = habit
    today = count.day(at: now)
    var sums: [Day: DecimalSum] = [:]
    for log in logs { sums[count.day(of: log), default: DecimalSum()].add(log.value ?? 1) }
    values = sums.mapValues(\.value)
    let earliest = values.keys.min()
    self.earliest = earliest
    // Entries before the start extend the habit to the past, because applications let users fill in earlier days.
    first = habit.startDate.map { count.day(at: $0) }.map { min($0, earliest ?? $0) }
    last = [habit.endDate, habit.archivedDate].compactMap { $0.map { count.day(at: $0) } }.min()
  }

  /// The sum of a day's entries.
  public func value(on day: Day) -> Double { values[day] ?? 0 }

  /// Whether the habit is done on a day.
  public func isDone(on day: Day) -> Bool {
    guard let value = values[day] else { return false }
    guard habit.kind == .numeric else { return true }
    return habit.dailyTarget.map { value >= $0 } ?? (value > 0)
  }

  /// Whether the habit is due on a day.
  public func isDue(on day: Day) -> Bool {
    habit.schedule.isDue(onWeekday: day.weekday) && (first.map { day >= $0 } ?? true)
      && (last.map { day <= $0 } ?? true)
  }

  /// The fraction of due days that are done, 0 to 1; nil if none was due.
  public func completion(in days: ClosedRange<Day>) -> Double? {
    let due = dueDays(in: days)
    return due.isEmpty ? nil : Double(due.count { isDone(on: $0) }) / Double(due.count)
  }

  /// The number of consecutive due days up to today that are done. Today does not break the streak before it is
  /// over.
  public var currentStreak: Int {
    guard let earliest else { return 0 }
    var streak = 0
    var day = today
    while day >= earliest {
      if isDue(on: day) {
        guard isDone(on: day) || day == today else { break }
        if isDone(on: day) { streak += 1 }
      }
      // The calendar has no day before its first.
      guard day > earliest else { break }
      day = day.adding(days: -1)
    }
    return streak
  }

  /// The longest streak.
  public var bestStreak: Int {
    guard let earliest, earliest <= today else { return 0 }
    var (best, streak) = (0, 0)
    for day in dueDays(in: earliest...today) {
      streak = isDone(on: day) ? streak + 1 : 0
      best = max(best, streak)
    }
    return best
  }

  private func dueDays(in days: ClosedRange<Day>) -> [Day] {
    (0...days.lowerBound.days(until: days.upperBound)).map { days.lowerBound.adding(days: $0) }
      .filter(isDue)
  }
}

extension Store {
  /// Habits and their progress, counted by the profile's settings; the result changes when today ends.
  ///
  /// - Parameter now: the time that determines today; nil for the time of the read.
  package func progress(
    of habits: Query<Habit>, since: Day?, now: Date?, _ time: inout EvaluationTime
  ) throws -> [HabitProgress] {
    let count = try dayCount(&time, isNow: now == nil)
    return try records(habits, &time).map {
      try progress(of: $0, count, since: since, now ?? Date(milliseconds: time.now))
    }
  }

  /// One habit and its progress; nil if it is not visible.
  package func progress(
    of habit: Habit.ID, since: Day?, now: Date?, _ time: inout EvaluationTime
  ) throws -> HabitProgress? {
    let count = try dayCount(&time, isNow: now == nil)
    return try record(Habit.self, habit).map {
      try progress(of: $0, count, since: since, now ?? Date(milliseconds: time.now))
    }
  }

  /// How days are counted; the result changes when today ends.
  private func dayCount(_ time: inout EvaluationTime, isNow: Bool) throws -> DayCount {
    let count = DayCount(Profile(try heldProfile()))
    if isNow { time.changes(at: Day.end(after: time.now, in: count.zone)) }
    return count
  }

  private func progress(
    of habit: Habit, _ count: DayCount, since: Day?, _ now: Date
  ) throws -> HabitProgress {
    var logs = HabitEntry.all.filter(\.habitID == habit.id)
    // The days of two zones differ by at most two.
    if let since { logs = logs.filter(\.date >= since.adding(days: -2).noon(in: .gmt)) }
    var found: [HabitEntry] = []
    try forEach(try logs.stored(now.milliseconds)) { row in
      let log = HabitEntry(row)
      if since.map({ count.day(of: log) >= $0 }) ?? true { found.append(log) }
    }
    return HabitProgress(habit, found, count: count, now: now)
  }
}
