import JSONDocument
import Membership
import Records
import Replication
import Storage
import Wire

/// `onboarding show|complete|reset`.
extension Node {
  func showOnboarding(_ request: CommandRequest) throws -> JSON {
    let (facts, source) = try onboardingFacts()
    let summary = facts.flow == .returningUser ? try onboardingSummary() : JSON.null
    return document(
      request.command,
      [
        .init("flow", .string(facts.flow.rawValue)), .init("flag", .bool(facts.isFlagSet)),
        .init("flagFrom", .text(source.map { $0.description })),
        .init("flagFromName", .text(source.map { name(of: $0) })),
        .init("completedHere", .bool(facts.isCompletedHere)), .init("summary", summary),
      ])
  }

  func completeOnboarding(_ request: CommandRequest) throws -> JSON {
    let draft = try settingDraft(Self.onboardingFlag, .bool(true))
    if !draft.isEmpty { _ = try write(request.command, draft) }
    try copyPreferences()
    try setCompletedHere(true)
    return try showOnboarding(request)
  }

  func resetOnboarding(_ request: CommandRequest) throws -> JSON {
    let record = try store.record(Self.settingKey(Self.onboardingFlag))
    if request.flag("everywhere"), let record, record.isAlive {
      _ = try write(request.command, [EntryDraft(.delete, record.key)])
      try copyPreferences()
    }
    try setCompletedHere(false)
    return try showOnboarding(request)
  }

  private static let onboardingFlag = KnownPreference.hasCompletedOnboarding.key

  func onboardingFacts() throws -> (OnboardingFacts, DeviceKey?) {
    let key = Self.settingKey(Self.onboardingFlag)
    let isSet = try readPreference(Self.onboardingFlag)?.value == .bool(true)
    let source = isSet ? try store.author(of: key, field: Registry.setting.number("value")) : nil
    let arrived = replica.records.heads.sorted.contains { $0.log.device != identity.device }
    let facts = OnboardingFacts(
      isFlagSet: isSet, isFlagFromElsewhere: source.map { $0 != identity.device } ?? false,
      isCompletedHere: try isCompletedHere(), isPremium: replica.ownGate(now: wall()).isPremium,
      haveRecordsArrived: arrived)
    return (facts, source)
  }

  /// What a returning user is told about the data that is here.
  private func onboardingSummary() throws -> JSON {
    let user = try returningUser()
    return [
      "habits": .integer(user.habits), "categories": .integer(user.categories), "trips": .integer(user.trips),
      "hasProfile": .bool(user.hasProfile), "profileName": .text(user.profileName),
      "missing": .array(user.missing.map { .string($0.rawValue) }),
    ]
  }

  // MARK: What only this device knows

  private func isCompletedHere() throws -> Bool { try store.meta(MetaKey.completedOnboarding) == [1] }

  private func setCompletedHere(_ isCompleted: Bool) throws {
    if try isCompletedHere() != isCompleted {
      try store.setMeta(MetaKey.completedOnboarding, isCompleted ? [1] : nil)
      nodeChanged()
    }
  }
}
