import Membership
import Model
import NodeOperations
package import Waymark
package import Wire

/// `onboarding show`: which introduction this device should show, and why.
package struct ShowOnboarding: PromptCommand {
  package static let name = "onboarding.show"
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    package let flow: OnboardingFlow
    /// Whether the synced setting says that the introduction was completed, and which device wrote it.
    package let flag: Bool
    package let flagFrom: DeviceKey?
    package let flagFromName: String?
    package let completedHere: Bool
    /// What a returning user is shown; nil for other users.
    package let summary: Onboarding.ReturningUser?
  }

  package func perform(on node: isolated Node) throws -> Answer { try Answer(node) }
}

/// `onboarding complete`: marks the introduction as completed.
package struct CompleteOnboarding: PromptCommand {
  package static let name = "onboarding.complete"
  package typealias Answer = ShowOnboarding.Answer

  package func perform(on node: isolated Node) throws -> ShowOnboarding.Answer {
    try node.completeOnboarding()
    return try ShowOnboarding.Answer(node)
  }
}

/// `onboarding reset`: starts the introduction over.
package struct ResetOnboarding: PromptCommand {
  package static let name = "onboarding.reset"
  package typealias Answer = ShowOnboarding.Answer

  package var everywhere: Bool?

  package func perform(on node: isolated Node) throws -> ShowOnboarding.Answer {
    try node.resetOnboarding(everywhere: everywhere ?? false)
    return try ShowOnboarding.Answer(node)
  }
}

extension ShowOnboarding.Answer {
  fileprivate init(_ node: isolated Node) throws {
    let (facts, source) = try OnboardingReader(node.core).facts()
    flow = facts.flow
    flag = facts.isFlagSet
    flagFrom = source
    flagFromName = source.map { node.core.name(of: $0) }
    completedHere = facts.isCompletedHere
    summary = facts.flow == .returningUser ? try OnboardingReader(node.core).returningUser() : nil
  }
}
