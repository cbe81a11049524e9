public import Platform
import Home
import Records
import Replication
import Storage

/// A habit and its progress: the value of each day, the completion, and streaks.
///
/// A habit is due on a day if the schedule includes the weekday and the habit is active on that day. A habit is
/// active from its start date, or from its first entry if that is earlier, until its end date or the day on which it
/// was archived, whichever comes first.
///
/// A binary habit is done on a day if the day has an entry. A numeric habit is done if the sum of the day's entries
/// reaches the daily target or, if there is no target, is greater than zero.
public struct HabitProgress: Identifiable, Hashable, Sendable, Codable {
  public var id: Habit.ID { habit.id }
  /// The habit.
  public let habit: Habit
  /// The current day, according to the rule by which days are counted.
  public let today: Day
  /// The sum of the entries of each day that has entries.
  public let values: [Day: Double]
  /// The day of the first entry, before which there can be no streak; nil if there are no entries.
  private let earliest: Day?
  /// The first day on which the habit is active; nil for a habit without a start date.
  package let firstDay: Day?
  private let last: Day?

  /// Computes the progress of a habit from its entries.
  ///
  /// - Parameters:
  ///   - habit: the habit.
  ///   - logs: all entries of the habit, in any order.
  ///   - count: the rule that determines on which day an entry counts.
  ///   - now: the time that determines which day is today.
  public init(_ habit: Habit, _ logs: [HabitEntry], count: DayCount, now: Date = .now) {
    self.habit = habit
    today = count.day(at: now)
    var sums: [Day: DecimalSum] = [:]
    for log in logs { sums[count.day(of: log), default: DecimalSum()].add(log.value ?? 1) }
    values = sums.mapValues(\.value)
    let earliest = values.keys.min()
    self.earliest = earliest
    // An entry before the start date extends the habit into the past, because applications let users fill in earlier
    // days.
    firstDay = habit.startDate.map { count.day(at: $0) }.map { min($0, earliest ?? $0) }
    last = [habit.endDate, habit.archivedDate].compactMap { $0.map { count.day(at: $0) } }.min()
  }

  /// Returns the sum of a day's entries; 0 if the day has none.
  public func value(on day: Day) -> Double { values[day] ?? 0 }

  /// Reports whether the habit is done on a day.
  public func isDone(on day: Day) -> Bool {
    guard let value = values[day] else { return false }
    guard habit.kind == .numeric else { return true }
    return habit.dailyTarget.map { value >= $0 } ?? (value > 0)
  }

  /// Reports whether the habit is due on a day.
  public func isDue(on day: Day) -> Bool {
    habit.schedule.isDue(on: day.weekday) && (firstDay.map { day >= $0 } ?? true)
      && (last.map { day <= $0 } ?? true)
  }

  /// Returns the fraction of the due days on which the habit was done, 0 to 1; nil if the habit was due on none of
  /// the days.
  public func completion(in days: ClosedRange<Day>) -> Double? {
    let due = dueDays(in: days)
    return due.isEmpty ? nil : Double(due.count { isDone(on: $0) }) / Double(due.count)
  }

  /// The number of consecutive due days up to today on which the habit was done. If the habit is due today and not
  /// done yet, today does not break the streak.
  public var currentStreak: Int {
    guard let earliest else { return 0 }
    var streak = 0
    var day = today
    while day >= earliest {
      if isDue(on: day) {
        guard isDone(on: day) || day == today else { break }
        if isDone(on: day) { streak += 1 }
      }
      // The loop must end here, because the calendar has no day before its first one.
      guard day > earliest else { break }
      day = day.advanced(by: -1)
    }
    return streak
  }

  /// The length of the longest streak in days.
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
    days.filter(isDue)
  }
}

/// A day of a habit, as `habit show` lists the days of a month.
package struct HabitMark: Hashable, Sendable, Codable {
  package let day: Day
  package let isDue: Bool
  package let isDone: Bool
  let value: Double

  private enum CodingKeys: String, CodingKey {
    case day
    case isDue = "due"
    case isDone = "done"
    case value
  }
}

/// The streaks of a habit and its days in the current month, as `habit show` adds them to the fields of the habit.
package struct HabitCalendar: Hashable, Sendable, Codable {
  package let streak: Int
  package let bestStreak: Int
  package let today: Day
  package let month: [HabitMark]

  private enum CodingKeys: CodingKey, CaseIterable {
    case streak
    case bestStreak
    case today
    case month
  }

  init(_ progress: HabitProgress) {
    (streak, bestStreak) = (progress.currentStreak, progress.bestStreak)
    (today, month) = (progress.today, progress.month)
  }

  /// The keys of its members in the document of a habit.
  static let keys = CodingKeys.allCases.map(\.stringValue)
}

extension HabitProgress {
  /// The days of the current month.
  package var month: [HabitMark] {
    (0..<31).map { today.advanced(by: 1 - today.day + $0) }.filter { $0.month == today.month }.map { day in
      HabitMark(day: day, isDue: isDue(on: day), isDone: isDone(on: day), value: value(on: day))
    }
  }
}

extension RecordSource {
  /// Returns habits and their progress, with days counted according to the profile's settings. Notes in `time` that
  /// the result changes when the current day ends.
  ///
  /// - Parameters:
  ///   - since: the first day of which entries are read; nil for all entries.
  ///   - now: the time that determines which day is today; nil for the time at which the query is run.
  package func progress(
    of habits: Query<Habit>, since: Day?, now: Date?, _ time: inout EvaluationTime
  ) throws -> [HabitProgress] {
    let count = try dayCount(&time, isNow: now == nil)
    return try records(habits, &time).map {
      try progress(of: $0, count, since: since, now ?? Date(milliseconds: time.now))
    }
  }

  /// Returns one habit and its progress; nil if the habit is not visible.
  package func progress(
    of habit: Habit.ID, since: Day?, now: Date?, _ time: inout EvaluationTime
  ) throws -> HabitProgress? {
    let count = try dayCount(&time, isNow: now == nil)
    return try record(habit).map {
      try progress(of: $0, count, since: since, now ?? Date(milliseconds: time.now))
    }
  }

  /// Returns the rule by which days are counted, and notes in `time` that the result changes when the current day
  /// ends.
  func dayCount(_ time: inout EvaluationTime, isNow: Bool) throws -> DayCount {
    let count = DayCount(Profile(try heldProfile()))
    if isNow { time.changes(at: Day.end(after: time.now, in: count.todayZone)) }
    return count
  }

  private func progress(
    of habit: Habit, _ count: DayCount, since: Day?, _ now: Date
  ) throws -> HabitProgress {
    var logs = HabitEntry.all.filter(.isIn(\.habitID, [habit.id]))
    // The calendar days of two zones differ by at most two at any instant, so no entry that counts is missed.
    if let since {
      logs = logs.filter(
        Condition(\.date, .atLeast(.integer(since.advanced(by: -2).noon(in: .gmt).milliseconds))))
    }
    var found: [HabitEntry] = []
    try forEach(try logs.plan.stored(now.milliseconds)) { row in
      let log = HabitEntry(row)
      if since.map({ count.day(of: log) >= $0 }) ?? true { found.append(log) }
    }
    return HabitProgress(habit, found, count: count, now: now)
  }
}
