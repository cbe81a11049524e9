/// Which way a person is welcomed on this device.
package enum OnboardingFlow: String, Sendable, Codable {
  case newUser = "new_user"
  case returningUser = "returning_user"
  case completedHere = "completed_here"
}

/// What the flow is decided by.
package struct OnboardingFacts: Hashable, Sendable {
  /// The synced flag.
  package var isFlagSet: Bool
  /// Whether the flag's value was written by another device.
  package var isFlagFromElsewhere: Bool
  /// Whether this very device completed onboarding.
  package var isCompletedHere: Bool
  package var isPremium: Bool
  /// Whether there is anything of another device in the records lane.
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

  /// A returning user is one whose data is here already; a free user never is, because records stay away.
  package var flow: OnboardingFlow {
    if isCompletedHere { return .completedHere }
    let isReturning = isPremium && isFlagSet && isFlagFromElsewhere && haveRecordsArrived
    return isReturning ? .returningUser : .newUser
  }
}
