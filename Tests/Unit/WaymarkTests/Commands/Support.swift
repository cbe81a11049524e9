import JSONDocument
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import Waymark

extension Node {
  /// Runs `waymark` with these words, and returns the document.
  @discardableResult
  func run(
    _ command: String, _ arguments: JSON = [:], tell: @escaping @Sendable (CommandEvent) -> Void = { _ in }
  ) async throws -> JSON {
    let request = ControlRequest(command: command, arguments: arguments)
    guard let type = Commands.named(command) else { throw WaymarkError.usage("no command \(command)") }
    return named(command, try await run(request, type, CommandCall(tell: tell)))
  }

  private func run(
    _ request: ControlRequest, _ type: (some NodeCommand).Type, _ call: CommandCall
  ) async throws -> JSON {
    try AnswerCoding.document(try await answer(try request.command(as: type), call).get())
  }
}

extension TestNode {
  @discardableResult
  func run(_ command: String, _ arguments: JSON = [:]) async throws -> JSON {
    try await node.run(command, arguments)
  }
}

/// The error that a command throws; nil if it succeeds.
func failure(_ node: TestNode, _ command: String, _ arguments: JSON = [:]) async throws -> WaymarkError? {
  do {
    try await node.run(command, arguments)
    return nil
  } catch let failure as WaymarkError {
    return failure
  }
}

/// The arguments of `add` or `edit` from `name=value` texts.
func fields(_ pairs: String..., id: String? = nil) -> JSON { fields(pairs, id: id) }

func fields(_ pairs: [String], id: String? = nil) -> JSON {
  var arguments: JSON = [
    "fields": .array(
      pairs.map { pair in
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return [.string(String(parts[0])), .string(parts.count == 2 ? String(parts[1]) : "")]
      }),
    "zone": "Europe/Rome",
  ]
  if let id { arguments["id"] = .string(id) }
  return arguments
}

extension ControlClient {
  /// Runs the command with these words on a home, and returns the document.
  @discardableResult
  static func run(_ command: String, _ arguments: JSON = [:], home: Home) async throws -> JSON {
    guard let type = Commands.named(command) else { throw WaymarkError.usage("no command \(command)") }
    return named(
      command, try await run(ControlRequest(command: command, arguments: arguments), type, home))
  }

  private static func run(
    _ request: ControlRequest, _ type: (some NodeCommand).Type, _ home: Home
  ) async throws -> JSON {
    try AnswerCoding.document(try await perform(try request.command(as: type), home: home))
  }
}

/// The answer as a document, with the schema of its type, if it has one.
private func named(_ command: String, _ answer: JSON) -> JSON {
  guard answer["schema"] == nil, let members = answer.members else { return answer }
  return .object([JSON.Member("schema", .string("waymark.\(command)/1"))] + members)
}

extension JSON {
  /// The notices of a status, without the one about a single admin: the founder of nearly every test circle has it.
  var otherNotices: JSON {
    .array((self["notices"]?.array ?? []).filter { $0["reason"] != "single_admin" })
  }
}
