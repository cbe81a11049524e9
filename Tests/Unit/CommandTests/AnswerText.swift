import Console
import Control
import JSONDocument

@testable import WaymarkCommand

/// What a command prints for an answer, with each run of white space as one space, so that a test of words does not
/// depend on the layout.
func answerText<Shown: TerminalCommand>(
  _ type: Shown.Type, _ name: String, _ arguments: JSON, _ answer: JSON
) throws -> (data: String, notes: String) {
  let command = try ControlRequest(command: name, arguments: arguments).command(as: type)
  let decoded = try AnswerCoding.decode(Shown.Answer.self, from: answer)
  let lines = try shown(columns: 200) { command.render(decoded, into: &$0) }
  return (oneLine(lines.data), oneLine(lines.notes))
}

/// Returns lines as one line, without their layout.
func oneLine(_ lines: [String]) -> String {
  lines.joined(separator: "\n").split(whereSeparator: \.isWhitespace).joined(separator: " ")
}
