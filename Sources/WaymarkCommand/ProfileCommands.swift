import Console
import Control
import Model
import Records
import Waymark

extension ShowProfile: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["profile", "show"], summary: "show the profile",
    options: [
      .init(
        flag: "--output", placeholder: "FILE",
        summary: "write the picture to a file; fetch it first if it is on another device", type: .path)
    ], exampleArguments: "")

  func render(_ answer: ShownRecord, into rendering: inout Rendering) {
    rendering.show(answer, Kind.profile)
  }
}

extension SetProfile: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["profile", "set"], summary: "change the profile",
    operands: [.init(placeholder: "FIELD=VALUE", key: "fields", type: .field, isRepeated: true)],
    exampleArguments: "name=Ada")

  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.changed(answer.changed) }
}
