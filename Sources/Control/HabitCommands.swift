package import Model
package import Waymark

/// `habit tick`: adds an entry to a day.
package struct TickHabit: PromptCommand {
  package static let name = "habit.tick"
  package typealias Answer = HabitDayEntries.Summary

  package var id: String
  package var value: String?
  package var date: String?
  package var zone: String?

  package func perform(on node: isolated Node) throws -> HabitDayEntries.Summary {
    let day = try node.typedRecords(zone: zone).day(ofHabit: id, date, isNew: true)
    let amount = try number(value) ?? 1
    guard !day.isBinary || amount == 1 else { throw WaymarkError.notDoneOrNot(value ?? "") }
    try node.core.write(day.adding(amount))
    return try day.summary()
  }
}

/// `habit untick`: removes all entries of a day.
package struct UntickHabit: PromptCommand {
  package static let name = "habit.untick"
  package typealias Answer = HabitDayEntries.Summary

  package var id: String
  package var date: String?
  package var zone: String?

  package func perform(on node: isolated Node) throws -> HabitDayEntries.Summary {
    let day = try node.typedRecords(zone: zone).day(ofHabit: id, date)
    try node.core.write(day.clearing())
    return try day.summary()
  }
}

/// `habit set`: replaces all entries of a day with a single entry that has this value.
package struct SetHabit: PromptCommand {
  package static let name = "habit.set"
  package typealias Answer = HabitDayEntries.Summary

  package var id: String
  package var value: String
  package var date: String?
  package var zone: String?

  package func perform(on node: isolated Node) throws -> HabitDayEntries.Summary {
    let day = try node.typedRecords(zone: zone).day(ofHabit: id, date, isNew: true)
    try node.core.write(day.setting(day.isBinary ? doneOrNot() : amount()))
    return try day.summary()
  }

  private func doneOrNot() throws -> Double {
    switch value.lowercased() {
    case "1", "true", "yes", "on", "done": 1
    case "0", "false", "no", "off": 0
    default: throw WaymarkError.notDoneOrNot(value)
    }
  }

  private func amount() throws -> Double {
    guard let amount = try number(value) else {
      throw WaymarkError.badValue("the value", value, allowed: "expected a number")
    }
    return amount
  }
}

/// Parses the amount that the user typed; nil if none was typed.
private func number(_ text: String?) throws -> Double? {
  guard let text, !text.isEmpty else { return nil }
  guard let number = Double(text), number.isFinite else {
    throw WaymarkError.badValue("the value", text, allowed: "expected a number")
  }
  return number
}
