import Home
import Membership
package import Model
package import NodeRuntime
import Records
import Replication
import Storage
package import Wire

/// Reads what decides how a person is welcomed.
package struct OnboardingReader {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Returns the facts that decide the onboarding state, and the device that wrote the synced flag.
  package func facts() throws -> (OnboardingFacts, DeviceKey?) {
    let isSet = try core.storedSettings.reading(Onboarding.flag)?.value == .bool(true)
    let source =
      isSet
      ? try core.store.author(of: StoredSettings.recordKey(Onboarding.flag), field: StoredSettings.valueField)
      : nil
    let arrived = core.replica.records.heads.sorted.contains { $0.log.device != core.identity.device }
    let facts = OnboardingFacts(
      isFlagSet: isSet, isFlagFromElsewhere: source.map { $0 != core.identity.device } ?? false,
      isCompletedHere: try Onboarding.isCompleted(in: core.store),
      isPremium: core.replica.ownGate(now: core.wall()).isPremium,
      haveRecordsArrived: arrived)
    return (facts, source)
  }

  /// Returns a summary of the data on this device, for a returning user.
  package func returningUser() throws -> Onboarding.ReturningUser {
    let profile = try core.store.heldProfile()
    func text(_ field: String) -> String? {
      let text = profile.text(Kind.profile.number(field)) ?? ""
      return text.isEmpty ? nil : text
    }
    let isMissing: [Onboarding.ProfilePart: Bool] = [
      .name: text("name") == nil, .avatar: (profile[ProfileWrite.avatar] ?? .null).isEmpty,
      .appearance: text("appearance") == nil, .homeZone: text("homeTimezone") == nil,
    ]
    let counts = try core.store.visibleCounts()
    return Onboarding.ReturningUser(
      habitCount: counts[KindNumbers.habit] ?? 0, categoryCount: counts[KindNumbers.category] ?? 0,
      tripCount: counts[KindNumbers.trip] ?? 0, profileName: text("name"),
      missing: Onboarding.ProfilePart.allCases.filter { isMissing[$0] == true })
  }
}
