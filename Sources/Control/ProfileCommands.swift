import Home
import Model
import NodeOperations
import Records
package import Waymark
import WaymarkFiles

/// `profile show`: the profile. With an output file, the picture is fetched if it is not here.
package struct ShowProfile: PromptCommand, ConfirmableCommand {
  package static let name = "profile.show"
  package typealias Answer = ShownRecord
  package var isReadOnly: Bool { output == nil }
  package var isPrompt: Bool { output == nil }
  package var needsNoWriting: Bool { true }

  package var output: String?
  package var yes: Bool?

  package func perform(on node: isolated Node) throws -> ShownRecord {
    try node.typedRecords(zone: nil).profile()
  }

  /// Writes the picture to a file. If it is not on this device, it is fetched first.
  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> ShownRecord {
    let records = node.typedRecords(zone: nil)
    let shown = try records.profile()
    guard let output else { return shown }
    let picture = try records.picture()
    // This checks the path before the person waits for the picture.
    let path = try OutputFile.path(output, naturally: "avatar")
    let file = try OutputFile(path, in: node.home, overwrites: yes ?? false)
    if let named = try records.fileOfPicture() {
      try await FileContents(node.core).fetch(named, named: "the picture", tell: call.tellFetching("picture"))
    }
    try await FileContents(node.core).copy(picture, named: "the picture", to: file) {
      call.tell(.progress($0, file: path))
    }
    return shown.written(to: path)
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

  package var isPrompt: Bool { fields?.contains { $0.name == "avatar" } != true }

  package func perform(on node: isolated Node) throws -> Answer {
    let (answer, change) = try prepare(on: node, [:])
    try node.core.write(change)
    return answer
  }

  /// Sets the picture to the content of a file.
  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    let paths = TypedRecords.paths(in: try fields.pairs(), of: Kind.profile)
    return try await FileChanges(node.core).write(adding: paths, { call.tell(.progress($0)) }) {
      try prepare(on: node, $0)
    }
  }

  private func prepare(
    on node: isolated Node, _ files: [String: AddedFile]
  ) throws -> (Answer, PreparedChange) {
    let (updatedAt, change) = try node.typedRecords(zone: zone).editingProfile(fields.pairs(), files)
    return (Answer(changed: updatedAt != nil, updatedAt: updatedAt), change)
  }
}
