public import Platform
import Home
import Records
import Storage

/// A calendar day without a time zone, such as `2026-05-03`, in the years 1 to 9999.
///
/// A range of days can be iterated: `for day in day.advanced(by: -6)...day { … }`.
public struct Day: Hashable, Strideable, Sendable, CustomStringConvertible {
  let calendar: CalendarDay

  init(_ calendar: CalendarDay) { self.calendar = calendar }

  /// Creates a day; nil if the calendar has no such day.
  public init?(year: Int, month: Int, day: Int) {
    guard let calendar = CalendarDay(year: year, month: month, day: day) else { return nil }
    self.calendar = calendar
  }

  /// Parses a day in the form `2026-05-03`; nil for any other form.
  public init?(_ text: String) {
    guard let calendar = CalendarDay(text) else { return nil }
    self.calendar = calendar
  }

  /// Creates the calendar day on which a time falls in a zone.
  public init(_ date: Date, in zone: TimeZone) { self.init(date, in: Zone(zone)) }

  package init(_ date: Date, in zone: Zone) {
    let wall = date.milliseconds + Int64(zone.offset(at: floorDivision(date.milliseconds, 1_000))) * 1_000
    calendar = CalendarDay(daysSince1970: floorDivision(wall, 86_400_000))
  }

  /// Returns the end of the current day in a zone: the first millisecond of the next day, in milliseconds since 1970.
  package static func end(after now: Int64, in zone: Zone) -> Int64 {
    let today = Day(Date(milliseconds: now), in: zone)
    // A zone may skip midnight or a whole day, or repeat an hour. A binary search for the time at which the day
    // changes handles all of these cases.
    var (before, after) = (now, now.clampedToCalendar + 2 * 86_400_000)
    while after - before > 1 {
      let middle = before + (after - before) / 2
      if Day(Date(milliseconds: middle), in: zone) == today { before = middle } else { after = middle }
    }
    return after
  }

  /// The year, 1 to 9999.
  public var year: Int { calendar.year }
  /// The month, 1 to 12.
  public var month: Int { calendar.month }
  /// The day of the month, 1 to 31.
  public var day: Int { calendar.day }

  /// The day of the week.
  public var weekday: Locale.Weekday {
    Locale.Weekday(number: Int((calendar.daysSince1970 + 3) % 7 + 7) % 7 + 1) ?? .monday
  }

  /// Returns the day that is this number of days later, or earlier if the number is negative.
  public func advanced(by days: Int) -> Day {
    let (sum, overflow) = calendar.daysSince1970.addingReportingOverflow(Int64(days))
    return Day(CalendarDay(daysSince1970: overflow ? (days < 0 ? .min : .max) : sum))
  }

  /// Returns the number of days from this day to another; negative if the other day is earlier.
  public func distance(to other: Day) -> Int { Int(other.calendar.daysSince1970 - calendar.daysSince1970) }

  /// Returns noon of the day in a zone, an instant that falls on the same day in most other zones.
  public func noon(in zone: TimeZone) -> Date { noon(in: Zone(zone)) }

  package func noon(in zone: Zone) -> Date {
    let wall = calendar.daysSince1970 * 86_400_000 + 12 * 3_600_000
    let near = wall - Int64(zone.offset(at: wall / 1_000)) * 1_000
    return Date(milliseconds: CivilTime.offsets.milliseconds(wall: wall, zone: zone.name) ?? near)
  }

  public var description: String { calendar.description }

  public static func < (left: Day, right: Day) -> Bool { left.calendar < right.calendar }
}

extension Day: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let day = Day(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected a day, YYYY-MM-DD")
    }
    self = day
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension Day: QueryValue {
  public var queryOperand: QueryOperand { QueryOperand(column: .text(description)) }
}
