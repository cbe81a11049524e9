import Records
import Wire

/// Resolves the names of time zones in a calendar, whatever naming convention it uses.
struct CalendarZones {
  private let zones: ZoneOffsets
  private var definitions: [String: Definition] = [:]
  /// The calendar's default zone, `X-WR-TIMEZONE`, which applies to times without a zone; nil if there is none.
  private(set) var ownZone: String?

  init(_ calendar: CalendarComponent, zones: ZoneOffsets) {
    self.zones = zones
    for component in calendar.components where component.name == "VTIMEZONE" {
      if let name = component.text("TZID") { definitions[name] = Definition(component) }
    }
    ownZone = calendar.text("X-WR-TIMEZONE").flatMap { known($0) }
  }

  /// A calendar's definition of a zone; its rules are parsed once, on first use.
  private final class Definition {
    let location: String?
    private let component: CalendarComponent
    private(set) lazy var rules = ZoneDefinition(component)

    init(_ component: CalendarComponent) {
      self.component = component
      location = component.text("X-LIC-LOCATION")
    }
  }

  /// A time in a calendar.
  struct Time: Hashable {
    /// Milliseconds since 1970.
    var milliseconds: Int64
    /// The IANA name of the time's zone; nil if unknown.
    var zone: String?
    /// Whether the calendar gives a date without a time, so that `milliseconds` is the first millisecond of the day.
    var isDay = false
    /// A remark about how an incomplete time was interpreted; nil if it was complete.
    var remark: String?

    var value: Value { .array([.integer(milliseconds), zone.map(Value.text) ?? .null]) }
  }

  /// Returns the time in a line such as DTSTART.
  ///
  /// - Parameter later: milliseconds to add on the clocks of the time's zone, where a day on which they change is a whole
  ///   day, too.
  func time(_ line: CalendarLine, later: Int64 = 0) throws(RowError) -> Time {
    guard let written = WrittenCalendarTime(line.value) else {
      throw RowError(
        "\(line.name) cannot be \"\(line.value.prefix(40))\": expected YYYYMMDD or YYYYMMDDTHHMMSS")
    }
    let wall = written.wall + later
    if written.isUTC { return Time(milliseconds: wall) }
    let name = written.isDay ? nil : line.parameter("TZID")
    guard let name else {
      let place = ownZone.flatMap { zone in
        zones.milliseconds(wall: wall, zone: zone).map { ($0, zone) }
      }
      if let place { return Time(milliseconds: place.0, zone: place.1, isDay: written.isDay) }
      let remark = written.isDay ? nil : "a time has no zone; its local time is kept as UTC"
      return Time(milliseconds: wall, isDay: written.isDay, remark: remark)
    }
    return time(wall, in: name)
  }

  private func time(_ wall: Int64, in name: String) -> Time {
    let definition = definitions[name]
    if let zone = known(name) ?? definition?.location.flatMap({ known($0) }),
      let time = zones.milliseconds(wall: wall, zone: zone)
    {
      return Time(milliseconds: time, zone: zone)
    }
    if let offset = definition?.rules.seconds(atWall: wall) {
      return Time(
        milliseconds: wall - Int64(offset) * 1_000,
        remark: "the zone \"\(name.prefix(60))\" has no IANA name; its times are converted to UTC")
    }
    return Time(
      milliseconds: wall,
      remark:
        "the zone \"\(name.prefix(60))\" is unknown; its local times are kept as UTC"
    )
  }

  /// Returns the IANA name for a zone's name, which may be the IANA name itself, with or without the prefix that some
  /// applications add, or a Windows name; nil if the name is unknown.
  private func known(_ name: String) -> String? {
    if let zone = WindowsZones.names[name] { return zone }
    let parts = name.split(separator: "/").map(String.init)
    let shortest = parts.count > 1 ? 2 : 1
    for count in stride(from: min(parts.count, 3), through: shortest, by: -1) {
      let tail = parts.suffix(count).joined(separator: "/")
      if zones.seconds(0, tail) != nil { return tail }
    }
    return nil
  }

  func seconds(_ milliseconds: Int64, _ zone: String) -> Int? { zones.seconds(milliseconds, zone) }
}

/// A day or a time as written in a calendar: `20260503`, `20260503T150000` or `20260503T150000Z`.
struct WrittenCalendarTime {
  /// The local time, in milliseconds since 1970.
  let wall: Int64
  let isUTC: Bool
  let isDay: Bool

  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 8 || bytes.count == 15 || bytes.count == 16,
      let year = Self.number(bytes[0..<4]), let month = Self.number(bytes[4..<6]),
      let day = Self.number(bytes[6..<8]), let date = CalendarDay(year: year, month: month, day: day)
    else { return nil }
    isDay = bytes.count == 8
    isUTC = bytes.count == 16
    let midnight = date.daysSince1970 * 86_400_000
    guard !isDay else {
      wall = midnight
      return
    }
    guard bytes[8] == UInt8(ascii: "T"), bytes.count == 15 || bytes[15] == UInt8(ascii: "Z"),
      let hour = Self.number(bytes[9..<11]), let minute = Self.number(bytes[11..<13]),
      let second = Self.number(bytes[13..<15]), hour < 24, minute < 60, second <= 60
    else { return nil }
    // A leap second counts as the second before it.
    wall = midnight + Int64(hour * 3_600 + minute * 60 + min(second, 59)) * 1_000
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    var value = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      value = value * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return value
  }
}

