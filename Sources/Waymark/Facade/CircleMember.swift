public import Foundation
import JSONDocument
public import Wire

/// A device of the circle, or one that was until it was revoked.
public struct CircleMember: Hashable, Sendable, Decodable, Identifiable {
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
  public struct Revocation: Hashable, Sendable, Decodable {
    /// When, by the clock of who signed it.
    public let issued: Date
    /// A device, or the circle's root key.
    public let by: DeviceKey
    /// What that device is called, or `the root key`.
    public let byName: String
  }

  private enum CodingKeys: String, CodingKey {
    case device
    case name
    case role
    case isOwn = "own"
    case isRevoked = "revoked"
    case admittedBy
    case lastSeen
    case revocations
    case notHeard
  }
}

/// What revoking devices would do or has done.
public struct RevocationSummary: Hashable, Sendable, Decodable {
  /// Whether it is done; otherwise it would be.
  public let isDone: Bool
  /// The devices that are taken out.
  public let revoked: [Target]
  /// The devices that were named and are out already.
  public let already: [DeviceReference]
  /// `this device` or `the root key`
  public let byName: String
  /// What a person should know before the yes.
  public let warnings: [String]
  /// Sentences for people: the question of a preview, else what became of it.
  public let text: String

  /// One device that is revoked.
  public struct Target: Hashable, Sendable, Decodable {
    /// The key that names it.
    public let device: DeviceKey
    /// What it is called.
    public let name: String
    /// What it may do until then.
    public let role: CircleMember.Role
    /// What it wrote, is here, and stays.
    public let changeSets: Int
    /// The members that are in the circle by its word; they stay unless they are revoked too.
    public let invited: [DeviceReference]
    /// The devices that it had revoked; they stay out unless that is undone.
    public let hadRevoked: [DeviceReference]
    /// The members that are not known to have heard of it.
    public let notHeard: [DeviceReference]
  }

  private enum CodingKeys: String, CodingKey {
    case isDone = "done"
    case revoked
    case already
    case byName
    case warnings
    case text
  }
}

extension Node {
  /// The devices of the circle, this one among them, then those that were revoked.
  public func members() throws -> [CircleMember] { try read(.members) }

  /// What revoking devices would do; writes nothing.
  ///
  /// The parameters are those of ``revoke(_:withInvited:undoingRevocations:rootKey:)``.
  public func revocationPreview(
    of devices: [DeviceKey], withInvited: Bool = false, undoingRevocations: Bool = false, rootKey: URL? = nil
  ) async throws -> RevocationSummary {
    try await revoke(devices, withInvited, undoingRevocations, rootKey, ["preview": true])
  }

  /// Takes devices out of the circle for good. What they wrote and is here stays; whatever else they wrote or will
  /// write is left out on every device.
  ///
  /// - Parameters:
  ///   - devices: other devices of the circle.
  ///   - withInvited: also those that are in the circle by their word.
  ///   - undoingRevocations: takes those in again that they had revoked.
  ///   - rootKey: the file of the circle's root key, where this device is no admin or no admin may undo it.
  /// - Throws: `WaymarkError` with the code `not_admin`, `own_device` or `not_found`.
  @discardableResult
  public func revoke(
    _ devices: [DeviceKey], withInvited: Bool = false, undoingRevocations: Bool = false, rootKey: URL? = nil
  ) async throws -> RevocationSummary {
    try await revoke(devices, withInvited, undoingRevocations, rootKey, ["yes": true])
  }

  private func revoke(
    _ devices: [DeviceKey], _ withInvited: Bool, _ undoingRevocations: Bool, _ rootKey: URL?, _ how: JSON
  ) async throws -> RevocationSummary {
    var arguments = how
    arguments["device"] = .array(devices.map { .string($0.description) })
    arguments["withInvited"] = .bool(withInvited)
    arguments["undoRevocations"] = .bool(undoingRevocations)
    arguments["rootKey"] = .file(rootKey)
    return try await typed("revoke", arguments)
  }
}
