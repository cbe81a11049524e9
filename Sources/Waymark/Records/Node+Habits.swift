public import Foundation
import Records
import Replication
import Storage
public import Wire

extension Node {
  /// Enters that something was done: one more entry, so that two devices that each add one make two.
  ///
  /// - Parameters:
  ///   - habit: its id.
  ///   - value: how much; 1 for a habit that is done or not.
  ///   - day: today if nil.
  ///   - zone: where the person is.
  /// - Throws: ``WaymarkError``: `not_found` if there is no such habit, `bad_value` for an amount that it can't have.
  @discardableResult
  public func log(
    _ habit: Habit.ID, _ value: Double = 1, on day: Day? = nil, zone: TimeZone = .current
  ) throws -> HabitLog {
    try sayingWhy {
      let (id, change) = try entries(of: habit, day, zone).adding(value)
      try write(change)
      guard let entry = try store.record(HabitLog.self, id) else {
        throw WaymarkError.notFound("log", RecordID(id).uuid)
      }
      return entry
    }
  }

  /// Makes a day have a value in one entry, whatever there was; nil takes away all entries that are seen here, and so
  /// does 0 of a habit that is done or not.
  ///
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if it was so already.
  /// - Throws: ``WaymarkError``: `not_found` if there is no such habit, `bad_value` for an amount that it can't have.
  @discardableResult
  public func setValue(
    _ value: Double?, of habit: Habit.ID, on day: Day? = nil, zone: TimeZone = .current
  ) throws -> OperationID? {
    try sayingWhy {
      let entries = try entries(of: habit, day, zone)
      return try write(value.map { try entries.setting($0) } ?? entries.clearing())
    }
  }

  private func entries(of habit: Habit.ID, _ day: Day?, _ zone: TimeZone) throws -> HabitDayEntries {
    try HabitDayEntries(store, of: habit, day, zone, now: wall())
  }
}
