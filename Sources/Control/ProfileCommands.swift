import Home
package import Waymark

/// `profile show`: the profile. With an output file, the picture is fetched if it is not here.
package struct ShowProfile: PromptCommand, ConfirmableCommand {
  package static let name = "profile.show"
  package typealias Answer = ShownRecord
  package var isReadOnly: Bool { output == nil }
  package var isPrompt: Bool { output == nil }

  package var output: String?
  package var yes: Bool?

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> ShownRecord {
    if let output, let file = try node.typedRecords(zone: nil).fileOfPicture() {
      _ = try OutputFile(output, in: node.home, overwrites: yes ?? false)
      try await node.fetch(file, named: "the picture", tell: call.tellFetching("picture"))
    }
    return try perform(on: node)
  }

  package func perform(on node: isolated Node) throws -> ShownRecord {
    try node.typedRecords(zone: nil).profile(output: output, overwrites: yes ?? false)
  }
}

/// `profile set`: changes fields of the profile, which is written as a whole.
package struct SetProfile: PromptCommand {
  package static let name = "profile.set"

  package var fields: [TypedField]?
  package var zone: String?

  package struct Answer: Codable, Sendable {
    package let changed: Bool
    /// The new time of the last change; nil if nothing was changed.
    package let updatedAt: String?

    package func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(changed, forKey: .changed)
      if let updatedAt { try container.encode(updatedAt, forKey: .updatedAt) }
    }
  }

  package func perform(on node: isolated Node) throws -> Answer {
    guard let (updatedAt, change) = try node.typedRecords(zone: zone).editingProfile(fields.pairs()) else {
      return Answer(changed: false, updatedAt: nil)
    }
    try node.write(change)
    return Answer(changed: true, updatedAt: updatedAt)
  }
}
