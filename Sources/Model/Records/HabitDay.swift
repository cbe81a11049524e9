import Records
import Replication
import Wire

/// Encodes the day of a habit entry, and derives the id of the entry that holds a whole day's value.
enum HabitDay {
  /// Returns the value of an entry's date: the time, its zone, and the calendar day in that zone.
  static func value(_ moment: Moment, zone: String) -> Value {
    .array([.integer(moment), .text(zone), .text(CivilTime.day(moment, zone: zone))])
  }

  /// Returns the id of the entry to which a day's value is written if the day has no entry yet. The id is the same on
  /// every device, so two devices that set the same day concurrently write the same record.
  static func entryID(habit: RecordID, day: String) -> RecordID {
    RecordID(kind: Kind.habitEntry, key: "\(habit.uuid)/\(day)")
  }
}
