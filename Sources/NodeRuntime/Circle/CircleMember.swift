public import Platform
import Home
package import Membership
package import Replication
import Storage
public import Wire

/// A member of the circle, or a revoked device.
public struct CircleMember: Hashable, Sendable, Identifiable {
  /// The public key that identifies the device.
  public let device: DeviceKey
  /// The name under which this device shows the member.
  public let name: String
  /// The role of the device.
  public let role: MemberRole
  /// Whether the member is this device.
  public let isOwn: Bool
  /// Whether the device is revoked.
  public let isRevoked: Bool
  /// Whether the device has left the circle, or has asked to leave: not by another device's decision but by its own.
  public let isLeaving: Bool
  /// The device that signed the admission; nil for the founder and for devices admitted with the root key.
  public let admittedBy: DeviceKey?
  /// When the device was last connected to this one; nil if that is not known.
  public let lastSeen: Date?
  /// The revocations in effect against the device; empty for a member.
  public let revocations: [Revocation]
  /// The members that are not known to have received the device's revocation.
  public let notHeard: [DeviceReference]
  /// How much of its quota the device has used, in each lane.
  public let usage: [Usage]

  public var id: DeviceKey { device }

  /// How much of its quota a device has used in one lane.
  public struct Usage: Hashable, Sendable, Codable {
    /// The lane: `settings` or `records`.
    public let lane: String
    /// The bytes that the device has written in the lane and that are stored here.
    public let bytes: UInt64
    /// The device's quota in the lane, in bytes. A part of it is reserved for restored or copied stores.
    public let quota: UInt64
  }

  /// A revocation of a device.
  public struct Revocation: Hashable, Sendable, Codable, Identifiable {
    /// The id of the signed statement.
    public let id: String
    /// When the revocation was signed, by the signer's clock.
    public let issued: Date
    /// The key that signed the revocation: a device key, or the circle's root key.
    public let by: DeviceKey
    /// The signing device's name, or `the root key`.
    public let byName: String
  }
}

extension CircleMember: Codable {
  private enum CodingKeys: String, CodingKey {
    case device
    case name
    case role
    case isOwn = "own"
    case state
    case admittedBy
    case lastSeen
    case isRevoked = "revoked"
    case isLeaving = "leaving"
    case revocations
    case notHeard
    case usage
  }

  /// The state in documents: `member`, `leaving`, `left` or `revoked`.
  public var state: String {
    isRevoked ? (isLeaving ? "left" : "revoked") : (isLeaving ? "leaving" : "member")
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    device = try container.decode(DeviceKey.self, forKey: .device)
    name = try container.decode(String.self, forKey: .name)
    role = try container.decode(MemberRole.self, forKey: .role)
    isOwn = try container.decode(Bool.self, forKey: .isOwn)
    isRevoked = try container.decode(Bool.self, forKey: .isRevoked)
    isLeaving = try container.decode(Bool.self, forKey: .isLeaving)
    admittedBy = try container.decodeIfPresent(DeviceKey.self, forKey: .admittedBy)
    lastSeen = try container.decodeIfPresent(Date.self, forKey: .lastSeen)
    revocations = try container.decode([Revocation].self, forKey: .revocations)
    notHeard = try container.decode([DeviceReference].self, forKey: .notHeard)
    usage = try container.decode([Usage].self, forKey: .usage)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(device, forKey: .device)
    try container.encode(name, forKey: .name)
    try container.encode(role, forKey: .role)
    try container.encode(isOwn, forKey: .isOwn)
    try container.encode(state, forKey: .state)
    try container.encodeIfPresent(admittedBy, forKey: .admittedBy)
    try container.encodeIfPresent(lastSeen, forKey: .lastSeen)
    try container.encode(isRevoked, forKey: .isRevoked)
    try container.encode(isLeaving, forKey: .isLeaving)
    try container.encode(revocations, forKey: .revocations)
    try container.encode(notHeard, forKey: .notHeard)
    try container.encode(usage, forKey: .usage)
  }
}

extension CircleMember {
  package init(_ member: Member, on node: NodeCore, now: Moment) {
    let inspection = NodeInspection(of: node, now: now)
    self.init(
      device: member.device, name: node.name(of: member.device), role: MemberRole(member.role),
      isOwn: member.device == node.identity.device,
      isRevoked: node.circle.evaluation.revocations[member.device]?.isEmpty == false,
      isLeaving: node.circle.evaluation.leaving[member.device] != nil
        || node.circle.evaluation.hasLeft(member.device),
      admittedBy: member.inviter == node.circle.genesis.root ? nil : member.inviter,
      lastSeen: inspection.lastSeen(of: member.device).map(Date.init(milliseconds:)),
      revocations: node.connections.revocationStatus.revocations(of: member.device),
      notHeard: node.connections.revocationStatus.notHeard(of: member.device).map(DeviceReference.init),
      usage: Usage.of(member.device, on: node))
  }
}

extension CircleMember.Usage {
  /// Returns the usage of both lanes.
  static func of(_ device: DeviceKey, on node: NodeCore) -> [CircleMember.Usage] {
    let usages = node.store.quotaUsages().filter { $0.device == device }
    return Lane.allCases.map { lane in
      CircleMember.Usage(
        lane: "\(lane)", bytes: usages.first { $0.lane == lane }?.bytes ?? 0,
        quota: node.circle.evaluation.quota(of: device, lane))
    }
  }
}

/// The permissions of a device.
public enum MemberRole: String, Hashable, Sendable, Codable {
  /// Reads and writes, and may invite and revoke devices.
  case admin
  /// Reads and writes.
  case member
}

extension MemberRole {
  package init(_ role: Role) { self = role == .admin ? .admin : .member }
}

extension DeviceReference {
  /// Creates a reference with the device's name in the circle.
  package init(_ member: Member) { self.init(device: member.device, name: member.name) }
}
