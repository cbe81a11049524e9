/// The onboarding flow for this device.
package enum OnboardingFlow: String, Sendable, Codable {
  case newUser = "new_user"
  case returningUser = "returning_user"
  case completedHere = "completed_here"
}

/// The facts that determine the onboarding flow.
package struct OnboardingFacts: Hashable, Sendable {
  /// The synced flag.
  package var isFlagSet: Bool
  /// Whether the flag's value was written by another device.
  package var isFlagFromElsewhere: Bool
  /// Whether this device itself completed onboarding.
  package var isCompletedHere: Bool
  package var isPremium: Bool
  /// Whether the records lane has change sets of another device.
  package var haveRecordsArrived: Bool

  package init(
    isFlagSet: Bool, isFlagFromElsewhere: Bool, isCompletedHere: Bool, isPremium: Bool,
    haveRecordsArrived: Bool
  ) {
    self.isFlagSet = isFlagSet
    self.isFlagFromElsewhere = isFlagFromElsewhere
    self.isCompletedHere = isCompletedHere
    self.isPremium = isPremium
    self.haveRecordsArrived = haveRecordsArrived
  }

  /// A returning user is one whose records have arrived. A free user never is, because records do not sync.
  package var flow: OnboardingFlow {
    if isCompletedHere { return .completedHere }
    let isReturning = isPremium && isFlagSet && isFlagFromElsewhere && haveRecordsArrived
    return isReturning ? .returningUser : .newUser
  }
}
