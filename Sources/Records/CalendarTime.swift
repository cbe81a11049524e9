// Protocol/records.md, "Times": pure calendar arithmetic (proleptic Gregorian, no leap seconds).

import Wire

/// A calendar day, `YYYY-MM-DD`, in the years 1 to 9999.
package struct CalendarDay: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let year: Int
  package let month: Int
  package let day: Int

  /// Creates a day; nil if the calendar has no such day.
  package init?(year: Int, month: Int, day: Int) {
    guard (1...9_999).contains(year), (1...12).contains(month), day >= 1,
      day <= Self.lengths[month - 1] + (month == 2 && Self.isLeap(year) ? 1 : 0)
    else { return nil }
    self.year = year
    self.month = month
    self.day = day
  }

  /// Parses a day in the form `YYYY-MM-DD`, exactly ten characters long.
  package init?(_ text: some StringProtocol) {
    let bytes = Array(text.utf8)
    guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      let year = decimal(bytes[0..<4]), let month = decimal(bytes[5..<7]), let day = decimal(bytes[8..<10])
    else { return nil }
    self.init(year: year, month: month, day: day)
  }

  /// Creates the day that is this many days after 1 January 1970, clamped to the years 1 to 9999.
  package init(daysSince1970: Int64) {
    // Days since 1 March 0000, divided into eras of 400 years (Howard Hinnant, "chrono-compatible low-level date
    // algorithms").
    let shifted = min(max(daysSince1970, Self.daysMin), Self.daysMax) + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
    year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
  }

  package var daysSince1970: Int64 {
    let shiftedYear = Int64(month <= 2 ? year - 1 : year)
    let era = shiftedYear / 400
    let yearOfEra = shiftedYear - era * 400
    let shiftedMonth = Int64(month > 2 ? month - 3 : month + 9)
    let dayOfYear = (153 * shiftedMonth + 2) / 5 + Int64(day) - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  package var description: String {
    asciiText(10) { append(to: &$0) }
  }

  fileprivate func append(to text: inout OutputSpan<UInt8>) {
    appendPair(year / 100, to: &text)
    appendPair(year % 100, to: &text)
    text.append(UInt8(ascii: "-"))
    appendPair(month, to: &text)
    text.append(UInt8(ascii: "-"))
    appendPair(day, to: &text)
  }

  package static func < (left: CalendarDay, right: CalendarDay) -> Bool {
    (left.year, left.month, left.day) < (right.year, right.month, right.day)
  }

  private static let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  /// The first and last day, 0001-01-01 and 9999-12-31, in days since 1 January 1970.
  private static let daysMin: Int64 = -719_162
  private static let daysMax: Int64 = 2_932_896

  private static func isLeap(_ year: Int) -> Bool {
    year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
  }
}

/// A time as written in text. It is an instant if it has an offset from UTC, and a local time otherwise.
package struct WrittenTime: Hashable, Sendable {
  /// The date and time as written, ignoring the offset, in milliseconds since 1970.
  package let wallMilliseconds: Int64
  /// The offset in seconds east of UTC; nil if the text has none.
  package let offsetSeconds: Int?

  /// Whether the text contains only a day, without a time.
  package let isDay: Bool

  /// The instant in milliseconds since 1970 UTC; nil if the text has no offset.
  package var milliseconds: Int64? { offsetSeconds.map { wallMilliseconds - Int64($0) * 1_000 } }

  /// Parses a day such as `2026-05-03` or a time such as `2026-05-03T15:00`. A time may have seconds, a fraction
  /// (truncated to milliseconds), and `Z` or an offset such as `+02:00`.
  package init?(_ text: some StringProtocol) {
    let bytes = Array(text.utf8)
    guard bytes.count >= 10, bytes.count <= 40, let day = CalendarDay(ascii(bytes[0..<10])) else {
      return nil
    }
    var wall = day.daysSince1970 * 86_400_000
    isDay = bytes.count == 10
    guard !isDay else {
      wallMilliseconds = wall
      offsetSeconds = nil
      return
    }
    guard bytes.count >= 16, [UInt8(ascii: "T"), UInt8(ascii: "t"), UInt8(ascii: " ")].contains(bytes[10]),
      let clock = Self.clock(bytes[11...])
    else { return nil }
    wall += clock.milliseconds
    guard let offset = Self.offset(clock.rest) else { return nil }
    wallMilliseconds = wall
    offsetSeconds = if case .seconds(let seconds) = offset { seconds } else { nil }
  }

  private static func clock(_ bytes: ArraySlice<UInt8>) -> (milliseconds: Int64, rest: ArraySlice<UInt8>)? {
    guard bytes.count >= 5, bytes[bytes.startIndex + 2] == UInt8(ascii: ":"),
      let hour = decimal(bytes.prefix(2)), hour < 24,
      let minute = decimal(bytes.dropFirst(3).prefix(2)), minute < 60
    else { return nil }
    var milliseconds = Int64(hour * 60 + minute) * 60_000
    var rest = bytes.dropFirst(5)
    guard rest.first == UInt8(ascii: ":") else { return (milliseconds, rest) }
    // A leap second is read as the second before it.
    guard rest.count >= 3, let second = decimal(rest.dropFirst().prefix(2)), second <= 60 else { return nil }
    milliseconds += Int64(min(second, 59)) * 1_000
    rest = rest.dropFirst(3)
    guard rest.first == UInt8(ascii: ".") else { return (milliseconds, rest) }
    let digits = rest.dropFirst().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard !digits.isEmpty, let fraction = decimal(Array((digits + [48, 48, 48]).prefix(3))[...]) else {
      return nil
    }
    return (milliseconds + Int64(fraction), rest.dropFirst(1 + digits.count))
  }

  private enum Offset {
    case absent
    case seconds(Int)
  }

  private static func offset(_ bytes: ArraySlice<UInt8>) -> Offset? {
    switch bytes.first {
    case nil: return .absent
    case UInt8(ascii: "Z"), UInt8(ascii: "z"): return bytes.count == 1 ? .seconds(0) : nil
    case UInt8(ascii: "+"), UInt8(ascii: "-"):
      guard bytes.count == 6, bytes[bytes.startIndex + 3] == UInt8(ascii: ":"),
        let hours = decimal(bytes.dropFirst().prefix(2)), hours < 24,
        let minutes = decimal(bytes.suffix(2)), minutes < 60
      else { return nil }
      let seconds = (hours * 60 + minutes) * 60
      return .seconds(bytes.first == UInt8(ascii: "-") ? -seconds : seconds)
    default: return nil
    }
  }
}

