import Console
import Control
import Enrolment
import Platform
import JSONDocument
import Synchronization
import Waymark

// Invitations by code, and the list of open invitations.

extension Invite {
  /// Shows a code: the code alone on standard output, what to do with it on standard error.
  func show(code: String, _ expires: Date, _ address: String?, _ run: CommandContext) {
    guard !run.printsJSON else { return write(Answer(code: code, expires: expires), run) }
    let typed = code.filter(\.isNumber)
    run.terminal.data(code)
    let minutes = max(1, Int64((expires.timeIntervalSinceNow / 60).rounded()))
    run.terminal.notes(
      "This code \(terms(lifetime: counted(minutes, "minute"))), or after three wrong tries. On that device, in the same network, run:"
    )
    run.terminal.note("  waymark join \(typed)")
    if let address {
      run.terminal.note("If it does not find this device: waymark join \(typed) --at \(address)")
    }
  }
}

extension JoinCircle {
  /// Returns the text of the ticket: the argument itself or, if that is a code, the ticket that the inviting device
  /// gives for the code.
  func ticket(for text: String, _ run: CommandContext) async throws -> String {
    guard let pairing = CodePairing(text) else {
      guard at == nil, on == nil else {
        throw WaymarkError.usage("--at and --on are for a code of six digits, not for a ticket.")
      }
      return text
    }
    guard at == nil || on == nil else { throw WaymarkError.usage("Type either --at or --on, not both.") }
    if let ticket = Self.received.withLock({ $0 }) { return ticket }
    if at == nil { run.terminal.note("Looking for the device that shows this code…") }
    let ticket = try await pairing.ticket(at: at, on: on) { name, address in
      let device = name.map { "“\(printable($0))” at " } ?? ""
      run.terminal.note("Trying the code with \(device)\(printable(address)).")
    }
    Self.received.withLock { $0 = ticket }
    return ticket
  }

  /// The ticket that a code was exchanged for, kept because after a confirmation the command runs a second time.
  private static let received = Mutex<String?>(nil)
}

extension ListInvitations: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["invite", "list"], summary: "list the tickets and codes that are open",
    details: """
      Tickets and codes exist only while the node that made them runs. The list shows neither: it has an id
      for each, for waymark invite cancel.
      """,
    exampleArguments: "")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard !answer.items.isEmpty else { return rendering.notes.paragraph("No invitation is open.") }
    let ids = distinctPrefixes(answer.items.map(\.id))
    var table = TextTable([.init("ID"), .init("KIND"), .init("ROLE"), .init("EXPIRES"), .init("TRIES LEFT")])
    for item in answer.items {
      table.rows.append([
        .init(ids[item.id] ?? item.id), .init(item.kind.rawValue), .init(item.role.rawValue),
        .init(rendering.time.short(item.expires)), .init(item.triesLeft.map { "\($0)" } ?? ""),
      ])
    }
    rendering.data.table(table)
  }
}

extension CancelInvitation: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["invite", "cancel"], summary: "end an open ticket or code",
    operands: [.init(placeholder: "ID", key: "id")],
    details: "waymark invite list shows the ids. A device that has joined already stays a member.",
    exampleArguments: "3f2a")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.notes.paragraph("The \(answer.cancelled.kind.rawValue) can't be used any more.")
  }
}
