public import Foundation
import Membership
import Replication
public import Wire

/// A device of the circle, or one that was until it was revoked.
public struct CircleMember: Hashable, Sendable, Identifiable {
  /// The key that names it.
  public let device: DeviceKey
  /// What it is called here.
  public let name: String
  /// What it may do.
  public let role: Role
  /// Whether it is this device.
  public let isOwn: Bool
  /// Whether it is out of the circle.
  public let isRevoked: Bool
  /// The device that let it in; nil for the founder, and for who came in by the root key.
  public let admittedBy: DeviceKey?
  /// When it was last connected to this device.
  public let lastSeen: Date?
  /// Empty for a member.
  public let revocations: [Revocation]
  /// The members that are not known to have heard of its revocation.
  public let notHeard: [DeviceReference]

  public var id: DeviceKey { device }

  /// What a device may do.
  public enum Role: String, Hashable, Sendable, Codable {
    /// Also invite and revoke others.
    case admin
    /// Reads and writes; lets nobody in or out.
    case member
  }

  /// Who took a device out of the circle, and when.
  public struct Revocation: Hashable, Sendable, Codable, Identifiable {
    /// The statement that says so.
    public let id: String
    /// When, by the clock of who signed it.
    public let issued: Date
    /// A device, or the circle's root key.
    public let by: DeviceKey
    /// What that device is called, or `the root key`.
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
    case revocations
    case notHeard
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    device = try container.decode(DeviceKey.self, forKey: .device)
    name = try container.decode(String.self, forKey: .name)
    role = try container.decode(Role.self, forKey: .role)
    isOwn = try container.decode(Bool.self, forKey: .isOwn)
    isRevoked = try container.decode(Bool.self, forKey: .isRevoked)
    admittedBy = try container.decodeIfPresent(DeviceKey.self, forKey: .admittedBy)
    lastSeen = try container.decodeIfPresent(Date.self, forKey: .lastSeen)
    revocations = try container.decode([Revocation].self, forKey: .revocations)
    notHeard = try container.decode([DeviceReference].self, forKey: .notHeard)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(device, forKey: .device)
    try container.encode(name, forKey: .name)
    try container.encode(role, forKey: .role)
    try container.encode(isOwn, forKey: .isOwn)
    try container.encode(isRevoked ? "revoked" : "member", forKey: .state)
    try container.encodeIfPresent(admittedBy, forKey: .admittedBy)
    try container.encodeIfPresent(lastSeen, forKey: .lastSeen)
    try container.encode(isRevoked, forKey: .isRevoked)
    try container.encode(revocations, forKey: .revocations)
    try container.encode(notHeard, forKey: .notHeard)
  }
}

/// What revoking devices would do or has done.
public struct RevocationSummary: Hashable, Sendable, Codable {
  /// Whether only a preview was asked for.
  public let isPreview: Bool
  /// Whether it is done; otherwise it would be.
  public let isDone: Bool
  /// The devices that are taken out.
  public let revoked: [Target]
  /// The devices that were named and are out already.
  public let already: [Already]
  /// The key that signs: this device's, or the circle's root key.
  public let by: DeviceKey
  /// `this device` or `the root key`
  public let byName: String
  /// What a person should know before the yes.
  public let warnings: [String]
  /// All that a person sees before the yes, a line each: the devices, then the warnings.
  public let notes: [String]
  /// Sentences for people: the question of a preview, else what became of it.
  public let text: String
  /// The command of `waymark` that shows more.
  public let next: Step?

  /// One device that is revoked.
  public struct Target: Hashable, Sendable, Codable {
    /// The key that names it.
    public let device: DeviceKey
    /// What it is called.
    public let name: String
    /// What it may do until then.
    public let role: CircleMember.Role
    /// The statement that revokes it; nil in a preview.
    public let statement: String?
    /// How many of its logs are here and stay.
    public let keptLogs: Int
    /// What it wrote, is here, and stays.
    public let changeSets: Int
    /// The members that are in the circle by its word; they stay unless they are revoked too.
    public let invited: [DeviceReference]
    /// The devices that it had revoked; they stay out unless that is undone.
    public let hadRevoked: [DeviceReference]
    /// The members that are not known to have heard of it.
    public let notHeard: [DeviceReference]
  }

  /// A device that was revoked before.
  public struct Already: Hashable, Sendable, Codable {
    /// The key that names it.
    public let device: DeviceKey
    /// What it is called.
    public let name: String
    /// Who revoked it, and when.
    public let revocations: [CircleMember.Revocation]
  }

  private enum CodingKeys: String, CodingKey {
    case isPreview = "preview"
    case isDone = "done"
    case revoked
    case already
    case by
    case byName
    case warnings
    case notes
    case text
    case next
  }
}

extension CircleMember {
  init(_ member: Member, on node: isolated Node, now: Moment) {
    let inspection = NodeInspection(of: node, now: now)
    self.init(
      device: member.device, name: node.name(of: member.device), role: Role(member.role),
      isOwn: member.device == node.identity.device,
      isRevoked: node.circle.evaluation.revocations[member.device]?.isEmpty == false,
      admittedBy: member.issuer == node.circle.genesis.root ? nil : member.issuer,
      lastSeen: inspection.lastSeen(of: member.device).map(Date.init(milliseconds:)),
      revocations: node.connections.revocationStatus.revocations(of: member.device),
      notHeard: node.connections.revocationStatus.notHeard(of: member.device).map(DeviceReference.init))
  }
}

extension CircleMember.Role {
  init(_ role: Role) { self = role == .admin ? .admin : .member }
}

extension DeviceReference {
  /// By the name that the circle knows it by.
  init(_ member: Member) { self.init(device: member.device, name: member.name) }
}
