import Platform
import Records
import Wire

/// One VEVENT, with the properties that all events share.
struct CalendarEvent {
  let component: CalendarComponent
  /// The index of the event's calendar in the file.
  let calendar: Int
  let uid: String
  let name: String
  let start: CalendarZones.Time
  /// The end of the event; nil if it has none. For an all-day event, this is the last second of the last day, although
  /// DTEND is the day after it.
  let end: CalendarZones.Time?
  let notes: String?

  var place: String { "line \(component.line)" }

  /// Reads an event; throws if it can't become a single record.
  init(_ component: CalendarComponent, calendar: Int, zones: CalendarZones) throws(RowError) {
    self.component = component
    self.calendar = calendar
    guard let start = component["DTSTART"] else { throw RowError("it has no DTSTART") }
    for property in ["RRULE", "RDATE"] where component[property] != nil {
      throw RowError("it is a recurring event (\(property)), and only single events are imported")
    }
    if component["RECURRENCE-ID"] != nil { throw RowError("it is one occurrence of a recurring event") }
    if component.text("STATUS")?.uppercased() == "CANCELLED" { throw RowError("it is cancelled") }
    self.start = try zones.time(start)
    end = try Self.end(component, from: start, zones)
    name = component.text("SUMMARY")?.trimmed ?? "Without a name"
    uid = component.text("UID") ?? "\(start.value) \(name)"
    notes = component.text("DESCRIPTION")?.trimmed.nonEmpty
  }

  private static func end(
    _ component: CalendarComponent, from startLine: CalendarLine, _ zones: CalendarZones
  ) throws(RowError) -> CalendarZones.Time? {
    let day: Int64 = 86_400_000
    let start = try zones.time(startLine)
    var end: CalendarZones.Time
    if let line = component["DTEND"] {
      end = try zones.time(line)
    } else if let line = component["DURATION"] {
      guard let length = duration(line.value) else {
        throw RowError("DURATION cannot be \"\(line.value.prefix(40))\": expected a duration such as PT1H30M")
      }
      end = try zones.time(startLine, later: length.days)
      end.milliseconds += length.time
    } else if start.isDay {
      end = try zones.time(startLine, later: day)
    } else {
      return nil
    }
    guard end.isDay else { return end }
    // Some applications write the day itself as the end of a one-day event.
    if end.milliseconds == start.milliseconds { end = try zones.time(startLine, later: day) }
    end.milliseconds -= 1_000
    return end
  }

  /// Returns a duration such as `P1DT2H30M` in milliseconds; nil if it is invalid or longer than a hundred years. Its
  /// days and weeks are longer or shorter than 24 hours a day when clocks change, so they are apart from its hours.
  private static func duration(_ text: String) -> (days: Int64, time: Int64)? {
    var rest = text[...]
    let isNegative = rest.hasPrefix("-")
    if isNegative || rest.hasPrefix("+") { rest = rest.dropFirst() }
    guard rest.first == "P", rest.count > 1 else { return nil }
    rest = rest.dropFirst()
    let units: [Character: Int64] = ["W": 604_800, "D": 86_400, "H": 3_600, "M": 60, "S": 1]
    var (days, time): (Int64, Int64) = (0, 0)
    while let first = rest.first {
      if first == "T" {
        rest = rest.dropFirst()
        continue
      }
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      guard digits.count <= 10, let number = Int64(digits),
        let unit = rest.dropFirst(digits.count).first.flatMap({ units[$0] })
      else { return nil }
      if unit >= 86_400 { days += number * unit } else { time += number * unit }
      guard days + time <= 3_155_760_000 else { return nil }
      rest = rest.dropFirst(digits.count + 1)
    }
    let factor: Int64 = isNegative ? -1_000 : 1_000
    return (days * factor, time * factor)
  }

  /// The first and the last day of an all-day event; nil for any other event.
  var days: (first: CalendarDay, last: CalendarDay)? {
    guard let written = component["DTSTART"].flatMap({ WrittenCalendarTime($0.value) }), written.isDay else {
      return nil
    }
    let first = CalendarDay(daysSince1970: floorDivision(written.wall, 86_400_000))
    var end = written.wall
    if let line = component["DTEND"] {
      end = WrittenCalendarTime(line.value)?.wall ?? end
    } else if let length = component["DURATION"].flatMap({ Self.duration($0.value) }) {
      end += length.days + length.time
    }
    guard end > written.wall else { return (first, first) }
    return (first, CalendarDay(daysSince1970: floorDivision(end - 1, 86_400_000)))
  }

  /// A key that is greater for newer versions of an event, of which a file can have several.
  var version: (Int64, String) {
    let sequence = component.text("SEQUENCE").flatMap { Int64($0) } ?? 0
    return (sequence, component.text("LAST-MODIFIED") ?? component.text("DTSTAMP") ?? "")
  }

  /// Reports the properties of the event that no record can represent, and times that are incomplete.
  func noteUnheld(in builder: inout PlanBuilder) {
    for name in Self.unheld where component[name] != nil {
      builder.count("events: \(name) is not supported and is left out")
    }
    if component.components.contains(where: { $0.name == "VALARM" }) {
      builder.count("events: a reminder (VALARM) is not supported and is left out")
    }
    for time in [start, end] {
      if let remark = time?.remark { builder.count("events: \(remark)") }
    }
  }

  private static let unheld = [
    "ATTENDEE", "ATTACH", "CATEGORIES", "CONTACT", "COMMENT", "GEO", "ORGANIZER", "RESOURCES",
  ]
}

extension String {
  var nonEmpty: String? { isEmpty ? nil : self }
}

extension RecordID {
  /// Derives a record's id from an event's UID: the UID itself if it is a UUID, or else a hash of it.
  init(event uid: String, _ kind: Kind) {
    self = RecordID(uuid: uid) ?? RecordID(kind: kind, key: "ics \(uid)")
  }
}
