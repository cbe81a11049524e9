// Protocol/records.md, "Command line": why a text that a person typed is refused, and what to type instead.

import Reasons
import Wire

/// Checks of typed texts that go beyond what a field can store. Files and other devices may contain any value.
enum TypedText {
  /// Returns the clause about a name that can't be read or told apart; nil for a good one.
  static func refusal(ofName text: String) -> LocalizableText? {
    if text.unicodeScalars.allSatisfy(\.properties.isWhitespace) {
      return "use at least one visible character"
    }
    let breaks = text.unicodeScalars.contains {
      $0.properties.generalCategory == .control || $0.isLineSeparator
    }
    return breaks ? "a name is one line, without control characters" : nil
  }

  /// Returns what to type instead of an amount that can't be parsed.
  static func hint(forAmount text: String) -> LocalizableText {
    let pointed = text.replacing(",", with: ".")
    if pointed != text, ExactDecimal(pointed) != nil { return "use a point: \(pointed)" }
    if text.hasPrefix("."), ExactDecimal("0" + text) != nil { return "write 0\(text)" }
    if text.hasPrefix("+"), ExactDecimal(String(text.dropFirst())) != nil {
      return "write \(text.dropFirst())"
    }
    let number = text.filter { $0.isASCII && ($0.isNumber || $0 == ".") }
    if number != text, ExactDecimal(number) != nil, !text.contains("-") {
      return "give the amount and its currency separately: \(number) and EUR"
    }
    return FieldType.money.expectation
  }

  /// Returns what to type instead of a time that can't be parsed.
  static func hint(forTime text: String, _ type: FieldType) -> LocalizableText {
    let parts = text.prefix(10).split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 3, let year = parts[0], let month = parts[1], let day = parts[2],
      (1...12).contains(month), (1...9_999).contains(year), day > 0,
      CalendarDay(year: year, month: month, day: day) == nil
    else { return type.expectation }
    return "there is no \(day) \(months[month - 1]) \(year)"
  }

  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November",
    "December",
  ]

  /// Returns what to type instead of a zone that does not exist.
  static func hint(forZone text: String, _ zones: ZoneOffsets) -> LocalizableText {
    let typed = text.split(separator: "/", omittingEmptySubsequences: false).map(capitalized).joined(
      separator: "/")
    let nearest = ([""] + areas).map { $0 + typed }.first { zones.seconds(0, $0) != nil }
    return nearest.map { "did you mean \($0)?" } ?? "use a time zone such as Europe/Rome"
  }

  private static let areas = [
    "Europe/", "America/", "Asia/", "Africa/", "Australia/", "Pacific/", "Atlantic/", "Indian/",
  ]

  /// `new_york` and `new york` are `New_York`.
  private static func capitalized(_ text: Substring) -> String {
    text.split { $0 == "_" || $0 == " " }.map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }
      .joined(separator: "_")
  }
}

extension Unicode.Scalar {
  fileprivate var isLineSeparator: Bool { value == 0x2028 || value == 0x2029 }
}
