// Protocol/records.md, "Command line": structured values, each typed as a single word.

import JSONDocument
package import Wire

extension ListShape {
  /// Parses text that a user typed, such as `08:00,20:30`, `mon,wed,fri`, `everyEntry:30`, `openness:0.5`, or JSON as
  /// in exported files. Returns nil if the text has no form that this shape accepts.
  func value(text: String) -> Value? {
    if text.hasPrefix("{") || text.hasPrefix("["), let json = try? JSON.parse(text) { return value(json) }
    let items = text.split(separator: ",").map { $0.drop { $0 == " " } }
    let value: Value? =
      switch self {
      case .reminders: Self.all(items, Self.reminder)
      case .schedule: text == "daily" ? .text(text) : Self.days(items)
      case .frequency: Self.frequency(text)
      case .weights: Self.all(items.sorted(by: Self.precedes), Self.weight)
      case .zoneChanges: Self.all(items, Self.zoneChange)
      }
    return value.flatMap { accepts($0) ? $0 : nil }
  }

  /// Returns the form in which a user types the value, which `value(text:)` parses.
  package func text(_ value: Value) -> String {
    switch (self, value) {
    case (_, .text(let word)): word
    case (.reminders, .array(let times)): times.map(Self.clock).joined(separator: ",")
    case (.schedule, .array(let days)): days.map(Self.dayName).joined(separator: ",")
    case (.frequency, .integer(let minutes)): "everyEntry:\(minutes)"
    case (.weights, .array(let weights)):
      weights.map { "\(Self.plain($0.part(0))):\(Self.plain($0.part(1)))" }.joined(separator: ",")
    case (.zoneChanges, .array(let changes)):
      changes.map { "\(Self.plain($0.part(0)))>\(Self.plain($0.part(1)))@\(Self.moment($0.part(2)))" }
        .joined(separator: ",")
    default: ""
    }
  }

  private static func clock(_ time: Value) -> String {
    [0, 1].map { part in
      let digits = plain(time.part(part))
      return digits.count == 1 ? "0" + digits : digits
    }.joined(separator: ":")
  }

  private static func dayName(_ day: Value) -> String {
    guard case .integer(let number) = day, (1...7).contains(number) else { return plain(day) }
    return dayNames[Int(number) - 1]
  }

  private static func moment(_ time: Value) -> String {
    guard case .integer(let milliseconds) = time else { return "" }
    return timeText(milliseconds: milliseconds)
  }

  private static func plain(_ value: Value) -> String {
    switch value {
    case .text(let text): text
    case .integer(let number): "\(number)"
    case .float(let number): "\(number)"
    default: ""
    }
  }

  private static func all(_ items: [Substring], _ convert: (Substring) -> Value?) -> Value? {
    let values = items.compactMap(convert)
    return values.count == items.count ? .array(values) : nil
  }

  private static func reminder(_ text: Substring) -> Value? {
    let parts = text.split(separator: ":").compactMap { Int64($0) }
    return parts.count == 2 ? .array(parts.map(Value.integer)) : nil
  }

  private static let dayNames = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

  private static func days(_ items: [Substring]) -> Value? {
    let numbers = items.compactMap { item -> Int64? in
      if let number = Int64(item) { return number }
      return dayNames.firstIndex(of: item.lowercased()).map { Int64($0 + 1) }
    }
    return numbers.count == items.count ? .array(Set(numbers).sorted().map(Value.integer)) : nil
  }

  private static func frequency(_ text: String) -> Value? {
    if text == "oncePerDay" { return .text(text) }
    let parts = text.split(separator: ":")
    guard parts.count == 2, parts[0] == "everyEntry" else { return nil }
    return Int64(parts[1]).map(Value.integer)
  }

  /// Returns whether the name of a weight comes before that of another.
  private static func precedes(_ one: Substring, _ other: Substring) -> Bool {
    func name(_ item: Substring) -> Substring { item[..<(item.lastIndex(of: ":") ?? item.endIndex)] }
    return name(one).utf8.lexicographicallyPrecedes(name(other).utf8)
  }

  private static func weight(_ text: Substring) -> Value? {
    guard let colon = text.lastIndex(of: ":"), let number = Double(text[text.index(after: colon)...]),
      number.isFinite
    else { return nil }
    return .array([.text(String(text[..<colon])), .float(wireFloat(number))])
  }

  private static func zoneChange(_ text: Substring) -> Value? {
    guard let arrow = text.firstIndex(of: ">"), let at = text.lastIndex(of: "@"), arrow < at,
      let time = WrittenTime(text[text.index(after: at)...])?.milliseconds
    else { return nil }
    let from = String(text[..<arrow])
    let to = String(text[text.index(after: arrow)..<at])
    return .array([.text(from), .text(to), .integer(time)])
  }
}
