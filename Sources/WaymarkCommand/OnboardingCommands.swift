import Control
import Waymark

extension ShowOnboarding: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["onboarding", "show"], summary: "say who this device takes you for", impliesLastWord: true,
    exampleArguments: "")

  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.onboarding(answer) }
}

extension CompleteOnboarding: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["onboarding", "complete"], summary: "note that the introduction is over", exampleArguments: "")

  func render(_ answer: ShowOnboarding.Answer, into rendering: inout Rendering) {
    rendering.onboarding(answer)
  }
}

extension ResetOnboarding: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["onboarding", "reset"], summary: "show the introduction again",
    options: [.init(flag: "--everywhere", placeholder: nil, summary: "on all devices")],
    exampleArguments: "--everywhere")

  func render(_ answer: ShowOnboarding.Answer, into rendering: inout Rendering) {
    rendering.onboarding(answer)
  }
}

extension Rendering {
  fileprivate mutating func onboarding(_ answer: ShowOnboarding.Answer) {
    switch answer.flow {
    case .completedHere: data.line("completed here: the introduction is over on this device")
    case .newUser: data.line("new user: show the introduction")
    case .returningUser:
      data.line("returning user: your data has come from another device")
      guard let user = answer.summary else { return }
      let missing = user.missing.map(\.rawValue).joined(separator: ", ")
      data.pairs(
        [
          ("habits", "\(user.habits)"), ("categories", "\(user.categories)"), ("trips", "\(user.trips)"),
          ("hasProfile", user.hasProfile ? "yes" : "no"),
        ] + (user.profileName.map { [("profileName", printable($0))] } ?? [])
          + [("missing", missing.isEmpty ? "–" : missing)])
    }
  }
}
