import Records
import Replication
import Wire

/// How entries of habits store their day, and the id of a day's own entry.
enum HabitDay {
  /// The value of an entry's date: the time, its zone, and the calendar day in that zone.
  static func value(_ moment: Moment, zone: String) -> Value {
    .array([.integer(moment), .text(zone), .text(CivilTime.day(moment, zone: zone))])
  }

  /// The id of the entry that holds a day's value if there is no other. It is the same on every device, so that two
  /// devices that set one day concurrently write one record.
  static func entryID(habit: RecordID, day: String) -> RecordID {
    RecordID(kind: Registry.habitEntry, key: "\(habit.uuid)/\(day)")
  }
}
