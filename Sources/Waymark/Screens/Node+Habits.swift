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
    let place = try sayingWhy {
      _ = try visibleHabit(habit)
      return standing(of: day, zone, DayCount(try profile()))
    }
    return try save(HabitLog(habitID: habit, date: place.moment, zone: place.zone, value: value))
  }

  /// Makes a day have a value in one entry, whatever there was; nil takes away all entries that are seen here, and so
  /// does 0 of a habit that is done or not.
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
    let place = standing(of: day, zone, count)
    let entry = EntryDay(habit: record, moment: place.moment.milliseconds, zone: place.zone.identifier)
    let entries = try store.children(of: record.key, KindNumbers.log)
      .filter { count.day(of: HabitLog($0)) == place.day }.sorted { $0.key < $1.key }
    // A day of a habit that is done or not has an entry, or none.
    let entered = entry.isBinary && value == 0 ? nil : value
    let drafts =
      try entered.map { try entry.setting(wireFloat($0), entries, store, newID: newRecordID) }
      ?? entries.map { EntryDraft(.delete, $0.key) }
    return drafts.isEmpty ? nil : drafts
  }

  private func visibleHabit(_ id: Habit.ID) throws -> RecordRow {
    guard let habit = try store.visible(Registry.habit, RecordID(id)) else {
      throw WaymarkError.notFound("habit", id.uuidString, next: "waymark habit list")
    }
    return habit
  }

  /// Where an entry stands: now, or at noon of another day. It is in the zone where the person is, unless it would
  /// count on another day there than the one that is meant.
  private func standing(
    of day: Day?, _ zone: TimeZone, _ count: DayCount
  ) -> (day: Day, moment: Date, zone: TimeZone) {
    let counted = count.fixed ?? zone
    let now = Date(milliseconds: wall())
    let wanted = day ?? Day(now, in: counted)
    let moment = wanted == Day(now, in: counted) ? now : wanted.noon(in: counted)
    return (wanted, moment, Day(moment, in: zone) == wanted ? zone : counted)
  }
}
