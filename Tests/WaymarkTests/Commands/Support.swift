import JSONDocument
import WaymarkTesting

@testable import Waymark

/// The failure that a command ends with; nil if it succeeds.
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
