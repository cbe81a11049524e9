package import Platform
import JSONDocument
package import Waymark
import WaymarkCare
package import Wire

/// `init`: creates a new circle with this device.
package struct FoundCircle: Command {
  package static let name = "init"

  package var name: String?
  package var issuer: String?
  /// Whether the circle issues premium to itself.
  package var premium: Bool?

  package struct Answer: Codable, Sendable {
    package let circle: CircleID
    package let device: DeviceKey
    package let name: String
    package let rewritten: Int
    package let formerKeys: String?
    /// When premium ends; nil if the circle has none.
    package let premiumUntil: Date?

    package init(_ membership: NewMembership) {
      premiumUntil = membership.premiumUntil
      circle = membership.circle
      device = membership.device
      name = membership.name
      rewritten = membership.rewritten
      formerKeys = membership.formerKeys
    }
  }
}

/// `join`: admits this device to the circle of a ticket or a code or, with the root key, to the circle that its store belongs to.
package struct JoinCircle: Command, ConfirmableCommand {
  package static let name = "join"

  package var ticket: String?
  package var name: String?
  /// The address of the device that shows the code.
  package var at: String?
  /// The name of the device that shows the code, if several do.
  package var on: String?
  package var rootKey: String?
  package var yes: Bool?

  package struct Answer: Sendable {
    package let circle: CircleID
    package let device: DeviceKey
    package let name: String
    package let rewritten: Int
    /// Nil if the root key admitted the device.
    package let byTicket: ByTicket?

    /// The part of the answer that is present only if the device joined with a ticket.
    package struct ByTicket: Sendable {
      /// How many records were re-created in the new circle, by the plural of their kind.
      package let brought: [(plural: String, count: Int)]
      package let wasMember: Bool
      package let askedName: String?
      package let formerMember: DeviceReference?
    }

    /// The answer after the root key has admitted this device.
    package init(readmitted membership: NewMembership) { self.init(membership, nil) }

    package init(_ membership: NewMembership, brought: JoinPreview?, askedName: String?) {
      self.init(
        membership,
        ByTicket(
          brought: brought?.counts.map { ($0.plural, $0.count) } ?? [], wasMember: membership.wasMember,
          askedName: askedName, formerMember: membership.formerMember))
    }

    private init(_ membership: NewMembership, _ byTicket: ByTicket?) {
      circle = membership.circle
      device = membership.device
      name = membership.name
      rewritten = membership.rewritten
      self.byTicket = byTicket
    }
  }
}

extension JoinCircle.Answer: Codable {
  private enum CodingKeys: CodingKey {
    case circle
    case device
    case name
    case rewritten
    case brought
    case wasMember
    case askedName
    case formerMember
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    circle = try container.decode(CircleID.self, forKey: .circle)
    device = try container.decode(DeviceKey.self, forKey: .device)
    name = try container.decode(String.self, forKey: .name)
    rewritten = try container.decode(Int.self, forKey: .rewritten)
    guard container.contains(.brought) else {
      byTicket = nil
      return
    }
    let counts = try container.nestedContainer(keyedBy: DocumentKey.self, forKey: .brought)
    byTicket = ByTicket(
      brought: try counts.allKeys.map { ($0.stringValue, try counts.decode(Int.self, forKey: $0)) },
      wasMember: try container.decode(Bool.self, forKey: .wasMember),
      askedName: try container.decodeIfPresent(String.self, forKey: .askedName),
      formerMember: try container.decodeIfPresent(DeviceReference.self, forKey: .formerMember))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(circle, forKey: .circle)
    try container.encode(device, forKey: .device)
    try container.encode(name, forKey: .name)
    try container.encode(rewritten, forKey: .rewritten)
    guard let byTicket else { return }
    var counts = container.nestedContainer(keyedBy: DocumentKey.self, forKey: .brought)
    for (plural, count) in byTicket.brought { try counts.encode(count, forKey: DocumentKey(plural)) }
    try container.encode(byTicket.wasMember, forKey: .wasMember)
    try container.encode(byTicket.askedName, forKey: .askedName)
    try container.encode(byTicket.formerMember, forKey: .formerMember)
  }
}

/// `invite`: creates a ticket with which one device can join.
package struct Invite: NodeCommand {
  package static let name = "invite"

  package var role: String?
  package var expiresMilliseconds: Int64?
  package var rootKey: String?
  /// The style of the QR code to show with the ticket; nil for none.
  package var qr: String?
  /// Whether to offer the ticket to anyone who knows a code of six digits, instead of showing it.
  package var code: Bool?
  /// Whether to answer only when a device has joined; the event `ticket` carries the ticket at once.
  package var wait: Bool?
  package var keyFile: String? { rootKey }

  package struct Answer: Codable, Sendable {
    /// The ticket; nil if the invitation is a code.
    package let ticket: String?
    /// The six digits; nil if the invitation is a ticket.
    package let code: String?
    package let expires: Date
    /// The device that has joined; nil if the command did not wait for one.
    package let joined: DeviceReference?

    package init(
      ticket: String? = nil, code: String? = nil, expires: Date, joined: DeviceReference? = nil
    ) {
      self.ticket = ticket
      self.code = code
      self.expires = expires
      self.joined = joined
    }
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    guard let role = MemberRole(rawValue: role ?? "member") else {
      throw WaymarkError.badValue("--role", role ?? "", allowed: "expected admin or member")
    }
    let lifetime = expiresMilliseconds ?? Limits.ticketMilliseconds
    if code == true { return try await performByCode(role, lifetime, on: node, call) }
    let invitation = try InvitationOperations(node.core).invite(
      as: role, milliseconds: lifetime, rootKey: rootKey, call.passphrase)
    call.tell(.ticket(invitation.ticket, expires: invitation.expires))
    if role == .member, node.core.inspection().isSingleAdmin { call.tell(.singleAdmin) }
    guard wait == true else { return Answer(ticket: invitation.ticket, expires: invitation.expires) }
    let joined = try await InvitationOperations(node.core).joiner(of: invitation.id, within: lifetime)
    return Answer(ticket: invitation.ticket, expires: invitation.expires, joined: joined)
  }

  private func performByCode(
    _ role: MemberRole, _ lifetime: Int64, on node: isolated Node, _ call: CommandCall
  ) async throws -> Answer {
    let offer = try InvitationOperations(node.core).offerCode(
      as: role, milliseconds: lifetime, rootKey: rootKey, call.passphrase)
    call.tell(.code(offer.code, expires: offer.expires, address: offer.address))
    guard wait == true else { return Answer(code: offer.code, expires: offer.expires) }
    let joined = try await InvitationOperations(node.core).joiner(of: offer.id, within: lifetime)
    return Answer(code: offer.code, expires: offer.expires, joined: joined)
  }
}

extension Invite.Answer {
  private enum CodingKeys: CodingKey {
    case ticket
    case code
    case expires
    case joined
    case name
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    ticket = try container.decodeIfPresent(String.self, forKey: .ticket)
    code = try container.decodeIfPresent(String.self, forKey: .code)
    expires = try container.decode(Date.self, forKey: .expires)
    guard container.contains(.joined) else {
      joined = nil
      return
    }
    joined = DeviceReference(
      device: try container.decode(DeviceKey.self, forKey: .joined),
      name: try container.decode(String.self, forKey: .name))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(ticket, forKey: .ticket)
    try container.encode(code, forKey: .code)
    try container.encode(expires, forKey: .expires)
    guard let joined else { return }
    try container.encode(joined.device, forKey: .joined)
    try container.encode(joined.name, forKey: .name)
  }
}
