import Console
import Control
import Waymark
import WaymarkCare

extension ShowSync: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["sync", "status"], summary: "show whether records sync, and if not, why",
    options: [
      .init(
        flag: "--take", placeholder: "PEER", summary: "take over a peer's records: waymark mirror --from PEER"
      ),
      .init(flag: "--push", placeholder: nil, summary: "give all devices this one's records: waymark assert"),
    ], impliesLastWord: true, exampleArguments: "")

  func render(_ answer: SyncState, into rendering: inout Rendering) { rendering.sync(answer) }
}

extension TurnSyncOn: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["sync", "on"], summary: "turn on sync of records (premium)",
    options: [
      .init(
        flag: "--preview", placeholder: nil,
        summary: "compare the records with those of other devices; change nothing"),
      .init(
        flag: "--everywhere", placeholder: nil,
        summary: "also ask each other device, once, whether it syncs its records"),
    ],
    details: """
      If this would merge two sets of records for the first time, you see the differences first and are asked
      for confirmation; a script needs --yes. With --everywhere, every other device asks in its status until
      you type waymark sync on or waymark sync off there. A device that runs with followSync (waymark help
      home) turns sync on without asking.
      """, exampleArguments: "--everywhere")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    switch answer {
    case .state(let state): rendering.sync(state)
    case .preview(let preview): rendering.preview(preview)
    }
  }
}

extension TurnSyncOff: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["sync", "off"], summary: "turn off sync of records; nothing is deleted", exampleArguments: "")

  func render(_ answer: SyncState, into rendering: inout Rendering) { rendering.sync(answer) }
}

extension SyncNow: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["sync", "now"], summary: "sync with every peer now", exampleArguments: "")

  func render(_ answer: Answer, into rendering: inout Rendering) {}
}

extension Rendering {
  mutating func sync(_ state: SyncState) {
    let isExcluded = [.revoked, .notAMember].contains(state.obstacle)
    var line = state.preference ? "sync on" : "sync off"
    if isExcluded {
      line += " · records stay on this device" + (state.text.map { ": \(printable($0))" } ?? "")
    } else if !state.premium.isActive {
      line += " · " + premiumText(state.premium)
    } else if state.isActive {
      line += " · records sync with every device that has premium and sync on"
    } else {
      line += " · records stay on this device"
    }
    data.paragraph(line)
    if state.isInvited {
      notes.paragraph(
        "Sync was turned on for all devices. Next: \(waymark: "sync on"), or \(waymark: "sync off") to keep the "
          + "records on this device")
    } else if state.preference || isExcluded || !state.premium.isActive {
      notes.next(state.next)
    }
  }
}