/// The rules of a zone, as a calendar defines them.
struct ZoneDefinition {
  private struct Rule {
    let start: Int64
    let offset: Int
    /// The month, the weekday (0 is Sunday) and the number of that weekday in the month, counted from the end if
    /// negative; nil if the rule takes effect only once.
    let yearly: (month: Int, weekday: Int, nth: Int)?
    let until: Int64
  }

  private var rules: [Rule] = []

  /// Reads at most `Limits.calendarZoneRulesMax` rules and dates in total, because each event's time is compared with
  /// all of them.
  init(_ component: CalendarComponent) {
    for part in component.components.prefix(Limits.calendarZoneRulesMax)
    where part.name == "STANDARD" || part.name == "DAYLIGHT" {
      guard rules.count < Limits.calendarZoneRulesMax,
        let start = part.text("DTSTART").flatMap({ WrittenCalendarTime($0)?.wall }),
        let offset = part.text("TZOFFSETTO").flatMap(Self.offset)
      else { continue }
      let recurrence = part.text("RRULE").map(Self.recurrence)
      // A rule ends at a time in UTC, but its changes are in the local time before each.
      let before = part.text("TZOFFSETFROM").flatMap(Self.offset) ?? offset
      let until =
        recurrence?["UNTIL"].flatMap { WrittenCalendarTime($0) }
        .map { $0.isUTC ? $0.wall + Int64(before) * 1_000 : $0.wall } ?? Int64.max
      rules.append(Rule(start: start, offset: offset, yearly: recurrence.flatMap(Self.yearly), until: until))
      addDates(of: part, offset)
    }
  }

  private mutating func addDates(of part: CalendarComponent, _ offset: Int) {
    for line in part.lines where line.name == "RDATE" {
      let room = Limits.calendarZoneRulesMax - rules.count
      guard room > 0 else { return }
      for date in line.value.split(separator: ",", maxSplits: room).prefix(room) {
        guard let start = WrittenCalendarTime(String(date))?.wall else { continue }
        rules.append(Rule(start: start, offset: offset, yearly: nil, until: .max))
      }
    }
  }

  /// Returns the zone's offset at a local time, in seconds east of UTC; nil if there are no rules.
  func seconds(atWall wall: Int64) -> Int? {
    let latest = rules.compactMap { rule in onset(rule, wall).map { (onset: $0, offset: rule.offset) } }
      .max { $0.onset < $1.onset }
    return latest?.offset ?? rules.min { $0.start < $1.start }?.offset
  }

  /// Returns the last time, up to the given one, at which a rule took effect; nil if it has never taken effect by then.
  private func onset(_ rule: Rule, _ wall: Int64) -> Int64? {
    guard rule.start <= wall else { return nil }
    guard let yearly = rule.yearly else { return rule.start }
    let year = CalendarDay(daysSince1970: floorDivision(min(wall, rule.until), 86_400_000)).year
    let clock = rule.start - floorDivision(rule.start, 86_400_000) * 86_400_000
    for candidate in [year, year - 1] {
      guard let day = Self.day(yearly, in: candidate) else { continue }
      let onset = day * 86_400_000 + clock
      if onset >= rule.start, onset <= wall, onset <= rule.until { return onset }
    }
    return rule.start
  }

  /// Returns the nth weekday of a month, in days since 1970.
  private static func day(_ rule: (month: Int, weekday: Int, nth: Int), in year: Int) -> Int64? {
    guard let first = CalendarDay(year: year, month: rule.month, day: 1)?.daysSince1970 else { return nil }
    // 1 January 1970 was a Thursday.
    let weekday = Int((((first + 4) % 7) + 7) % 7)
    let firstMatch = 1 + (rule.weekday - weekday + 7) % 7
    if rule.nth > 0 { return first + Int64(firstMatch - 1 + (rule.nth - 1) * 7) }
    let last = (28...31).last { CalendarDay(year: year, month: rule.month, day: $0) != nil } ?? 28
    let lastMatch = firstMatch + (last - firstMatch) / 7 * 7
    return first + Int64(lastMatch - 1 + (rule.nth + 1) * 7)
  }

