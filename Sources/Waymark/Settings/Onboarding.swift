import Membership
import Records
import Replication
import Storage
package import Wire

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

extension Node {
  /// Which way a person is welcomed on this device.
  public func onboarding() throws -> Onboarding { try read(.onboarding) }

  /// Onboarding is done: on this device, and, by a setting that reaches all devices, for this person.
  public func completeOnboarding() throws {
    try sayingWhy {
      let draft = try storedSettings.draft(Self.onboardingFlag, .bool(true))
      if !draft.isEmpty { try write("onboarding.complete", draft) }
      try storedSettings.copy.update(from: store)
      try setCompletedHere(true)
    }
  }

  /// Has this device welcome the person again.
  ///
  /// - Parameter everywhere: takes back the setting on all devices too.
  public func resetOnboarding(everywhere: Bool = false) throws {
    try sayingWhy {
      if everywhere { _ = try unsetSetting(Self.onboardingFlag, as: "onboarding.reset") }
      try setCompletedHere(false)
    }
  }

  /// What decides which way a person is welcomed, and the device that wrote the synced flag.
  package func onboardingFacts() throws -> (OnboardingFacts, DeviceKey?) {
    let isSet = try storedSettings.reading(Self.onboardingFlag)?.value == .bool(true)
    let source =
      isSet
      ? try store.author(of: StoredSettings.recordKey(Self.onboardingFlag), field: StoredSettings.valueField)
      : nil
    let arrived = replica.records.heads.sorted.contains { $0.log.device != identity.device }
    let facts = OnboardingFacts(
      isFlagSet: isSet, isFlagFromElsewhere: source.map { $0 != identity.device } ?? false,
      isCompletedHere: try isCompletedHere(), isPremium: replica.ownGate(now: wall()).isPremium,
      haveRecordsArrived: arrived)
    return (facts, source)
  }

  private static var onboardingFlag: String { KnownPreference.hasCompletedOnboarding.key }

  /// What only this device knows.
  private func isCompletedHere() throws -> Bool { try store.meta(MetaKey.completedOnboarding) == [1] }

  private func setCompletedHere(_ isCompleted: Bool) throws {
    if try isCompletedHere() != isCompleted {
      try store.setMeta(MetaKey.completedOnboarding, isCompleted ? [1] : nil)
      nodeChanged()
    }
  }

  /// What a returning user is told about the data that is here.
  package func returningUser() throws -> Onboarding.ReturningUser {
    let profile = try store.heldProfile()
    func text(_ field: String) -> String? {
      let text = profile.text(Registry.profile.number(field)) ?? ""
      return text.isEmpty ? nil : text
    }
    let isMissing: [Onboarding.ProfilePart: Bool] = [
      .name: text("name") == nil, .avatar: (profile[ProfileWrite.avatar] ?? .null).isEmpty,
      .appearance: text("appearance") == nil, .homeTimezone: text("homeTimezone") == nil,
    ]
    let counts = try store.visibleCounts()
    return Onboarding.ReturningUser(
      habits: counts[KindNumbers.habit] ?? 0, categories: counts[KindNumbers.category] ?? 0,
      trips: counts[KindNumbers.trip] ?? 0, profileName: text("name"),
      missing: Onboarding.ProfilePart.allCases.filter { isMissing[$0] == true })
  }
}
