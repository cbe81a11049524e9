import Console
import Control
import JSONDocument
import Waymark
import WaymarkCare

/// The command-line side of a command: its syntax and help, the display of its answer, and its exit code.
protocol TerminalCommand: Command {
  /// The syntax and the help of the command.
  static var syntax: CommandSpec { get }
  /// Whether `--json` prints each event as a line, and the answer as the last line.
  static var isStream: Bool { get }
  /// Whether the events already print everything that goes to standard output, so that the answer is not printed again.
  static var isShownByEvents: Bool { get }

  /// What a command that takes longer than a second shows until its events say more; nil to show nothing.
  static var waitsFor: String? { get }

  func run(_ run: CommandContext) async throws -> Answer
  /// The rows of an answer that is a list; nil for any other answer.
  func rows(of answer: Answer) -> DocumentRows?
  /// What the user is told if Ctrl-C ends the command.
  ///
  /// - Parameter stage: the stage that the command has reached, as its events name it; nil before the first event.
  func interruption(at stage: String?, _ home: Home) -> Interruption
  /// The document of `--json`.
  func document(_ answer: Answer, home: String?) throws -> JSON
  func render(_ answer: Answer, into rendering: inout Rendering)
  func exitCode(for answer: Answer) -> Int32
}

extension TerminalCommand {
  static var name: String { syntax.requestName }
  static var isStream: Bool { false }
  static var isShownByEvents: Bool { false }
  static var waitsFor: String? { "Working" }

  func interruption(at stage: String?, _ home: Home) -> Interruption {
    isReadOnly ? .nothingChanged : .unknown
  }

  func exitCode(for answer: Answer) -> Int32 { 0 }
  func rows(of answer: Answer) -> DocumentRows? { nil }

  /// Returns the schema, followed by the members of the encoded answer and, for a list, its rows under `items`.
  func document(_ answer: Answer, home: String?) throws -> JSON {
    var members = try AnswerCoding.document(answer, home: home).members ?? []
    if let rows = rows(of: answer) { members = rows.added(to: members) }
    let schema = JSON.Member("schema", .string("waymark.\(documentName)/1"))
    return .object([schema] + (Self.isStream ? [.init("type", "summary")] : []) + members)
  }
}

/// The rows of a list in its document. Every list has them under `items`, with an `id` each, in addition to the keys that
/// its kind of rows has.
struct DocumentRows {
  /// The key of the rows among the members of the encoded answer.
  let key: String
  /// The ids of the rows, in their order; nil if the rows have them already.
  var ids: [String]?

  func added(to members: [JSON.Member]) -> [JSON.Member] {
    guard let rows = members.first(where: { $0.key == key })?.value.array else { return members }
    let identified = ids.map { zip($0, rows).map(Self.row) } ?? rows
    let list = JSON.Member("items", .array(identified))
    return members.map { $0.key == key ? .init(key, list.value) : $0 } + (key == "items" ? [] : [list])
  }

  private static func row(_ id: String, _ row: JSON) -> JSON {
    .object([.init("id", .string(id))] + (row.members ?? []))
  }
}

/// What the user is told when Ctrl-C ends a command.
struct Interruption: Equatable, Sendable {
  let message: String
  let next: Step?

  static let nothingChanged = Interruption(message: "Interrupted; nothing was changed.", next: nil)
  /// The command may have been carried out just before it was interrupted.
  static let unknown = Interruption(
    message: "Interrupted. The change may have been made already.", next: nil)
}

/// A command whose effects can't be undone. At a terminal, a preview is shown, and the user confirms by typing a word
/// instead of `y`.
protocol TypedConfirmationCommand: TerminalCommand, ConfirmableCommand {
  var preview: Bool? { get set }

  /// Returns the question to ask after a preview, and the word that confirms it; nil if a plain yes is enough.
  static func confirmation(of preview: Answer) -> (question: String, word: String)?
}

extension TerminalCommand where Self: NodeCommand {
  func interruption(at stage: String?, _ home: Home) -> Interruption {
    guard !isReadOnly else { return .nothingChanged }
    return Interruption(
      message: Interruption.unknown.message,
      next: "\(waymark: "status") and \(waymark: "history") show the present state")
  }

  func run(_ run: CommandContext) async throws -> Answer {
    try await ControlClient.perform(self, home: run.home) { run.events.handle($0) }
  }
}

/// The context in which a command runs: the home, the terminal, and the printer of its events.
struct CommandContext: Sendable {
  let home: Home
  let terminal: Terminal
  let environment: [String: String]
  let events: EventPrinter
  let printsJSON: Bool
}