  private static func recurrence(_ text: String) -> [String: String] {
    let parts = text.split(separator: ";").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
    return Dictionary(parts.filter { $0.count == 2 }.map { ($0[0].uppercased(), $0[1]) }) { first, _ in first
    }
  }

  private static let weekdays = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"]

  private static func yearly(_ rule: [String: String]) -> (month: Int, weekday: Int, nth: Int)? {
    guard rule["FREQ"] == "YEARLY", let month = rule["BYMONTH"].flatMap({ Int($0) }),
      (1...12).contains(month),
      let day = rule["BYDAY"], let weekday = weekdays.firstIndex(of: String(day.suffix(2))),
      let nth = Int(day.dropLast(2)), (1...5).contains(abs(nth))
    else { return nil }
    return (month, weekday, nth)
  }

  /// Parses an offset such as `+0200` or `-033000`, and returns it in seconds.
  private static func offset(_ text: String) -> Int? {
    let digits = text.dropFirst()
    guard let sign = text.first, sign == "+" || sign == "-", digits.utf8.count == 4 || digits.utf8.count == 6,
      digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = Int(digits)
    else { return nil }
    let whole = digits.utf8.count == 4 ? number * 100 : number
    let seconds = whole / 10_000 * 3_600 + whole / 100 % 100 * 60 + whole % 100
    return sign == "-" ? -seconds : seconds
  }
}

/// The IANA names for the zone names that Windows and its calendar programs use (Unicode CLDR, windowsZones).
enum WindowsZones {
  static let names = [
    "Dateline Standard Time": "Etc/GMT+12", "Hawaiian Standard Time": "Pacific/Honolulu",
    "Alaskan Standard Time": "America/Anchorage", "Pacific Standard Time": "America/Los_Angeles",
    "US Mountain Standard Time": "America/Phoenix", "Mountain Standard Time": "America/Denver",
    "Central America Standard Time": "America/Guatemala", "Central Standard Time": "America/Chicago",
    "Canada Central Standard Time": "America/Regina", "SA Pacific Standard Time": "America/Bogota",
    "Eastern Standard Time": "America/New_York", "Atlantic Standard Time": "America/Halifax",
    "Venezuela Standard Time": "America/Caracas", "Pacific SA Standard Time": "America/Santiago",
    "Newfoundland Standard Time": "America/St_Johns", "E. South America Standard Time": "America/Sao_Paulo",
    "Argentina Standard Time": "America/Argentina/Buenos_Aires", "Greenland Standard Time": "America/Nuuk",
    "Azores Standard Time": "Atlantic/Azores", "Cape Verde Standard Time": "Atlantic/Cape_Verde",
    "GMT Standard Time": "Europe/London", "Greenwich Standard Time": "Atlantic/Reykjavik",
    "Morocco Standard Time": "Africa/Casablanca", "W. Europe Standard Time": "Europe/Berlin",
    "Central Europe Standard Time": "Europe/Budapest", "Romance Standard Time": "Europe/Paris",
    "Central European Standard Time": "Europe/Warsaw", "W. Central Africa Standard Time": "Africa/Lagos",
    "GTB Standard Time": "Europe/Bucharest", "E. Europe Standard Time": "Europe/Chisinau",
    "FLE Standard Time": "Europe/Kyiv", "Egypt Standard Time": "Africa/Cairo",
    "South Africa Standard Time": "Africa/Johannesburg", "Israel Standard Time": "Asia/Jerusalem",
    "Turkey Standard Time": "Europe/Istanbul", "Arabic Standard Time": "Asia/Baghdad",
    "Arab Standard Time": "Asia/Riyadh", "Russian Standard Time": "Europe/Moscow",
    "E. Africa Standard Time": "Africa/Nairobi", "Iran Standard Time": "Asia/Tehran",
    "Arabian Standard Time": "Asia/Dubai", "Pakistan Standard Time": "Asia/Karachi",
    "India Standard Time": "Asia/Kolkata", "Sri Lanka Standard Time": "Asia/Colombo",
    "Nepal Standard Time": "Asia/Kathmandu", "Bangladesh Standard Time": "Asia/Dhaka",
    "SE Asia Standard Time": "Asia/Bangkok", "China Standard Time": "Asia/Shanghai",
    "Singapore Standard Time": "Asia/Singapore", "Taipei Standard Time": "Asia/Taipei",
    "W. Australia Standard Time": "Australia/Perth", "Tokyo Standard Time": "Asia/Tokyo",
    "Korea Standard Time": "Asia/Seoul", "Cen. Australia Standard Time": "Australia/Adelaide",
    "AUS Central Standard Time": "Australia/Darwin", "E. Australia Standard Time": "Australia/Brisbane",
    "AUS Eastern Standard Time": "Australia/Sydney", "New Zealand Standard Time": "Pacific/Auckland",
    "Fiji Standard Time": "Pacific/Fiji", "Tonga Standard Time": "Pacific/Tongatapu",
  ]
}
