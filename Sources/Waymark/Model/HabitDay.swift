import Records
import Replication
import Wire

/// Which moment and day a habit entry stands at.
enum HabitDay {
  /// The value of an entry's date: the moment, its zone, and the day that the zone's calendar shows then.
  static func value(_ moment: Moment, zone: String) -> Value {
    .array([.integer(moment), .text(zone), .text(CivilTime.day(moment, zone: zone))])
  }

  /// Today is now; another day without a time is its noon, which is the same day in most other zones too;
  /// a time is itself. Nil if the text is neither.
  static func moment(_ text: String?, zone: String, now: Moment) -> Moment? {
    guard let text else { return now }
    guard let written = WrittenTime(text) else { return nil }
    if let moment = written.milliseconds { return moment }
    if text == CivilTime.day(now, zone: zone) { return now }
    let time = text.utf8.count == 10 ? noon : 0
    return CivilTime.offsets.milliseconds(wall: written.wallMilliseconds + time, zone: zone)
  }

  private static let noon: Int64 = 12 * 3_600_000

  /// The entry that holds a day's value where none was seen: the same on every device, so that two that set
  /// one day apart from each other write one record.
  static func entryID(habit: RecordID, day: String) -> RecordID {
    RecordID(kind: Registry.log, key: "\(habit.uuid)/\(day)")
  }
}
