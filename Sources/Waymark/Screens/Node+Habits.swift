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
  ///   - value: how much; 1 for a binary habit.
  ///   - day: today if nil.
  ///   - zone: where the person is.
  /// - Throws: ``WaymarkError``: `not_found` if there is no such habit.
  @discardableResult
  public func log(
    _ habit: Habit.ID, _ value: Double = 1, on day: Day? = nil, zone: TimeZone = .current
  ) throws -> HabitLog {
    _ = try sayingWhy { try visibleHabit(habit) }
    return try save(HabitLog(habitID: habit, date: moment(of: day, zone), zone: zone, value: value))
  }

  /// Makes a day have a value in one entry, whatever there was; nil takes away all entries that are seen here.
  ///
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if it was so already.
  /// - Throws: ``WaymarkError``: `not_found` if there is no such habit.
  @discardableResult
  public func setValue(
    _ value: Double?, of habit: Habit.ID, on day: Day? = nil, zone: TimeZone = .current
  ) throws -> OperationID? {
    try sayingWhy { try drafts(of: value, habit, day, zone) }.flatMap { try write("habit.set", $0) }
  }

  private func drafts(
    of value: Double?, _ habit: Habit.ID, _ day: Day?, _ zone: TimeZone
  ) throws -> [EntryDraft]? {
    let record = try visibleHabit(habit)
    if let value {
      try RecordEditing(store: store, kind: Registry.log, held: nil, now: wall(), ownZone: "UTC")
        .check([(Registry.log.number("value"), .float(value))], isNew: false)
    }
    let count = DayCount(try profile())
    let moment = moment(of: day, zone)
    let wanted = day ?? count.day(at: moment)
    let entry = EntryDay(habit: record, moment: moment.milliseconds, zone: zone.identifier)
    let entries = try store.children(of: record.key, KindNumbers.log)
      .filter { count.day(of: HabitLog($0)) == wanted }.sorted { $0.key < $1.key }
    let drafts =
      try value.map { try entry.setting(wireFloat($0), entries, store) }
      ?? entries.map { EntryDraft(.delete, $0.key) }
    return drafts.isEmpty ? nil : drafts
  }

  private func visibleHabit(_ id: Habit.ID) throws -> RecordRow {
    guard let habit = try store.visible(Registry.habit, RecordID(id)) else {
      throw WaymarkError.notFound("habit", id.uuidString, next: "waymark habit list")
    }
    return habit
  }

  /// Now, or noon of another day.
  private func moment(of day: Day?, _ zone: TimeZone) -> Date {
    let now = Date(milliseconds: wall())
    guard let day, day != Day(now, in: zone) else { return now }
    return day.noon(in: zone)
  }
}
