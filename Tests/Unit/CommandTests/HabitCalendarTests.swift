import Console
import Control
import JSONDocument
import Testing

@testable import WaymarkCommand

/// The month of a habit, as `habit show` draws it.
struct HabitCalendarTests {
  private func mark(_ day: String, isDone: Bool) -> JSON {
    ["day": .string(day), "due": true, "done": .bool(isDone), "value": 1]
  }

  @Test func `each week has a line, and the streaks stand apart from the fields and from the month`() throws {
    let month: [JSON] = [
      mark("2026-11-01", isDone: true), mark("2026-11-02", isDone: false), mark("2026-11-03", isDone: false),
      mark("2026-11-04", isDone: false),
    ]
    let habit: JSON = [
      "id": "01A219BC-462C-788F-AA31-43B18E0B2D03", "name": "Read", "streak": 12, "bestStreak": 40,
      "today": "2026-11-03", "month": .array(month),
    ]
    let command = try ControlRequest(command: "habit.show", arguments: ["id": "Read"])
      .command(as: ShowRecord.self)
    let answer = try AnswerCoding.decode(ShowRecord.Answer.self, from: habit)
    let lines = try shown(columns: 80) { command.render(answer, into: &$0) }.data
    func blank(_ days: Int) -> String { String(repeating: "     ", count: days) }
    let expected: [String] = [
      "", "Streak: 12 days; best: 40 days", "", "2026-11", "  Mon  Tue  Wed  Thu  Fri  Sat  Sun",
      blank(6) + "  1✓ ", "  2·   3!   4  " + blank(4), "", "✓ done   · not done   ! today is not done yet",
    ]
    let start = try #require(lines.firstIndex(of: "Streak: 12 days; best: 40 days"))
    try #require(start > 0)
    #expect(Array(lines.dropFirst(start - 1).prefix(expected.count)) == expected)
  }
}
