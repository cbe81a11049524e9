public import Platform
import Home
public import Records
import Replication
import Storage

/// What concerns the user today: the habits that are due with their progress, today's entries, and the trip that is
/// under way or comes next.
public struct TodayOverview: Hashable, Sendable, Codable {
  /// The current day, according to the profile's settings.
  public let day: Day
  /// The active habits that are due today, and those that were done although they are not due, in list order.
  public let habits: [HabitToday]
  /// Today's entries of all habits in chronological order.
  public let entries: [EntryToday]
  /// The trip that is under way or, if there is none, the next one; nil if no trip is planned.
  public let trip: TripToday?

  /// A habit and its progress today.
  public struct HabitToday: Hashable, Sendable, Codable, Identifiable {
    public let id: Habit.ID
    /// The name of the habit.
    public let name: String
    /// The emoji of the habit; empty if it has none.
    public let emoji: String
    /// Whether the habit is due today.
    public let isDue: Bool
    /// Whether the habit is done today.
    public let isDone: Bool
    /// The sum of today's entries.
    public let value: Double
    /// The amount to reach each day; nil for a habit that has no target.
    public let target: Double?
    /// The unit of the amounts; empty if there is none.
    public let unit: String
    /// The number of consecutive due days up to today on which the habit was done; see
    /// ``HabitProgress/currentStreak``.
    public let streak: Int
    /// The length of the longest streak in days.
    public let bestStreak: Int

    private enum CodingKeys: String, CodingKey {
      case id
      case name
      case emoji
      case isDue = "due"
      case isDone = "done"
      case value
      case target
      case unit
      case streak
      case bestStreak
    }

    init(_ progress: HabitProgress) {
      let (habit, today) = (progress.habit, progress.today)
      (id, name, emoji, unit) = (habit.id, habit.name, habit.emoji, habit.unitLabel)
      (isDue, isDone, value) = (
        progress.isDue(on: today), progress.isDone(on: today), progress.value(on: today)
      )
      target = habit.kind == .numeric ? habit.dailyTarget : nil
      (streak, bestStreak) = (progress.currentStreak, progress.bestStreak)
    }
  }

  /// One of today's entries.
  public struct EntryToday: Hashable, Sendable, Codable, Identifiable {
    public let id: HabitEntry.ID
    /// The id of the habit.
    public let habitID: Habit.ID
    /// The name of the habit.
    public let habitName: String
    /// The time of the entry.
    public let date: Date
    /// The zone in which the entry was made; nil for UTC.
    public let zone: String?
    /// The amount; nil counts as 1.
    public let value: Double?

    private enum CodingKeys: String, CodingKey {
      case id
      case habitID = "habitId"
      case habitName
      case date
      case zone
      case value
    }
  }

  /// A trip that is under way or comes next, and its items of today.
  public struct TripToday: Hashable, Sendable, Codable, Identifiable {
    public let id: Trip.ID
    /// The name of the trip.
    public let name: String
    /// The first day of the trip.
    public let firstDay: Day
    /// The last day of the trip.
    public let lastDay: Day
    /// The number of days until the trip begins; 0 if it is under way.
    public let daysToGo: Int
    /// The number of today among the days of the trip, beginning with 1; nil if the trip is not under way.
    public let dayNumber: Int?
    /// The items that take place today, each in the zone in which it begins; empty if the trip is not under way.
    public let items: [ItemToday]
  }

  /// An item of a trip that takes place today.
  public struct ItemToday: Hashable, Sendable, Codable, Identifiable {
    /// The kind of the item.
    public let kind: RecordKind
    public let id: UUID
    /// The name of the item.
    public let name: String
    /// The time at which the item begins.
    public let start: Date?
    /// The zone in which the item begins; nil for UTC.
    public let startZone: String?
    /// The time at which the item ends.
    public let end: Date?
    /// The zone in which the item ends; nil for UTC.
    public let endZone: String?
  }
}

