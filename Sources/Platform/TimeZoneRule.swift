/// A rule for all years, in the form of the variable `TZ` of POSIX: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct TimeZoneRule: Hashable, Sendable {
  /// The offset of standard time, in seconds east of UTC.
  private let standard: Int
  private let daylight: Daylight?

  private struct Daylight: Hashable {
    let offset: Int
    let start: YearDay
    let end: YearDay
  }

  /// Parses a rule; nil if it is malformed, or has no days for its daylight saving time.
  init?(_ text: some Collection<UInt8>) {
    var parser = Parser(rest: Array(text)[...])
    guard parser.name(), let standard = parser.offset() else { return nil }
    self.standard = standard
    guard !parser.rest.isEmpty else {
      daylight = nil
      return
    }
    guard parser.name() else { return nil }
    // By default an hour ahead of standard time.
    let offset = parser.rest.first == UInt8(ascii: ",") ? standard + 3_600 : parser.offset()
    guard let offset, parser.take(","), let start = parser.yearDay(), parser.take(","),
      let end = parser.yearDay(), parser.rest.isEmpty
    else { return nil }
    daylight = Daylight(offset: offset, start: start, end: end)
  }

  /// Returns the offset at a time, in seconds east of UTC.
  ///
  /// - Parameter time: seconds since 1970.
  func offset(at time: Int64) -> Int {
    guard let daylight else { return standard }
    // The last change up to this time. Where both are at the same moment, daylight saving time lasts all year.
    var (latest, offset) = (Int64.min, standard)
    let year = year(at: time.clamped + Int64(standard))
    for year in year - 1...year + 1 {
      let end = daylight.end.time(in: year) - Int64(daylight.offset)
      if end <= time, end > latest { (latest, offset) = (end, standard) }
      let start = daylight.start.time(in: year) - Int64(standard)
      if start <= time, start >= latest { (latest, offset) = (start, daylight.offset) }
    }
    return offset
  }
}

extension Int64 {
  /// The nearest time that is less than 100,000 years from 1970, in seconds, so that calculations can't overflow.
  fileprivate var clamped: Int64 { Swift.min(Swift.max(self, -3_000_000_000_000), 3_000_000_000_000) }
}

/// A day of every year, and a time on that day.
private struct YearDay: Hashable {
  enum Day: Hashable {
    /// 1 to 365; 29 February is never counted.
    case julian(Int)
    /// 0 to 365; 29 February is counted.
    case zeroBased(Int)
    /// The weekday (0 is Sunday) of a week (1 to 5, and 5 is the last) of a month.
    case weekday(Int, week: Int, month: Int)
  }

  let day: Day
  /// In seconds; may be negative or longer than a day.
  let time: Int

  /// Returns the local time, in seconds since 1970.
  func time(in year: Int64) -> Int64 { date(in: year) * 86_400 + Int64(time) }

  private func date(in year: Int64) -> Int64 {
    let first = daysSince1970(year: year, month: 1, day: 1)
    switch day {
    case .julian(let number):
      let isAfterLeapDay = number >= 60 && daysSince1970(year: year, month: 3, day: 1) - first == 60
      return first + Int64(number) - (isAfterLeapDay ? 0 : 1)
    case .zeroBased(let number): return first + Int64(number)
    case .weekday(let weekday, let week, let month):
      let first = daysSince1970(year: year, month: Int64(month), day: 1)
      let next = daysSince1970(year: month == 12 ? year + 1 : year, month: Int64(month % 12 + 1), day: 1)
      // 1 January 1970 was a Thursday.
      let firstWeekday = ((first + 4) % 7 + 7) % 7
      let date = first + (Int64(weekday) - firstWeekday + 7) % 7 + Int64(week - 1) * 7
      return date < next ? date : date - 7
    }
  }
}

/// Returns the year of a local time, in seconds since 1970.
private func year(at time: Int64) -> Int64 {
  let days = time / 86_400 - (time % 86_400 < 0 ? 1 : 0)
  // The mean length of a year is 365.2425 days, so the estimate is at most one year off.
  var year = 1970 + days * 10_000 / 3_652_425
  while daysSince1970(year: year + 1, month: 1, day: 1) <= days { year += 1 }
  while daysSince1970(year: year, month: 1, day: 1) > days { year -= 1 }
  return year
}

/// Returns the number of days from 1 January 1970 to a day of the Gregorian calendar; negative for earlier days.
package func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
  let year = month <= 2 ? year - 1 : year
  let era = (year >= 0 ? year : year - 399) / 400
  let yearOfEra = year - era * 400
  let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
  let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

private struct Parser {
  var rest: ArraySlice<UInt8>

  mutating func take(_ letter: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: letter) else { return false }
    rest.removeFirst()
    return true
  }

  /// Skips the abbreviation of a zone: letters, or anything between angle brackets.
  mutating func name() -> Bool {
    func isLetter(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 }
    let isQuoted = take("<")
    let name = rest.prefix {
      isLetter($0) || isQuoted && (UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || "+-".utf8.contains($0))
    }
    rest = rest[name.endIndex...]
    return name.count >= 3 && (!isQuoted || take(">"))
  }

  /// Parses an offset, which is written in hours west of UTC, and returns it in seconds east of UTC.
  mutating func offset() -> Int? { time(hoursMax: 24).map { -$0 } }

  /// Parses a time as `h`, `h:mm` or `h:mm:ss` with an optional sign, and returns it in seconds.
  private mutating func time(hoursMax: Int) -> Int? {
    let isNegative = take("-")
    if !isNegative { _ = take("+") }
    guard let hours = number(0...hoursMax) else { return nil }
    var seconds = hours * 3_600
    for unit in [60, 1] where take(":") {
      guard let number = number(0...59) else { return nil }
      seconds += number * unit
    }
    return isNegative ? -seconds : seconds
  }

  mutating func yearDay() -> YearDay? {
    let day: YearDay.Day
    if take("M") {
      guard let month = number(1...12), take("."), let week = number(1...5), take("."),
        let weekday = number(0...6)
      else { return nil }
      day = .weekday(weekday, week: week, month: month)
    } else if take("J") {
      guard let number = number(1...365) else { return nil }
      day = .julian(number)
    } else {
      guard let number = number(0...365) else { return nil }
      day = .zeroBased(number)
    }
    // By default at two o'clock; RFC 9636 allows up to a week from the day.
    guard take("/") else { return YearDay(day: day, time: 7_200) }
    return time(hoursMax: 167).map { YearDay(day: day, time: $0) }
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int? {
    let digits = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    guard (1...3).contains(digits.count) else { return nil }
    rest = rest[digits.endIndex...]
    let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    return range ~= number ? number : nil
  }
}
