public import Foundation
import Replication
public import Wire

/// The effect of turning sync on, on the records here and on the other devices.
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
  /// The first records that exist on both sides and differ; they merge field by field.
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
    /// Records that only this device has.
    public let onlyHere: Int
    /// Records that only other devices have.
    public let onlyThere: Int
    /// Records that are the same on both sides.
    public let same: Int
    /// Records that are on both sides and differ.
    public let differing: Int
  }

  /// A comparison of the records of one kind.
  public struct KindComparison: Hashable, Sendable, Codable {
    /// The kind of the records.
    public let kind: RecordKind
    /// The plural name of the kind.
    public let plural: String
    /// Records that only this device has.
    public let onlyHere: Int
    /// Records that only other devices have.
    public let onlyThere: Int
    /// Records that are the same on both sides.
    public let same: Int
    /// Records that are on both sides and differ.
    public let differing: Int
  }

  /// A comparison of profiles. A profile merges as a whole: one of the two wins.
  public struct Profile: Hashable, Sendable, Codable {
    /// Which sides have a profile, and whether it is the same.
    public let state: State
    /// The side whose profile wins.
    public let winner: Side
    /// The device whose profile wins.
    public let winnerDevice: DeviceKey
    /// That device's display name on this device.
    public let winnerName: String
    /// The code of the reason why it wins; nil if there is nothing to decide.
    public let reason: String?
    /// Why it wins, as human-readable text; nil if there is nothing to decide.
    public let text: String?
    /// The profile of this device; nil if it has none.
    public let here: Version?
    /// The profile of the others; nil if they have none.
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
      /// Its own time of change; nil if that is not a valid time.
      public let updatedAt: Date?
      /// The number of its fields that are not empty.
      public let filledIn: Int
      /// The device that wrote it.
      public let device: DeviceKey
      /// That device's display name on this device.
      public let deviceName: String
      /// When it was written, by that device's clock.
      public let written: Date
    }

    /// Which sides have a profile, and whether it is the same.
    public enum State: String, Hashable, Sendable, Codable {
      /// The same on both sides.
      case same
      /// Only on this device.
      case onlyHere = "only_here"
      /// Only on another device.
      case onlyThere = "only_there"
      /// Different on the two sides.
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
    /// Its display name on this device.
    public let name: String
    /// The reason code.
    public let reason: Reason
    /// A human-readable sentence.
    public let text: String
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