/// The years 1 to 9999, in milliseconds since 1970: the times that can be written as text. Times received from other
/// devices or read from files may be outside this range.
package let calendarMilliseconds: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

extension Int64 {
  /// The time clamped to the years 1 to 9999.
  package var clampedToCalendar: Int64 {
    Swift.min(Swift.max(self, calendarMilliseconds.lowerBound), calendarMilliseconds.upperBound)
  }
}

/// Formats the end of a period as people read it and type it: `2027-12-31 UTC` for the end of that day, otherwise
/// `2027-12-31 18:00 UTC`.
///
/// - Parameter milliseconds: the first moment after the period.
package func endText(milliseconds: Int64) -> String {
  let isEndOfDay = milliseconds % 86_400_000 == 0
  let text = timeText(milliseconds: isEndOfDay ? milliseconds - 1 : milliseconds)
  return isEndOfDay ? "\(text.prefix(10)) UTC" : "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
}

/// Formats an instant as RFC 3339 text in UTC or with another offset. Milliseconds are written only if they are not
/// zero.
package func timeText(milliseconds: Int64, offsetSeconds: Int = 0) -> String {
  // An RFC 3339 offset is a whole number of minutes and shorter than a day, but the offsets of old local mean times
  // include seconds.
  let offset = offsetSeconds % 86_400 / 60 * 60
  let wall = (milliseconds.clampedToCalendar + Int64(offset) * 1_000).clampedToCalendar
  let days = floorDivision(wall, 86_400_000)
  let inDay = Int(wall - days * 86_400_000)
  let (seconds, fraction) = (inDay / 1_000, inDay % 1_000)
  return asciiText(29) { text in
    CalendarDay(daysSince1970: days).append(to: &text)
    appendClock(minutes: seconds / 60, after: UInt8(ascii: "T"), to: &text)
    text.append(UInt8(ascii: ":"))
    appendPair(seconds % 60, to: &text)
    if fraction > 0 {
      text.append(UInt8(ascii: "."))
      text.append(digit(fraction / 100))
      appendPair(fraction % 100, to: &text)
    }
    if offset == 0 {
      text.append(UInt8(ascii: "Z"))
    } else {
      let sign = offset < 0 ? UInt8(ascii: "-") : UInt8(ascii: "+")
      appendClock(minutes: abs(offset) / 60, after: sign, to: &text)
    }
  }
}

/// Appends a sign, hours, a colon and minutes.
private func appendClock(minutes: Int, after sign: UInt8, to text: inout OutputSpan<UInt8>) {
  text.append(sign)
  appendPair(minutes / 60, to: &text)
  text.append(UInt8(ascii: ":"))
  appendPair(minutes % 60, to: &text)
}

/// Rounds a time down to a whole second; the time and the result are in milliseconds.
package func wholeSecond(_ milliseconds: Int64) -> Int64 {
  floorDivision(milliseconds.clampedToCalendar, 1_000) * 1_000
}

/// Divides and rounds the quotient down; the divisor must be positive.
package func floorDivision(_ value: Int64, _ divisor: Int64) -> Int64 {
  let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
  return remainder < 0 ? quotient - 1 : quotient
}

private func ascii(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

/// Appends a number from 0 to 99 as two digits.
@inline(__always)
private func appendPair(_ number: Int, to text: inout OutputSpan<UInt8>) {
  text.append(digit(number / 10))
  text.append(digit(number % 10))
}

private func digit(_ number: Int) -> UInt8 { UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number) }

/// Parses a short number in ASCII digits; nil if there is any other character.
private func decimal(_ digits: ArraySlice<UInt8>) -> Int? {
  var value = 0
  for digit in digits {
    guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
    value = value * 10 + Int(digit - UInt8(ascii: "0"))
  }
  return value
}
