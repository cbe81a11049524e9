public import Foundation
import Home
import Records
import Replication
import Storage

/// A habit and what was done for it: values of days, completion, streaks.
///
/// A day is due if the schedule names its weekday and the habit runs then: from its start, or its first entry if that is
/// earlier, to its end; it is done if a binary habit has an entry,
/// or the entries of a numeric one reach its daily target (any entry above zero if there is none).
public struct HabitProgress: Identifiable, Hashable, Sendable {
  public var id: Habit.ID { habit.id }
  /// The habit.
  public let habit: Habit
  /// Today, as the days are counted.
  public let today: Day
  /// The sum of the entries of each day that has any.
  public let values: [Day: Double]
  /// Before the first entry there is no streak.
  private let earliest: Day?
  private let first: Day?
  private let last: Day?

  /// Works out what was done.
  ///
  /// - Parameters:
  ///   - habit: the habit.
  ///   - logs: all entries of the habit, in any order.
  ///   - count: on which day an entry counts.
  ///   - now: decides what day today is.
  public init(_ habit: Habit, _ logs: [HabitEntry], count: DayCount, now: Date = .now) {
    self.habit = habit
    today = count.day(at: now)
    var sums: [Day: DecimalSum] = [:]
    for log in logs { sums[count.day(of: log), default: DecimalSum()].add(log.value ?? 1) }
    values = sums.mapValues(\.value)
    let earliest = values.keys.min()
    self.earliest = earliest
    // What was done before a habit began counts from then on: applications let people fill in the past.
    first = habit.startDate.map { count.day(at: $0) }.map { min($0, earliest ?? $0) }
    last = [habit.endDate, habit.archivedDate].compactMap { $0.map { count.day(at: $0) } }.min()
  }

  /// The sum of a day's entries.
  public func value(on day: Day) -> Double { values[day] ?? 0 }

  /// Whether what was to do that day is done.
  public func isDone(on day: Day) -> Bool {
    guard let value = values[day] else { return false }
    guard habit.kind == .numeric else { return true }
    return habit.dailyTarget.map { value >= $0 } ?? (value > 0)
  }

  /// Whether the habit is to be done that day.
  public func isDue(on day: Day) -> Bool {
    habit.schedule.isDue(onWeekday: day.weekday) && (first.map { day >= $0 } ?? true)
      && (last.map { day <= $0 } ?? true)
  }

  /// How much of what was due was done, 0 to 1; nil if nothing was due.
  public func completion(in days: ClosedRange<Day>) -> Double? {
    let due = dueDays(in: days)
    return due.isEmpty ? nil : Double(due.count { isDone(on: $0) }) / Double(due.count)
  }

  /// How many due days up to today were done without a gap. Today breaks no streak before it is over.
  public var currentStreak: Int {
    guard let earliest else { return 0 }
    var streak = 0
    var day = today
    while day >= earliest {
      if isDue(on: day) {
        guard isDone(on: day) || day == today else { break }
        if isDone(on: day) { streak += 1 }
      }
      // There is no day before the first of the calendar.
      guard day > earliest else { break }
      day = day.adding(days: -1)
    }
    return streak
  }

  /// The longest streak there ever was.
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
  /// Habits and what was done for them, counted as the profile says; the value is read again when today ends.
  ///
  /// - Parameter now: decides what day today is; the time of the read without it.
  package func progress(
    of habits: Query<Habit>, since: Day?, now: Date?, _ time: inout EvaluationTime
  ) throws -> [HabitProgress] {
    let count = try dayCount(&time, isNow: now == nil)
    return try records(habits, &time).map {
      try progress(of: $0, count, since: since, now ?? Date(milliseconds: time.now))
    }
  }

  /// One habit and what was done for it; nil if people can't see it.
  package func progress(
    of habit: Habit.ID, since: Day?, now: Date?, _ time: inout EvaluationTime
  ) throws -> HabitProgress? {
    let count = try dayCount(&time, isNow: now == nil)
    return try record(Habit.self, habit).map {
      try progress(of: $0, count, since: since, now ?? Date(milliseconds: time.now))
    }
  }

  /// How days are counted; the value is read again when today ends.
  private func dayCount(_ time: inout EvaluationTime, isNow: Bool) throws -> DayCount {
    let count = DayCount(Profile(try heldProfile()))
    if isNow { time.changes(at: Day.end(after: time.now, in: count.zone)) }
    return count
  }

  private func progress(
    of habit: Habit, _ count: DayCount, since: Day?, _ now: Date
  ) throws -> HabitProgress {
    var logs = HabitEntry.all.filter(\.habitID == habit.id)
    // Two days of the calendar are the furthest that zones lie apart.
    if let since { logs = logs.filter(\.date >= since.adding(days: -2).noon(in: .gmt)) }
    var found: [HabitEntry] = []
    try forEach(try logs.stored(now.milliseconds)) { row in
      let log = HabitEntry(row)
      if since.map({ count.day(of: log) >= $0 }) ?? true { found.append(log) }
    }
    return HabitProgress(habit, found, count: count, now: now)
  }
}
