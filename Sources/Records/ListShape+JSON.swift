// Protocol/records.md, "Structured values": the JSON that exported files and the command line use for them.

package import JSONDocument
package import Wire

extension ListShape {
  /// Returns a value in the form in which exported files contain it: `{"daily":{}}`, `[{"hour":8,"minute":0}]`.
  package func json(_ value: Value) -> JSON {
    switch (self, value) {
    case (.reminders, .array(let times)):
      .array(times.map { ["hour": $0.part(0).columnJSON, "minute": $0.part(1).columnJSON] })
    case (.schedule, .array(let days)): ["daysOfWeek": ["_0": .array(days.map(\.columnJSON))]]
    case (.schedule, .text(let word)), (.frequency, .text(let word)): .object([.init(word, [:])])
    case (.frequency, .integer(let minutes)): ["everyEntry": ["cooldownMinutes": .integer(minutes)]]
    case (.weights, .array(let weights)):
      .object(
        weights.compactMap { weight in
          guard case .text(let name) = weight.part(0), case .float(let number) = weight.part(1) else {
            return nil
          }
          return .init(name, .float(number))
        })
    case (.zoneChanges, .array(let changes)): .array(changes.map(Self.zoneChange))
    case (.reminders, _), (.zoneChanges, _): []
    default: .null
    }
  }

  private static func zoneChange(_ value: Value) -> JSON {
    guard case .integer(let time) = value.part(2) else { return .null }
    return [
      "fromTimezone": value.part(0).columnJSON, "toTimezone": value.part(1).columnJSON,
      "changedAt": .string(timeText(milliseconds: time)),
    ]
  }

  /// Returns the value of JSON that was read from an exported file; nil if the JSON has another shape.
  package func value(_ json: JSON) -> Value? {
    let value: Value? =
      switch self {
      case .reminders: Self.all(json.array) { .pair($0["hour"], $0["minute"]) }
      case .schedule: Self.schedule(json)
      case .frequency: Self.frequency(json)
      case .weights: Self.weights(json)
      case .zoneChanges: Self.all(json.array, Self.zoneChange)
      }
    return value.flatMap { accepts($0) ? $0 : nil }
  }

  private static func all(_ items: [JSON]?, _ convert: (JSON) -> Value?) -> Value? {
    guard let items else { return nil }
    let values = items.compactMap(convert)
    return values.count == items.count ? .array(values) : nil
  }

  private static func schedule(_ json: JSON) -> Value? {
    guard let members = json.members, members.count == 1 else { return nil }
    if json["daily"] != nil { return .text("daily") }
    guard let days = json["daysOfWeek"]?["_0"]?.array else { return nil }
    let numbers = days.compactMap(\.integer)
    // The exporting application stores a set, so the file may list the days in any order.
    return numbers.count == days.count ? .array(Set(numbers).sorted().map(Value.integer)) : nil
  }

  private static func frequency(_ json: JSON) -> Value? {
    guard let members = json.members, members.count == 1 else { return nil }
    if json["oncePerDay"] != nil { return .text("oncePerDay") }
    return json["everyEntry"]?["cooldownMinutes"]?.integer.map(Value.integer)
  }

  private static func weights(_ json: JSON) -> Value? {
    guard let members = json.members else { return nil }
    let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return all(sorted.map { [.string($0.key), $0.value] }) { pair in
      guard let name = pair[0]?.string, let weight = pair[1]?.float else { return nil }
      return .array([.text(name), .float(wireFloat(weight))])
    }
  }

  private static func zoneChange(_ json: JSON) -> Value? {
    guard let from = json["fromTimezone"]?.string, let to = json["toTimezone"]?.string,
      let time = json["changedAt"]?.string.flatMap({ WrittenTime($0) })?.milliseconds
    else { return nil }
    return .array([.text(from), .text(to), .integer(time)])
  }
}

extension Value {
  /// Returns the item at an index of an array; null if this value is not an array or has no such item.
  package func part(_ index: Int) -> Value {
    guard case .array(let items) = self, items.indices.contains(index) else { return .null }
    return items[index]
  }

  fileprivate static func pair(_ left: JSON?, _ right: JSON?) -> Value? {
    guard let left = left?.integer, let right = right?.integer else { return nil }
    return .array([.integer(left), .integer(right)])
  }
}

/// Converts minus zero, which the wire format does not allow, to zero.
package func wireFloat(_ value: Double) -> Double { value == 0 ? 0 : value }
