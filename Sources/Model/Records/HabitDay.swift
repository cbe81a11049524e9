import Records
import Replication
import Wire

/// How entries of habits hold their day, and which of them a day has by itself.
enum HabitDay {
  /// The value of an entry's date: the moment, its zone, and the day that the zone's calendar shows then.
  static func value(_ moment: Moment, zone: String) -> Value {
    .array([.integer(moment), .text(zone), .text(CivilTime.day(moment, zone: zone))])
  }

  /// The entry that holds a day's value where none was seen: the same on every device, so that two that set
  /// one day apart from each other write one record.
  static func entryID(habit: RecordID, day: String) -> RecordID {
    RecordID(kind: Registry.habitEntry, key: "\(habit.uuid)/\(day)")
  }
}
