import Console
import Control
import JSONDocument
import Model
import Waymark

extension ListSettings: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["settings", "list"], summary: "list all settings", exampleArguments: "")

  func rows(of answer: Answer) -> DocumentRows? {
    DocumentRows(key: "settings", ids: answer.settings.map(\.key))
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard !answer.settings.isEmpty else { return rendering.notes.paragraph("No settings yet.") }
    var table = TextTable([.init("KEY", widthMin: 16), .init("VALUE", widthMin: 16), .init("FROM")])
    table.isList = true
    for setting in answer.settings {
      table.rows.append([
        .init(setting.key), .init(setting.shown.rawText), .init(setting.source.rawValue),
      ])
    }
    rendering.data.table(table)
  }
}

extension GetSetting: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["settings", "get"], summary: "print a setting",
    operands: [.init(placeholder: "KEY", key: "key")], exampleArguments: "colorScheme")

  func render(_ answer: ResolvedPreference, into rendering: inout Rendering) {
    rendering.data.line(answer.shown.rawText)
  }
}

extension SetSetting: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["settings", "set"], summary: "change a setting on all devices",
    operands: [.init(placeholder: "KEY", key: "key"), .init(placeholder: "VALUE", key: "value")],
    details: """
      A setting can have any name. These have a meaning:
      colorScheme: system, light or dark
      biometricTimeoutMinutes: 0 to 1440
      hasCompletedOnboarding: true or false
      onboardingCompletedDate: a time with an offset, as in 2026-05-03T15:00:00Z
      onboardingUserName: the name that was given during the onboarding
      hasGrantedNotifications: true or false
      trashDays: for how many days the files of deleted records are kept, 1 to 3650, or never
      """,
    exampleArguments: "colorScheme dark")

  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.changed(answer.changed) }
}

extension UnsetSetting: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["settings", "unset"], summary: "reset a setting to its default on all devices",
    operands: [.init(placeholder: "KEY", key: "key")], exampleArguments: "colorScheme")

  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.changed(answer.changed) }
}

extension JSON {
  /// The value alone, in the form in which the user can type it.
  fileprivate var rawText: String {
    switch self {
    case .string(let text): printable(text)
    case .null: ""
    default: text()
    }
  }
}