extension RecordSource {
  /// Returns what concerns the user today. Notes in `time` that the result changes when the day ends.
  package func today(_ time: inout EvaluationTime) throws -> TodayOverview {
    let count = try dayCount(&time, isNow: true)
    let day = count.day(at: Date(milliseconds: time.now))
    let habits = try progress(of: Habit.all, since: nil, now: nil, &time)
      .filter { $0.habit.isActive && ($0.isDue(on: day) || $0.values[day] != nil) }
    return TodayOverview(
      day: day, habits: habits.map { TodayOverview.HabitToday($0) },
      entries: try entries(on: day, count, &time), trip: try trip(on: day, &time))
  }

  private func entries(
    on day: Day, _ count: DayCount, _ time: inout EvaluationTime
  ) throws -> [TodayOverview.EntryToday] {
    // The calendar days of two zones differ by at most two at any instant, so no entry that counts is missed.
    let near = HabitEntry.all
      .filter(Condition(\.date, .atLeast(.integer(day.advanced(by: -2).noon(in: .gmt).milliseconds))))
      .filter(Condition(\.date, .atMost(.integer(day.advanced(by: 2).noon(in: .gmt).milliseconds))))
    return try records(near, &time).filter { count.day(of: $0) == day }.map { entry in
      TodayOverview.EntryToday(
        id: entry.id, habitID: entry.habitID,
        habitName: try record(entry.habitID)?.name ?? "", date: entry.date, zone: entry.zone,
        value: entry.value)
    }
  }

  /// Returns the trip that began last among those that are under way or, if there is none, the one that begins next.
  private func trip(on day: Day, _ time: inout EvaluationTime) throws -> TodayOverview.TripToday? {
    let trips = try overviews(of: Trip.all, &time).compactMap { overview in
      overview.days.map { (overview: overview, days: $0) }
    }
    let present = trips.filter { $0.days.contains(day) }.max { $0.days.lowerBound < $1.days.lowerBound }
    let next = trips.filter { $0.days.lowerBound > day }.min { $0.days.lowerBound < $1.days.lowerBound }
    guard let (overview, days) = present ?? next else { return nil }
    let isUnderWay = present != nil
    return TodayOverview.TripToday(
      id: overview.id, name: overview.trip.name, firstDay: days.lowerBound, lastDay: days.upperBound,
      daysToGo: isUnderWay ? 0 : day.distance(to: days.lowerBound),
      dayNumber: isUnderWay ? days.lowerBound.distance(to: day) + 1 : nil,
      items: isUnderWay ? try items(of: overview.id, on: day) : [])
  }

  private func items(of trip: Trip.ID, on day: Day) throws -> [TodayOverview.ItemToday] {
    try timeline(of: RecordKey(kind: KindNumbers.trip, id: .init(trip))).compactMap { kind, row in
      guard let item = TimelineItem(row), item.days?.contains(day) == true else { return nil }
      let shown = item.item
      return TodayOverview.ItemToday(
        kind: schema.name(kind.number), id: item.id, name: shown.name, start: shown.start,
        startZone: shown.startZone, end: shown.end, endZone: shown.endZone)
    }
  }
}

extension TripOverview {
  /// The first and the last day of the trip. Dates of a trip are days in UTC; where the trip has none, those of its
  /// items count.
  package var days: ClosedRange<Day>? {
    guard let start = trip.startDate ?? firstStart else { return nil }
    let first = Day(start, in: .gmt)
    return first...max(first, (trip.endDate ?? lastEnd).map { Day($0, in: .gmt) } ?? first)
  }
}

extension TimelineItem {
  /// The days on which the item takes place, each in the zone of its start or end; nil if it has no start time.
  package var days: ClosedRange<Day>? {
    guard let first = day else { return nil }
    let zone = (item.endZone ?? item.startZone).flatMap { Zone(named: $0) } ?? .utc
    return first...max(first, item.end.map { Day($0, in: zone) } ?? first)
  }
}
