import Platform
import Home
public import NodeRuntime
public import Reasons
public import Wire

/// The preview or the result of revoking devices.
public struct RevocationSummary: Hashable, Sendable, Codable {
  /// Whether a preview was requested.
  public let isPreview: Bool
  /// Whether the devices have been revoked.
  public let isDone: Bool
  /// Whether everything that the devices wrote is discarded, on all devices.
  public let isDiscarding: Bool
  /// The devices that were revoked or, in a preview, would be.
  public let revoked: [Target]
  /// The requested devices that had already been revoked.
  public let already: [Already]
  /// The key that signs the revocations: this device's key, or the circle's root key.
  public let by: DeviceKey
  /// The signer's name: `this device` or `the root key`.
  public let byName: String
  /// Warnings to show before confirmation.
  public let warnings: [String]
  /// The lines to show before confirmation: the devices, then the warnings.
  public let notes: [String]
  /// Human-readable sentences: in a preview, the question to confirm; otherwise the result.
  public let text: LocalizableText
  /// The `waymark` command that shows more; nil in a preview.
  public let next: Step?

  /// A device that was revoked or, in a preview, would be.
  public struct Target: Hashable, Sendable, Codable {
    /// The public key that identifies the device.
    public let device: DeviceKey
    /// The name of the device.
    public let name: String
    /// The device's role before the revocation.
    public let role: MemberRole
    /// The id of the statement that revokes it; nil in a preview.
    public let statement: String?
    /// The number of the device's logs that are stored here and kept.
    public let keptLogs: Int
    /// The number of the device's change sets that are stored here, which are kept or discarded.
    public let changeSets: Int
    /// If the change sets are discarded: the number of records that the device was the last to change, and that
    /// disappear or show earlier values. Nil if they are kept.
    public let lastChanged: Int?
    /// The members that the device invited, directly or indirectly; they stay members unless they are revoked too.
    public let invited: [DeviceReference]
    /// The devices that the device had revoked; they stay revoked unless those revocations are undone.
    public let hadRevoked: [DeviceReference]
    /// The members that are not known to have received the revocation.
    public let notHeard: [DeviceReference]
  }

  /// A requested device that had already been revoked.
  public struct Already: Hashable, Sendable, Codable {
    /// The public key that identifies the device.
    public let device: DeviceKey
    /// The name of the device.
    public let name: String
    /// The revocations in effect against the device.
    public let revocations: [CircleMember.Revocation]
  }

  private enum CodingKeys: String, CodingKey {
    case isPreview = "preview"
    case isDone = "done"
    case isDiscarding = "discard"
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
