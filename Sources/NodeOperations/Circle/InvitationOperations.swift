import Enrolment
public import Platform
package import Home
import Membership
package import NodeRuntime
import Reasons
import Sodium
import Transport
package import Wire

/// An invitation that no device has used yet.
package struct OpenInvitation: Hashable, Sendable, Codable {
  /// The id by which the person refers to the invitation. It is not the ticket, and can't be used to join.
  package let id: String
  package let kind: Kind
  package let role: MemberRole
  package let expires: Date
  /// How many wrong codes may still be tried; nil for a ticket.
  package let triesLeft: Int?

  /// What the new device needs.
  package enum Kind: String, Codable, Sendable { case ticket, code }
}

/// A ticket with which one new device can join the circle.
public struct Invitation: Hashable, Sendable, Codable {
  /// The ticket: one line of lower-case text, to show on a screen or as a QR code, or to send in a private message.
  public let ticket: String
  /// When the ticket expires.
  public let expires: Date
  /// The id by which `invite list` shows the ticket.
  package let id: String
}

/// A code of six digits with which one new device can join from the same network.
public struct CodeInvitation: Hashable, Sendable {
  /// The code in two groups of three digits, to show on a screen.
  public let code: String
  /// When the offer expires.
  public let expires: Date
  /// An address of this node, for a network without broadcast; nil if it has none.
  public let address: String?
  /// The id by which `invite list` shows the offer.
  package let id: String
}

/// Makes, lists and cancels invitations, and waits for those who join.
package struct InvitationOperations {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Creates a ticket for one new device.
  ///
  /// - Parameter passphrase: the passphrase of the root key, if it is sealed.
  package func invite(
    as role: MemberRole, milliseconds lifetime: Int64, rootKey: String?,
    _ passphrase: Passphrase? = nil
  ) throws -> Invitation {
    let ticket = try makeTicket(as: role, milliseconds: lifetime, rootKey: rootKey, passphrase, code: nil)
    return Invitation(
      ticket: ticket.line, expires: Date(milliseconds: ticket.expiry), id: hexadecimal(ticket.id.bytes))
  }

  /// Creates a ticket, and offers it to anyone who knows the code, if there is one.
  private func makeTicket(
    as role: MemberRole, milliseconds lifetime: Int64, rootKey: String?, _ passphrase: Passphrase?,
    code: PairingCode?
  ) throws -> Ticket {
    guard (1...Limits.ticketMillisecondsMax).contains(lifetime) else {
      let daysMax = Limits.ticketMillisecondsMax / 86_400_000
      throw WaymarkError.badValue(
        "--expires", "\(lifetime / 1_000)s", allowed: "it must be more than zero, and at most \(daysMax)d")
    }
    let root = try rootKey.map {
      try RootKey.read(
        $0, at: core.home, of: core.circle, core.passphrases(passphrase), for: "Inviting from here")
    }
    try core.checkAdmitted()
    return try core.connections.makeTicket(
      role: role == .admin ? .admin : .member, lifetime: lifetime, root: root, code: code)
  }

  /// Offers a ticket to anyone who knows a new code of six digits, and announces the offer on the local network. The offer
  /// of an earlier code ends.
  package func offerCode(
    as role: MemberRole, milliseconds lifetime: Int64, rootKey: String?, _ passphrase: Passphrase?
  ) throws -> CodeInvitation {
    guard (1...Limits.codeMillisecondsMax).contains(lifetime) else {
      throw WaymarkError.badValue(
        "--expires", "\(lifetime / 1_000)s",
        allowed: "with --code it must be more than zero, and at most \(Limits.codeMillisecondsMax / 60_000)m")
    }
    var random = SecureRandom()
    let code = try PairingCode(number: Int.random(in: 0..<PairingCode.numbers, using: &random))
    let ticket = try makeTicket(as: role, milliseconds: lifetime, rootKey: rootKey, passphrase, code: code)
    try core.connections.announceCode(of: ticket.id)
    return CodeInvitation(
      code: code.shown, expires: Date(milliseconds: ticket.expiry), address: ticket.addresses.first,
      id: hexadecimal(ticket.id.bytes))
  }

  /// The open invitations, the one that expires first in front.
  package var invitations: [OpenInvitation] {
    core.connections.credentials.invitations.map { open in
      OpenInvitation(
        id: hexadecimal(open.id.bytes), kind: open.triesLeft == nil ? .ticket : .code,
        role: open.role == .admin ? .admin : .member, expires: Date(milliseconds: open.expiry),
        triesLeft: open.triesLeft)
    }
  }

  /// Ends an open invitation.
  ///
  /// - Parameter text: the start of its id.
  package func cancelInvitation(_ text: String) throws -> OpenInvitation {
    let found = invitations.filter { $0.id.hasPrefix(text.lowercased()) }
    guard let invitation = found.first, !text.isEmpty else {
      throw WaymarkError.notFound("open invitation", text, next: .waymark("invite list"))
    }
    guard found.count == 1 else {
      throw WaymarkError.ambiguous("invitation", text, found.map(\.id))
    }
    if let id = Self.ticketID(invitation.id) { _ = core.connections.credentials.cancel(id) }
    core.loop.afterTurn()
    return invitation
  }

  private static func ticketID(_ text: String) -> TicketID? {
    UInt64(text, radix: 16).map { TicketID($0) }
  }

  /// Waits until a device has joined since this node's last invitation, or the invitation has ended.
  ///
  /// - Throws: `WaymarkError` if the invitation ends before a device has joined.
  package func joiner(of id: String, within milliseconds: Int64) async throws -> DeviceReference {
    guard let ticket = Self.ticketID(id) else { throw WaymarkError.notFound("invitation", id) }
    try core.checkOpen()
    let expiry = core.wall() + milliseconds
    let hasEnded = try await core.wait(milliseconds: milliseconds) { node in
      node.connections.lastJoined != nil
        || !node.connections.credentials.invitations.contains { $0.id == ticket }
    }
    if let joined = core.connections.lastJoined {
      return DeviceReference(device: joined, name: core.name(of: joined))
    }
    if core.connections.credentials.isOver(ticket) {
      throw WaymarkError.failed(
        .codeEnded,
        "\(Limits.codeTriesMax) wrong codes were tried, so the offer has ended. No device has joined.",
        next: .waymark("invite --code"))
    }
    guard hasEnded, core.wall() < expiry else { throw Self.expired }
    throw WaymarkError.failed(
      .invitationCancelled, "The invitation was cancelled. No device has joined.", next: .waymark("invite"))
  }

  private static var expired: WaymarkError {
    .failed(.ticketExpired, "No device joined before the ticket expired.", next: .waymark("invite"))
  }
}
