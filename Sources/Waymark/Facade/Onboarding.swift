import JSONDocument
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
  public enum ProfilePart: String, Hashable, Sendable, CaseIterable {
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

extension Node {
  /// Which way a person is welcomed on this device.
  public func onboarding() throws -> Onboarding { try read(.onboarding) }

  /// Onboarding is done: on this device, and, by a setting that reaches all devices, for this person.
  public func completeOnboarding() throws {
    try sayingWhy { _ = try completeOnboarding(CommandRequest("onboarding.complete")) }
  }

  /// Has this device welcome the person again.
  ///
  /// - Parameter everywhere: takes back the setting on all devices too.
  public func resetOnboarding(everywhere: Bool = false) throws {
    try sayingWhy {
      _ = try resetOnboarding(CommandRequest("onboarding.reset", ["everywhere": .bool(everywhere)]))
    }
  }

  /// What a returning user is told about the data that is here.
  func returningUser() throws -> Onboarding.ReturningUser {
    let profile = try heldProfile()
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
