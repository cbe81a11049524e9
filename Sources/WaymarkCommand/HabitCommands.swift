import Console
import Control
import JSONDocument
import Model
import Waymark

extension TickHabit: TerminalCommand {
  static let syntax = habitDay(
    "tick", "mark a habit as done, or add an amount",
    [.init(placeholder: "VALUE", key: "value", isOptional: true)], example: "'Drink water' 2")

  func render(_ answer: HabitDayEntries.Summary, into rendering: inout Rendering) { rendering.day(answer) }
}

extension UntickHabit: TerminalCommand {
  static let syntax = habitDay("untick", "clear what was recorded for a day", example: "'Drink water'")

  func render(_ answer: HabitDayEntries.Summary, into rendering: inout Rendering) { rendering.day(answer) }
}

extension SetHabit: TerminalCommand {
  static let syntax = habitDay(
    "set", "set the amount for a day", [.init(placeholder: "VALUE", key: "value")],
    example: "'Drink water' 6 --date 2026-05-03")

  func render(_ answer: HabitDayEntries.Summary, into rendering: inout Rendering) { rendering.day(answer) }
}

private func habitDay(
  _ word: String, _ summary: String, _ operands: [CommandSpec.Operand] = [], example: String
) -> CommandSpec {
  CommandSpec(
    words: ["habit", word], summary: summary,
    operands: [.init(placeholder: "HABIT", key: "id")] + operands,
    options: [.init(flag: "--date", placeholder: "D", summary: "the day (2026-05-03); default today")],
    exampleArguments: example)
}

extension Rendering {
  fileprivate mutating func day(_ day: HabitDayEntries.Summary) {
    let amount = day.value.flatMap { JSON.float($0).number }
    let done = amount.map { "\($0) in total" } ?? "done"
    notes.paragraph("\(printable(day.name ?? "")) on \(day.day): \(day.done ? done : "not done")")
  }
}
