import Control
import Waymark

extension ShowSync: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["sync", "status"], summary: "say whether records sync, and why", impliesLastWord: true,
    exampleArguments: "")

  func render(_ answer: SyncState, into rendering: inout Rendering) { rendering.sync(answer) }
}

extension TurnSyncOn: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["sync", "on"], summary: "sync records too (premium)",
    options: [
      .init(
        flag: "--preview", placeholder: nil,
        summary: "ask the other devices what would come together; write nothing")
    ],
    details: """
      Where records here and elsewhere differ, a person at a terminal sees that first and is asked. A script
      needs --yes where two sets of records meet for the first time.
      """, exampleArguments: "--preview")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    switch answer {
    case .state(let state): rendering.sync(state)
    case .preview(let preview): rendering.preview(preview)
    }
  }
}

extension TurnSyncOff: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["sync", "off"], summary: "keep records on this device; nothing is deleted", exampleArguments: "")

  func render(_ answer: SyncState, into rendering: inout Rendering) { rendering.sync(answer) }
}

extension SyncNow: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["sync", "now"], summary: "ask every peer at once", exampleArguments: "")

  func render(_ answer: Answer, into rendering: inout Rendering) {}
}

extension Rendering {
  mutating func sync(_ state: SyncState) {
    let isExcluded = [.revoked, .notAMember].contains(state.obstacle)
    let reason = state.text.map { ": \(printable($0))" } ?? ""
    var line = state.preference ? "sync on" : "sync off"
    if isExcluded {
      line += " · records stay on this device" + reason
    } else if state.preference, !state.isActive {
      line += " · records stay on this device for now" + reason
    } else if state.isActive {
      line += " · records sync with every device that has premium and sync on"
    } else {
      line += " · records stay on this device"
    }
    data.paragraph(line)
    if state.preference || isExcluded { notes.next(state.next) }
  }
}
