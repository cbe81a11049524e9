public import Foundation
import Replication
public import Wire

/// What would become of the records here and on the other devices if sync were turned on; nothing is written.
public struct SyncPreview: Hashable, Sendable {
  /// Whether the person wants records to sync already.
  public let preference: Bool
  /// Whether records sync.
  public let isActive: Bool
  /// Whether this device has premium.
  public let premium: SyncState.Premium
  /// Records in which the devices differ or agree, by kind.
  public let kinds: [KindComparison]
  /// All kinds together.
  public let total: Comparison
  /// The first of the records that are on both sides and differ; they merge field by field.
  public let differing: [RecordReference]
  /// Which profile would win; nil if there is none.
  public let profile: Profile?
  /// The devices that were asked, each with how it compares.
  public let peers: [Asked]
  /// The devices that could not be asked, and why.
  public let notAsked: [NotAsked]

  /// Whether anything would come or go.
  public var changesAnything: Bool { total.onlyHere + total.onlyThere + total.differing > 0 }

  /// How many records are where.
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

  /// The records of one kind.
  public struct KindComparison: Hashable, Sendable, Codable {
    /// The kind of the records.
    public let kind: RecordKind
    /// What several of the kind are called.
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

  /// The profile is one value: one of the two wins whole.
  public struct Profile: Hashable, Sendable, Codable {
    /// Where there is a profile.
    public let state: State
    /// Where the profile is that everyone will have: `here` or `there`.
    public let winner: Side
    /// The device whose profile everyone will have.
    public let winnerDevice: DeviceKey
    /// What that device is called here.
    public let winnerName: String
    /// Why it wins, as a word for programs; nil if there is nothing to decide.
    public let reason: String?
    /// Why it wins, for people; nil if there is nothing to decide.
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
      /// When it was changed, as it says; nil if that is no time.
      public let updatedAt: Date?
      /// How many of its fields are filled in.
      public let filledIn: Int
      /// Who wrote it.
      public let device: DeviceKey
      /// What that device is called here.
      public let deviceName: String
      /// When it was written, by the clock of who did it.
      public let written: Date
    }

    /// Where there is a profile.
    public enum State: String, Hashable, Sendable, Codable {
      /// The same on both sides.
      case same
      /// Only on this device.
      case onlyHere = "only_here"
      /// Only on another device.
      case onlyThere = "only_there"
      /// On both sides, and not the same.
      case differs
    }
  }

  /// A device that was asked.
  public struct Asked: Hashable, Sendable, Codable {
    /// The key that names it.
    public let device: DeviceKey
    /// What it calls itself.
    public let name: String
    /// Records in which it and this device differ or agree, by kind.
    public let kinds: [KindComparison]
    /// All kinds together.
    public let total: Comparison
    /// The first of the records that are on both sides and differ.
    public let differing: [RecordReference]
    /// Which profile would win; nil if there is none.
    public let profile: Profile?
  }

  /// A device that could not be asked.
  public struct NotAsked: Hashable, Sendable, Codable {
    /// The key that names it.
    public let device: DeviceKey
    /// What it is called here.
    public let name: String
    /// A word for programs.
    public let reason: Reason
    /// A sentence for people.
    public let text: String
    /// The command of `waymark` that helps; nil if none does.
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
