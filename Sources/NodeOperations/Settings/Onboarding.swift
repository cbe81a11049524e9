import Membership
import Model
package import NodeRuntime
import Records
import Replication
import Storage
import Wire

/// The onboarding state of a device, which decides how a person is welcomed.
///
/// ```swift
/// switch try await node.onboarding() {
/// case .newUser: showIntroduction()
/// case .returningUser(let summary): welcomeBack(summary)
/// case .completedHere: break
/// }
/// ```
public enum Onboarding: Hashable, Sendable {
  /// As far as this device knows, the person has no data yet.
  case newUser
  /// Onboarding was completed on another device, and that device's data has arrived here. This state requires premium,
  /// because records don't sync without it.
  case returningUser(ReturningUser)
  /// Onboarding was completed on this device.
  case completedHere

  /// A summary of the data on this device for a returning user.
  public struct ReturningUser: Hashable, Sendable {
    /// The number of habits.
    public let habitCount: Int
    /// The number of categories.
    public let categoryCount: Int
    /// The number of trips.
    public let tripCount: Int
    /// The profile's name; nil if it has none.
    public let profileName: String?
    /// The missing parts of the profile.
    public let missing: [ProfilePart]

    /// Whether the profile has a name.
    public var hasProfile: Bool { profileName != nil }
  }

  /// The parts that a profile should have.
  public enum ProfilePart: String, Hashable, Sendable, CaseIterable, Codable {
    /// The person's name.
    case name
    /// A picture.
    case avatar
    /// The appearance: light, dark or the system's.
    case appearance
    /// The person's home time zone.
    case homeZone = "homeTimezone"
  }
}

extension Onboarding.ReturningUser: Codable {
  private enum CodingKeys: CodingKey {
    case habits
    case categories
    case trips
    case hasProfile
    case profileName
    case missing
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(habitCount, forKey: .habits)
    try container.encode(categoryCount, forKey: .categories)
    try container.encode(tripCount, forKey: .trips)
    try container.encode(hasProfile, forKey: .hasProfile)
    try container.encode(profileName, forKey: .profileName)
    try container.encode(missing, forKey: .missing)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    habitCount = try container.decode(Int.self, forKey: .habits)
    categoryCount = try container.decode(Int.self, forKey: .categories)
    tripCount = try container.decode(Int.self, forKey: .trips)
    profileName = try container.decodeIfPresent(String.self, forKey: .profileName)
    missing = try container.decode([Onboarding.ProfilePart].self, forKey: .missing)
  }
}

extension Onboarding {
  /// The key of the synced setting.
  package static var flag: String { KnownPreference.hasCompletedOnboarding.key }

  /// Returns whether onboarding was completed on this device. This state is not synced.
  static func isCompleted(in store: Store) throws -> Bool {
    try store.meta(MetaKey.completedOnboarding) == [1]
  }

  /// Stores whether onboarding is completed on this device.
  package static func complete(_ isCompleted: Bool, on loop: EventLoop) throws {
    guard try self.isCompleted(in: loop.store) != isCompleted else { return }
    try loop.store.setMeta(MetaKey.completedOnboarding, isCompleted ? [1] : nil)
    loop.nodeChanged()
  }
}
