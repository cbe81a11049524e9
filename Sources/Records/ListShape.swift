// Protocol/records.md, "Structured values"

import Wire

extension ListShape {
  /// Reports whether a non-null value has this shape in its canonical form.
  func accepts(_ value: Value) -> Bool {
    switch (self, value) {
    case (.schedule, .text(let word)): word == "daily"
    case (.schedule, .array(let days)): Self.isAscending(days.map { Self.integer($0, in: 1...7) })
    case (.frequency, .text(let word)): word == "oncePerDay"
    case (.frequency, .integer(let minutes)): minutes > 0
    case (.reminders, .array(let times)): times.allSatisfy(Self.isReminder)
    case (.weights, .array(let weights)): Self.areWeights(weights)
    case (.zoneChanges, .array(let changes)): changes.allSatisfy(Self.isZoneChange)
    default: false
    }
  }

  private static func integer(_ value: Value, in range: ClosedRange<Int64>) -> Int64? {
    guard case .integer(let number) = value, range.contains(number) else { return nil }
    return number
  }

  private static func isAscending(_ numbers: [Int64?]) -> Bool {
    var last: Int64 = .min
    for number in numbers {
      guard let number, number > last else { return false }
      last = number
    }
    return true
  }

  private static func isReminder(_ value: Value) -> Bool {
    guard case .array(let parts) = value, parts.count == 2 else { return false }
    return integer(parts[0], in: 0...23) != nil && integer(parts[1], in: 0...59) != nil
  }

  private static func areWeights(_ values: [Value]) -> Bool {
    var last: String?
    for value in values {
      guard case .array(let parts) = value, parts.count == 2, case .text(let name) = parts[0],
        case .float = parts[1]
      else { return false }
      if let last, !last.utf8.lexicographicallyPrecedes(name.utf8) { return false }
      last = name
    }
    return true
  }

  private static func isZoneChange(_ value: Value) -> Bool {
    guard case .array(let parts) = value, parts.count == 3, case .text = parts[0], case .text = parts[1],
      case .integer = parts[2]
    else { return false }
    return true
  }
}
