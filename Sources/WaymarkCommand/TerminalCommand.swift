import Control
import JSONDocument
import Waymark

/// The terminal's side of a command: its syntax and help, how its answer is shown, and the exit code.
protocol TerminalCommand: Command {
  /// The syntax and the help of the command.
  static var syntax: CommandSpec { get }
  /// The syntax for each kind, where kinds share a command.
  static var syntaxes: [CommandSpec] { get }
  /// Whether `--json` prints events as lines, of which the answer is the last.
  static var isStream: Bool { get }
  /// Whether its events have shown all of the answer that goes to standard output.
  static var isShownByEvents: Bool { get }

  func run(_ run: CommandContext) async throws -> Answer
  /// The document of `--json`.
  func document(_ answer: Answer, home: String?) throws -> JSON
  func render(_ answer: Answer, into rendering: inout Rendering)
  func exitCode(for answer: Answer) -> Int32
}

extension TerminalCommand {
  static var name: String { syntax.requestName }
  static var syntaxes: [CommandSpec] { [syntax] }
  static var isStream: Bool { false }
  static var isShownByEvents: Bool { false }

  func exitCode(for answer: Answer) -> Int32 { 0 }

  /// The schema, then what the answer encodes.
  func document(_ answer: Answer, home: String?) throws -> JSON {
    let members = try AnswerCoding.document(answer, home: home).members ?? []
    let schema = JSON.Member("schema", .string("waymark.\(documentName)/1"))
    return .object([schema] + (Self.isStream ? [.init("type", "summary")] : []) + members)
  }
}

extension TerminalCommand where Self: NodeCommand {
  func run(_ run: CommandContext) async throws -> Answer {
    try await ControlClient.perform(self, home: run.home) { run.events.handle($0) }
  }
}

/// What a command runs with: the home, the terminal, and the printer of its events.
struct CommandContext: Sendable {
  let home: Home
  let terminal: Terminal
  let environment: [String: String]
  let events: EventPrinter
  let printsJSON: Bool
}
