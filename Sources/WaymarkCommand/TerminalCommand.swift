import Control
import JSONDocument
import Waymark

/// What the terminal adds to a command: how it is typed and explained, how its answer looks, and what the process ends
/// with.
protocol TerminalCommand: Command {
  /// How it is typed.
  static var syntax: CommandSpec { get }
  /// The same for each kind, where kinds share a command.
  static var syntaxes: [CommandSpec] { get }
  /// Whether `--json` prints events as lines, of which the answer is the last.
  static var isStream: Bool { get }
  /// Whether its events have shown all of the answer that goes to standard output.
  static var isShownByEvents: Bool { get }

  func run(_ run: CommandRun) async throws -> Answer
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
  func run(_ run: CommandRun) async throws -> Answer {
    try await ControlClient.perform(self, home: run.home) { run.events.handle($0) }
  }
}

/// Where a command runs: the home that is meant, the terminal, and who is told what happens meanwhile.
struct CommandRun: Sendable {
  let home: Home
  let terminal: Terminal
  let environment: [String: String]
  let events: EventPrinter
  let printsJSON: Bool
}
