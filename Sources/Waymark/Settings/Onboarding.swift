import Membership
import Records
import Replication
import Storage
import Wire

/// Which way a person is welcomed on this device.
///
/// ```swift
/// switch try await node.onboarding() {
/// case .newUser: showIntroduction()
/// case .returningUser(let summary): welcomeBack(summary)
/// case .completedHere: break
/// }
/// ```
public enum Onboarding: Hashable, Sendable {
  /// There is nothing of this person yet, as far as this device knows.
  case newUser
  /// Onboarding was completed on another device, and what is there has come here. Premium only: to a free user
  /// records don't come.
  case returningUser(ReturningUser)
  /// Onboarding was completed on this very device.
  case completedHere

  /// What a returning user is told about the data that is here.
  public struct ReturningUser: Hashable, Sendable {
    /// How many habits are here.
    public let habits: Int
    /// How many categories are here.
    public let categories: Int
    /// How many trips are here.
    public let trips: Int
    /// The profile's name; nil if there is no profile yet.
    public let profileName: String?
    /// What the profile still lacks.
    public let missing: [ProfilePart]

    /// Whether the profile has a name.
    public var hasProfile: Bool { profileName != nil }
  }

  /// What a profile should have.
  public enum ProfilePart: String, Hashable, Sendable, CaseIterable, Codable {
    /// The person's name.
    case name
    /// A picture.
    case avatar
    /// Light, dark, or as the system.
    case appearance
    /// The zone of where they live.
    case homeTimezone
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
    try container.encode(habits, forKey: .habits)
    try container.encode(categories, forKey: .categories)
    try container.encode(trips, forKey: .trips)
    try container.encode(hasProfile, forKey: .hasProfile)
    try container.encode(profileName, forKey: .profileName)
    try container.encode(missing, forKey: .missing)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    habits = try container.decode(Int.self, forKey: .habits)
    categories = try container.decode(Int.self, forKey: .categories)
    trips = try container.decode(Int.self, forKey: .trips)
    profileName = try container.decodeIfPresent(String.self, forKey: .profileName)
    missing = try container.decode([Onboarding.ProfilePart].self, forKey: .missing)
  }
}

extension Onboarding {
  /// The synced setting.
  static var flag: String { KnownPreference.hasCompletedOnboarding.key }

  /// Whether this device has welcomed the person; the other devices do not know.
  static func isCompleted(in store: Store) throws -> Bool {
    try store.meta(MetaKey.completedOnboarding) == [1]
  }

  static func complete(_ isCompleted: Bool, on loop: EventLoop) throws {
    guard try self.isCompleted(in: loop.store) != isCompleted else { return }
    try loop.store.setMeta(MetaKey.completedOnboarding, isCompleted ? [1] : nil)
    loop.nodeChanged()
  }
}
