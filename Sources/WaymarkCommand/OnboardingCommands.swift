import Console
import Control
import Waymark

extension ShowOnboarding: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["onboarding", "show"], summary: "show the onboarding state of this device", impliesLastWord: true,
    exampleArguments: "")

  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.onboarding(answer) }
}

extension CompleteOnboarding: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["onboarding", "complete"], summary: "mark the introduction as completed", exampleArguments: "")

  func render(_ answer: ShowOnboarding.Answer, into rendering: inout Rendering) {
    rendering.onboarding(answer)
  }
}

extension ResetOnboarding: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["onboarding", "reset"], summary: "start the introduction over",
    options: [.init(flag: "--everywhere", placeholder: nil, summary: "on all devices")],
    exampleArguments: "--everywhere")

  func render(_ answer: ShowOnboarding.Answer, into rendering: inout Rendering) {
    rendering.onboarding(answer)
  }
}

extension Rendering {
  fileprivate mutating func onboarding(_ answer: ShowOnboarding.Answer) {
    switch answer.flow {
    case .completedHere: data.line("completed here: the introduction is finished on this device")
    case .newUser: data.line("new user: show the introduction")
    case .returningUser:
      data.line("returning user: your data has arrived from another device")
      guard let user = answer.summary else { return }
      let missing = user.missing.map(\.rawValue).joined(separator: ", ")
      data.pairs(
        [
          ("habits", "\(user.habitCount)"), ("categories", "\(user.categoryCount)"),
          ("trips", "\(user.tripCount)"),
          ("hasProfile", user.hasProfile ? "yes" : "no"),
        ] + (user.profileName.map { [("profileName", printable($0))] } ?? [])
          + [("missing", missing.isEmpty ? "–" : missing)])
    }
  }
}
