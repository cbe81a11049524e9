package import Platform

/// Times in the form that people read.
package struct TimeText: Sendable {
  /// Milliseconds since 1970.
  package let now: Int64
  /// The reader's zone.
  package let zone: Zone

  package init(now: Int64, zone: Zone = .current) {
    self.now = now
    self.zone = zone
  }

  /// Returns the milliseconds since 1970 for an RFC 3339 string; nil if the string is not in that format.
  package static func moment(_ text: String) -> Int64? {
    let text = Array(text.utf8)
    func number(_ range: Range<Int>) -> Int64? {
      guard range.upperBound <= text.count else { return nil }
      var value: Int64 = 0
      for byte in text[range] {
        guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
        value = value * 10 + Int64(byte - UInt8(ascii: "0"))
      }
      return value
    }
    func has(_ letters: String, at index: Int) -> Bool {
      index < text.count && letters.utf8.contains(text[index])
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19),
      has("-", at: 4), has("-", at: 7), has("Tt ", at: 10), has(":", at: 13), has(":", at: 16)
    else { return nil }
    // The length of the fraction with its point.
    let length =
      has(".", at: 19) ? text[20...].prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }.count + 1 : 0
    guard length != 1, length <= 10, let digits = number(19 + min(length, 1)..<19 + min(length, 4)) else {
      return nil
    }
    let fraction = digits * [1, 1, 100, 10, 1][min(length, 4)]
    let end = 19 + length
    var offset: Int64 = 0
    if has("+-", at: end) {
      guard let hours = number(end + 1..<end + 3), has(":", at: end + 3),
        let minutes = number(end + 4..<end + 6),
        text.count == end + 6
      else { return nil }
      offset = (hours * 60 + minutes) * (has("-", at: end) ? -1 : 1)
    } else {
      guard has("Zz", at: end), text.count == end + 1 else { return nil }
    }
    let days = daysSince1970(year: year, month: month, day: day)
    let seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second
    return seconds * 1_000 + fraction
  }

  /// Returns a duration as text: `4 s`, `2 h`, `3 d 4 h`.
  package static func span(_ milliseconds: Int64) -> String {
    let seconds = max(0, milliseconds / 1_000)
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3_600: return "\(seconds / 60) min"
    case ..<86_400:
      let minutes = seconds % 3_600 / 60
      return minutes == 0 ? "\(seconds / 3_600) h" : "\(seconds / 3_600) h \(minutes) min"
    default:
      let hours = seconds % 86_400 / 3_600
      return hours == 0 ? "\(seconds / 86_400) d" : "\(seconds / 86_400) d \(hours) h"
    }
  }

  /// Returns how long ago a time was, in the largest unit alone: `4 s ago`, `2 h ago`.
  package func ago(_ text: String?) -> String { ago(text.flatMap(Self.moment)) }

  package func ago(_ moment: Int64?) -> String {
    guard let moment else { return "never" }
    let seconds = (now - moment) / 1_000
    return switch seconds {
    case ..<1: "just now"
    case ..<60: "\(seconds) s ago"
    case ..<3_600: "\(seconds / 60) min ago"
    case ..<86_400: "\(seconds / 3_600) h ago"
    default: "\(seconds / 86_400) d ago"
    }
  }

  /// Returns a time in the reader's zone: only the time of day if it is less than 20 hours from now (`13:02`), only the
  /// day if it is a week or more from now (`2027-03-01`), else both.
  package func short(_ text: String?) -> String { short(text.flatMap(Self.moment)) }

  package func short(_ moment: Int64?) -> String {
    guard let moment else { return "–" }
    let parts = self.parts(moment)
    if abs(moment - now) < 20 * 3_600_000 { return parts.time }
    if abs(moment - now) < 7 * 86_400_000 { return "\(parts.day) \(parts.time)" }
    return parts.day
  }

  /// Returns the time of day in the reader's zone.
  package func clock(_ moment: Int64) -> String { parts(moment).time }

  /// Returns the day and time in the reader's zone.
  package func full(_ text: String?) -> String { full(text.flatMap(Self.moment)) }

  package func full(_ moment: Int64?) -> String {
    guard let moment else { return "–" }
    let parts = self.parts(moment)
    return "\(parts.day) \(parts.time)"
  }

  private func parts(_ moment: Int64) -> (day: String, time: String) {
    let parts = Self.parts(moment, zone)
    return (parts.day, String(parts.clock.prefix(5)))
  }

  /// Returns the day, the time of day with seconds, and the offset in seconds.
  private static func parts(_ moment: Int64, _ zone: Zone) -> (day: String, clock: String, offset: Int) {
    let offset = zone.offset(at: moment / 1_000)
    var seconds = time_t(moment / 1_000 + Int64(offset))
    var fields = tm()
    gmtime_r(&seconds, &fields)
    return (
      "\(fields.tm_year + 1_900)-\(two(fields.tm_mon + 1))-\(two(fields.tm_mday))",
      "\(two(fields.tm_hour)):\(two(fields.tm_min)):\(two(fields.tm_sec))", offset
    )
  }

  private static func two(_ number: some BinaryInteger) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// Returns the time of a line of the log: `2026-05-03T15:00:07+02:00`.
  static func log(_ moment: Int64, _ zone: Zone) -> String {
    let parts = parts(moment, zone)
    let minutes = abs(parts.offset) / 60
    let sign = parts.offset < 0 ? "-" : "+"
    let offset = parts.offset == 0 ? "Z" : "\(sign)\(two(minutes / 60)):\(two(minutes % 60))"
    return "\(parts.day)T\(parts.clock)\(offset)"
  }

  /// Returns the same without the day and the offset: `15:00:07`.
  static func logClock(_ moment: Int64, _ zone: Zone) -> String { parts(moment, zone).clock }

  /// Returns the day and time in UTC: `2026-11-26 20:57 UTC`.
  package func utc(_ moment: Int64) -> String {
    let parts = TimeText(now: now, zone: .utc).parts(moment)
    return "\(parts.day) \(parts.time) UTC"
  }

  /// Returns an RFC 3339 time in a readable form, without seconds. A time in UTC is converted to the reader's zone
  /// (`2026-05-03 15:00`); a time with another offset keeps it (`2026-05-03 15:00 +02:00`).
  package func written(_ text: String?) -> String {
    guard let text else { return "–" }
    guard text.count >= 19, text.dropFirst(10).first == "T", let moment = Self.moment(text) else {
      return text
    }
    if text.hasSuffix("Z") { return full(moment) }
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) \(text.suffix(6))"
  }
}

extension Duration {
  /// Parses a duration such as `500ms`, `30s`, `10m`, `2h` or `1d` into milliseconds; a number alone means seconds.
  package static func milliseconds(in text: String) -> Int64? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits) else { return nil }
    let units: [String: Int64] = [
      "ms": 1, "s": 1_000, "": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000,
    ]
    guard let unit = units[String(text.dropFirst(digits.count))] else { return nil }
    let (milliseconds, isTooLong) = number.multipliedReportingOverflow(by: unit)
    return isTooLong || milliseconds > 3_650 * 86_400_000 ? nil : milliseconds
  }
}
