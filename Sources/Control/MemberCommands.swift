package import Waymark
import WaymarkCare
import Wire

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
  package var discard: Bool?
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
    request.discards = discard == true
    request.isBeforeErase = beforeErase == true
    request.rootKey = rootKey
    request.isPreview = preview == true
    request.isConfirmed = yes == true
    request.passphrase = call.passphrase
    return try RevocationOperation(node.core).revoke(request)
  }
}

/// `grant`: lets a device write more.
package struct GrantRoom: NodeCommand {
  package static let name = "grant"
  package typealias Answer = GrantSummary

  package var device: String
  /// The new quota, as the user types it: `2GiB`.
  package var size: String
  package var settings: Bool?
  package var rootKey: String?
  package var keyFile: String? { rootKey }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> GrantSummary {
    guard let bytes = byteSize(size) else {
      throw WaymarkError.badValue("SIZE", size, allowed: "a size such as 500MiB or 2GiB")
    }
    var request = GrantRequest(device: device, lane: settings == true ? .settings : .records, bytes: bytes)
    request.rootKey = rootKey
    request.passphrase = call.passphrase
    return try GrantOperation(node.core).grant(request)
  }
}

/// `members promote`: makes a member an admin.
package struct PromoteMember: NodeCommand {
  package static let name = "members.promote"
  package typealias Answer = MemberChange

  package var device: String
  package var rootKey: String?
  package var keyFile: String? { rootKey }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> MemberChange {
    var request = CertificateRequest(device: device, .promotion)
    request.rootKey = rootKey
    request.passphrase = call.passphrase
    return try CertificateOperation(node.core).certify(request)
  }
}

/// `members leave`: this device leaves the circle.
package struct LeaveCircle: NodeCommand, ConfirmableCommand {
  package static let name = "members.leave"
  package typealias Answer = DepartureSummary

  package var yes: Bool?

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> DepartureSummary {
    try await node.leave(isConfirmed: yes == true)
  }
}

/// `rename`: renames this device, or another one, on all devices.
package struct RenameDevice: NodeCommand {
  package static let name = "rename"
  package typealias Answer = MemberChange

  package var name: String
  /// The device to rename; nil for this device.
  package var device: String?
  package var rootKey: String?
  package var keyFile: String? { rootKey }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> MemberChange {
    var request = CertificateRequest(device: device, .name(name))
    request.rootKey = rootKey
    request.passphrase = call.passphrase
    return try CertificateOperation(node.core).certify(request)
  }
}
