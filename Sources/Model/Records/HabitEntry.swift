public import Platform
import Home
import Records
import Replication
import Storage
import Wire

/// One entry of a habit, which records when the habit was done and which calendar day it was at that time and place.
///
/// The value of a day is the sum of its entries, so if two devices add one glass each, the day has two glasses.
/// ``Node/addEntry(to:_:on:zone:)`` and related calls write the entries of a day.
public struct HabitEntry: Record {
  public let id: ID
  /// The habit that the entry belongs to. The entry is hidden while the habit is deleted.
  public private(set) var habitID: Habit.ID
  /// The time when the habit was done.
  public private(set) var date = Date(milliseconds: 0)
  /// The IANA name of the time zone in which the habit was done; nil for UTC.
  public private(set) var zone: String?
  /// The calendar day in that zone at that time.
  public private(set) var day = Day(CalendarDay(daysSince1970: 0))
  /// The amount, −1,000,000 to 1,000,000; nil counts as 1. The amount does not matter for a binary habit, which any
  /// entry marks as done.
  public var value: Double?
  public var origin = RecordOrigin()

  public init(id: ID) {
    self.id = id
    habitID = .zero
  }

  /// Creates a new entry.
  public init(
    habitID: Habit.ID, date: Date, zone: TimeZone = .current, value: Double? = 1, id: ID = .new()
  ) {
    self.init(habitID: habitID, date: date, zone: Zone(zone), value: value, id: id)
  }

  package init(habitID: Habit.ID, date: Date, zone: Zone, value: Double?, id: ID) {
    self.id = id
    self.habitID = habitID
    self.value = value
    move(to: date, zone: zone)
  }

  /// Moves the entry to another time, which can change the entry's day.
  public mutating func move(to date: Date, zone: TimeZone = .current) { move(to: date, zone: Zone(zone)) }

  private mutating func move(to date: Date, zone: Zone) {
    self.date = Date(milliseconds: date.milliseconds)
    self.zone = zone.name
    day = Day(date, in: zone)
  }

  public static let fields = RecordFields<HabitEntry>(
    Kind.habitEntry, id: \.id,
    [habitField, dateField, .field("value", \.value)])

  private static var habitField: RecordField<HabitEntry> {
    RecordField(
      name: "habitID", read: { $1.habitID = Habit.ID($0) ?? .zero }, write: { $0.habitID.value },
      parts: [.init(path: \.habitID)])
  }

  private static var dateField: RecordField<HabitEntry> {
    RecordField(
      name: "date", read: { $1.readDate($0) },
      write: { .array([$0.date.value, $0.zone?.value ?? .null, .text($0.day.description)]) },
      parts: [.init(path: \.date), .init(path: \.zone, index: 1), .init(path: \.day, index: 2)])
  }

  private mutating func readDate(_ value: Value) {
    date = Date(value.part(0)) ?? date
    zone = String(value.part(1))
    day = value.part(2).asText.flatMap { Day($0) } ?? day
  }
}
