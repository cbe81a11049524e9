public import Platform
public import Model
public import Waymark
import Wire

extension Node {
  /// Returns the habits that are due today, today's entries, and the trip that is under way or comes next.
  public nonisolated func today() async throws -> TodayOverview { try await read(.today) }

  // MARK: Habits

  /// Adds a habit entry. If two devices each add an entry, the habit has two entries.
  ///
  /// - Parameters:
  ///   - habit: the id of the habit.
  ///   - value: the amount; 1 for a habit that is either done or not.
  ///   - day: the day of the entry; nil for today.
  ///   - zone: the time zone of the person.
  /// - Throws: ``WaymarkError`` with the code `not_found` if there is no such habit, or `bad_value` if the habit can't
  ///   have that amount.
  @discardableResult
  public func addEntry(
    to habit: Habit.ID, _ value: Double = 1, on day: Day? = nil, zone: TimeZone = .current
  ) throws -> HabitEntry {
    try core.withWaymarkErrors {
      let (id, change) = try HabitDayEntries(core.store, of: habit, day, zone, now: core.wall()).adding(value)
      try core.write(change)
      guard let entry = try core.store.record(id) else {
        throw WaymarkError.notFound("entry", id.description)
      }
      return entry
    }
  }

  /// Replaces all entries of a day with a single one. A value of nil removes all entries that are visible here, and so
  /// does 0 for a habit that is either done or not.
  ///
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if nothing had to change.
  /// - Throws: ``WaymarkError`` with the code `not_found` if there is no such habit, or `bad_value` if the habit can't
  ///   have that amount.
  @discardableResult
  public func setTotal(
    _ value: Double?, of habit: Habit.ID, on day: Day? = nil, zone: TimeZone = .current
  ) throws -> OperationID? {
    try core.withWaymarkErrors {
      let entries = try HabitDayEntries(core.store, of: habit, day, zone, now: core.wall())
      return try core.write(value.map { try entries.setting($0) } ?? entries.clearing())
    }
  }
}
