import NodeOperations
package import Waymark

/// `invite list`: the tickets and codes with which a device can join now.
package struct ListInvitations: PromptCommand {
  package static let name = "invite.list"
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    package let items: [OpenInvitation]
  }

  package init() {}

  package func perform(on node: isolated Node) -> Answer {
    Answer(items: InvitationOperations(node.core).invitations)
  }
}

/// `invite cancel`: ends an open invitation.
package struct CancelInvitation: PromptCommand {
  package static let name = "invite.cancel"

  /// The start of the id of the invitation.
  package var id: String

  package struct Answer: Codable, Sendable {
    package let cancelled: OpenInvitation
  }

  package func perform(on node: isolated Node) throws -> Answer {
    Answer(cancelled: try InvitationOperations(node.core).cancelInvitation(id))
  }
}
