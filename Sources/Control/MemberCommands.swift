package import Waymark

/// `members list`: the devices of the circle, including revoked ones.
package struct ListMembers: PromptCommand {
  package static let name = "members.list"
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    package let members: [CircleMember]
  }

  package func perform(on node: isolated Node) throws -> Answer {
    Answer(members: try node.members())
  }
}

/// `revoke`: removes devices from the circle permanently.
package struct Revoke: NodeCommand, ConfirmableCommand {
  package static let name = "revoke"
  package typealias Answer = RevocationSummary

  package var device: [String]?
  package var withInvited: Bool?
  package var undoRevocations: Bool?
  package var beforeErase: Bool?
  package var rootKey: String?
  package var preview: Bool?
  package var yes: Bool?
  package var isReadOnly: Bool { preview == true }
  package var keyFile: String? { rootKey }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws
    -> RevocationSummary
  {
    var request = RevocationRequest(devices: device ?? [])
    request.withInvited = withInvited == true
    request.undoesRevocations = undoRevocations == true
    request.isBeforeErase = beforeErase == true
    request.rootKey = rootKey
    request.isPreview = preview == true
    request.isConfirmed = yes == true
    request.passphrase = call.passphrase
    return try node.revoke(request)
  }
}
