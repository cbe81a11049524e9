public import Platform
import Home
public import Model
public import NodeRuntime
public import Reasons
public import Records
import Replication
public import Wire

/// The effect that turning sync on would have on the records of this device and of the other devices.
public struct SyncPreview: Hashable, Sendable {
  /// Whether sync of records is already turned on.
  public let preference: Bool
  /// Whether records sync.
  public let isActive: Bool
  /// Whether this device has premium.
  public let premium: SyncState.Premium
  /// The comparison of records by kind.
  public let kinds: [KindComparison]
  /// The comparison of all kinds together.
  public let total: Comparison
  /// The first records that exist on both sides and differ; such records merge field by field.
  public let differing: [RecordReference]
  /// Which profile would win; nil if there is none.
  public let profile: Profile?
  /// The devices that were asked, with the comparison for each.
  public let peers: [Asked]
  /// The devices that could not be asked, with the reason for each.
  public let notAsked: [NotAsked]

  /// Whether turning sync on would change anything on any device.
  public var changesAnything: Bool { total.onlyHere + total.onlyThere + total.differing > 0 }

  /// A comparison of all kinds of records.
  public struct Comparison: Hashable, Sendable, Codable {
    /// The number of records that only this device has.
    public let onlyHere: Int
    /// The number of records that only other devices have.
    public let onlyThere: Int
    /// The number of records that are the same on both sides.
    public let same: Int
    /// The number of records that exist on both sides and differ.
    public let differing: Int
  }

  /// A comparison of the records of one kind.
  public struct KindComparison: Hashable, Sendable, Codable {
    /// The kind of the records.
    public let kind: RecordKind
    /// The plural name of the kind.
    public let plural: String
    /// The number of records that only this device has.
    public let onlyHere: Int
    /// The number of records that only other devices have.
    public let onlyThere: Int
    /// The number of records that are the same on both sides.
    public let same: Int
    /// The number of records that exist on both sides and differ.
    public let differing: Int
  }

  /// A comparison of profiles. A profile merges as a whole: one of the two wins.
  public struct Profile: Hashable, Sendable, Codable {
    /// Which sides have a profile and, if both do, whether the two profiles are the same.
    public let state: State
    /// The side whose profile wins.
    public let winner: Side
    /// The device whose profile wins.
    public let winnerDevice: DeviceKey
    /// The name under which this device shows the winning device.
    public let winnerName: String
    /// The code of the reason why that profile wins; nil if there is nothing to decide.
    public let reason: String?
    /// Why that profile wins, as human-readable text; nil if there is nothing to decide.
    public let text: LocalizableText?
    /// The profile of this device; nil if it has none.
    public let here: Version?
    /// The profile of another device, the one that wins among the other devices' profiles; nil if they have none.
    public let there: Version?

    /// One of the two sides.
    public enum Side: String, Hashable, Sendable, Codable {
      /// This device.
      case here
      /// Another device.
      case there
    }

    /// One of the two profiles.
    public struct Version: Hashable, Sendable, Codable {
      /// The time of change that the profile itself carries; nil if it is not a valid time.
      public let updatedAt: Date?
      /// The number of the profile's fields that are not empty.
      public let filledIn: Int
      /// The device that wrote the profile.
      public let device: DeviceKey
      /// The name under which this device shows the author.
      public let deviceName: String
      /// When the profile was written, by the author's clock.
      public let written: Date
    }

    /// Which sides have a profile and, if both do, whether the two profiles are the same.
    public enum State: String, Hashable, Sendable, Codable {
      /// Both sides have the same profile.
      case same
      /// Only this device has a profile.
      case onlyHere = "only_here"
      /// Only another device has a profile.
      case onlyThere = "only_there"
      /// Both sides have a profile, and the two differ.
      case differs
    }
  }

  /// A device that was asked.
  public struct Asked: Hashable, Sendable, Codable {
    /// The public key that identifies the device.
    public let device: DeviceKey
    /// The name of the device in the circle.
    public let name: String
    /// The comparison of records by kind.
    public let kinds: [KindComparison]
    /// The comparison of all kinds together.
    public let total: Comparison
    /// The first records that exist on both sides and differ.
    public let differing: [RecordReference]
    /// Which profile would win; nil if there is none.
    public let profile: Profile?
  }

  /// A device that could not be asked.
  public struct NotAsked: Hashable, Sendable, Codable {
    /// The public key that identifies the device.
    public let device: DeviceKey
    /// The name under which this device shows it.
    public let name: String
    /// The code of the reason why the device could not be asked.
    public let reason: Reason
    /// The reason as human-readable text.
    public let text: LocalizableText
    /// What to do next, usually a `waymark` command; nil if nothing helps.
    public let next: Step?
  }
}

extension SyncPreview: Codable {
  private enum CodingKeys: String, CodingKey {
    case isPreview = "preview"
    case preference
    case isActive = "active"
    case premium
    case kinds
    case total
    case differing
    case profile
    case peers
    case notAsked
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(true, forKey: .isPreview)
    try container.encode(preference, forKey: .preference)
    try container.encode(isActive, forKey: .isActive)
    try container.encode(premium, forKey: .premium)
    try container.encode(kinds, forKey: .kinds)
    try container.encode(total, forKey: .total)
    try container.encode(differing, forKey: .differing)
    try container.encodeIfPresent(profile, forKey: .profile)
    try container.encode(peers, forKey: .peers)
    try container.encode(notAsked, forKey: .notAsked)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    preference = try container.decode(Bool.self, forKey: .preference)
    isActive = try container.decode(Bool.self, forKey: .isActive)
    premium = try container.decode(SyncState.Premium.self, forKey: .premium)
    kinds = try container.decode([KindComparison].self, forKey: .kinds)
    total = try container.decode(Comparison.self, forKey: .total)
    differing = try container.decode([RecordReference].self, forKey: .differing)
    profile = try container.decodeIfPresent(Profile.self, forKey: .profile)
    peers = try container.decode([Asked].self, forKey: .peers)
    notAsked = try container.decode([NotAsked].self, forKey: .notAsked)
  }
}
