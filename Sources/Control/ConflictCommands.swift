import NodeOperations
package import Waymark

/// `conflicts list`: changes made on several devices at the same time.
package struct ListConflicts: PromptCommand {
  package static let name = "conflicts.list"
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    package let conflicts: [Conflict]
  }

  package func perform(on node: isolated Node) throws -> Answer {
    Answer(conflicts: try node.conflicts())
  }
}

/// `conflicts show`: everything that each side wrote, and the ways to resolve the conflict.
package struct ShowConflict: PromptCommand {
  package static let name = "conflicts.show"

  package var id: String?
  package var isReadOnly: Bool { true }

  package struct Answer: Sendable {
    package let conflict: Conflict
    package let choices: [Conflict.Option]
  }

  package func perform(on node: isolated Node) throws -> Answer {
    let (conflict, options) = try HistoryOperations(node.core).conflictWithOptions(
      required(id, Self.name, "the id of a conflict"))
    return Answer(conflict: conflict, choices: options)
  }
}

extension ShowConflict.Answer: Codable {
  private enum CodingKeys: CodingKey {
    case choices
  }

  package init(from decoder: any Decoder) throws {
    conflict = try Conflict(from: decoder)
    choices = try decoder.container(keyedBy: CodingKeys.self).decode(
      [Conflict.Option].self, forKey: .choices)
  }

  package func encode(to encoder: any Encoder) throws {
    try conflict.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(choices, forKey: .choices)
  }
}

/// `conflicts resolve`: resolves a conflict in favor of one side, on all devices.
package struct ResolveConflicts: PromptCommand {
  package static let name = "conflicts.resolve"
  package typealias Answer = Conflict.Resolution

  package var id: String?
  package var take: String?
  package var all: Bool?

  package func perform(on node: isolated Node) throws -> Conflict.Resolution {
    let take = try required(take, Self.name, "`--take winner`, `--take loser` or `--take DEVICE`")
    guard all == true else {
      return try HistoryOperations(node.core).resolve(
        required(id, Self.name, "the id of a conflict, or `--all`"), taking: take)
    }
    guard take == "winner", id == nil else {
      throw WaymarkError.usage(
        "`--all` can only keep the displayed values: use `--all --take winner`, without an id.",
        next: .waymark("conflicts resolve --all --take winner"))
    }
    return try node.resolveAllTakingWinners()
  }
}

/// Returns a required argument, or throws an error that names what is missing.
func required(_ argument: String?, _ command: String, _ what: String) throws -> String {
  guard let argument else {
    throw WaymarkError.usage("`waymark \(command.replacing(".", with: " "))` needs \(what).")
  }
  return argument
}
