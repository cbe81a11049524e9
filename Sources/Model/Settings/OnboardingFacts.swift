/// The onboarding flow that an app shows on this device.
package enum OnboardingFlow: String, Sendable, Codable {
  case newUser = "new_user"
  case returningUser = "returning_user"
  case completedHere = "completed_here"
}

/// The facts that determine which onboarding flow an app shows.
package struct OnboardingFacts: Hashable, Sendable {
  /// Whether the synced setting `hasCompletedOnboarding` is true.
  package var isFlagSet: Bool
  /// Whether the value of that setting was written by another device.
  package var isFlagFromElsewhere: Bool
  /// Whether onboarding was completed on this device.
  package var isCompletedHere: Bool
  package var isPremium: Bool
  /// Whether the records lane has change sets from another device.
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

  /// The flow that the facts lead to. A user counts as returning only once the user's records have arrived. A user
  /// without premium never counts as returning, because records do not sync without premium.
  package var flow: OnboardingFlow {
    if isCompletedHere { return .completedHere }
    let isReturning = isPremium && isFlagSet && isFlagFromElsewhere && haveRecordsArrived
    return isReturning ? .returningUser : .newUser
  }
}
