import Console
import Control
import Platform
import JSONDocument
import Synchronization
import Waymark
import WaymarkCare

extension FoundCircle: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["init"], summary: "create a new circle with this device",
    options: [
      .init(flag: "--name", placeholder: "NAME", summary: "name of this device"),
      .init(
        flag: "--issuer", placeholder: "FILE.pub", summary: "issuer whose entitlements the circle accepts",
        type: .path),
      .init(
        flag: "--premium", placeholder: nil,
        summary: "issue premium to all devices of the circle (waymark help premium)"),
    ],
    exampleArguments: "--name laptop")

  func run(_ run: CommandContext) throws -> Answer {
    let issuers = try issuer.map { [try Issuer.readPublicKey($0)] } ?? []
    return Answer(
      try Node.initialize(
        home: run.home, name: try ownName(name, of: run.home) ?? hostName, issuers: issuers,
        hasPremium: premium == true))
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.membership(answer.circle, answer.device, answer.name, premiumUntil: answer.premiumUntil)
    rendering.rewritten(answer.rewritten)
    if let folder = answer.formerKeys {
      rendering.notes.paragraph(
        "Keys without a store were found here; they are now in \(printable(folder)). If you have a backup of their "
          + "store, move the keys back, then: \(waymark: "restore FILE")")
    }
    rendering.notes.paragraph(
      "Next: \(waymark: "service install"), or \(waymark: "run") in another terminal; then \(waymark: "invite") for your next device"
    )
  }
}

// MARK: join

extension JoinCircle: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["join"], summary: "join a circle with a ticket or a code",
    operands: [.init(placeholder: "TICKET|-|CODE", key: "ticket", isOptional: true)],
    options: [
      .init(flag: "--name", placeholder: "NAME", summary: "name of this device"),
      .init(
        flag: "--at", placeholder: "ADDR:PORT", summary: "with a code: where the device that shows it is"),
      .init(flag: "--on", placeholder: "NAME", summary: "with a code: which device shows it, if several do"),
      CommandTable.rootKey("instead of a ticket: the root key of the circle that this store belongs to"),
    ],
    details: """
      Without TICKET the command asks for one at the terminal; with - it reads standard input. A ticket on
      the command line is briefly visible to other users of this machine. CODE is the six digits that waymark
      invite --code shows on a device in the same network. If this device has data already, the command lists
      it, backs it up and re-creates it in the new circle. A device that is already a member is left unchanged
      unless you add --yes; a revoked device keeps its store and gets new keys. Without --name, a device that
      had a name keeps it, and a new device gets its host name. If the join is interrupted, run it again: it
      continues with the same key. With --root-key this device becomes an admin without an invitation.
      """,
    exampleArguments: "--name phone")

  static let waitsFor: String? = "Waiting for the inviting device"

  /// A join asks the inviting device with keys that are already durable, and can therefore be continued.
  func interruption(at stage: String?, _ home: Home) -> Interruption {
    JoinOperation.pendingTicket(in: home) == nil
      ? .nothingChanged
      : Interruption(
        message: "Interrupted. The ticket remains valid for this device, which may be a member already.",
        next: "\(waymark: "join"), to continue with the same keys")
  }

  func run(_ run: CommandContext) async throws -> Answer {
    let home = run.home
    if let rootKey {
      guard ticket == nil else {
        throw WaymarkError.usage(
          "`join` takes a ticket or --root-key, not both.", next: .waymark("help join"))
      }
      let readmission = Readmission(
        home: home, name: name, hostName: try ownName(nil, of: home) ?? hostName, rootKey: rootKey)
      return Answer(readmitted: try await readmission.join())
    }
    let ticket = try await ticket(for: try readTicket(run), run)
    let wanted = try ownName(name, of: home)
    let joining = try JoinOperation(
      home: home, ticket: ticket, name: wanted ?? hostName, keepsFormerName: name == nil)
    let preview = try await joining.preview()
    if let preview, preview.total > 0, yes != true { throw needsYes(preview, home) }
    return Answer(try await joining.join(isConfirmed: yes == true), brought: preview, askedName: wanted)
  }

  /// Returns the ticket from the command line, or from the first line of standard input if the argument is `-`. Without
  /// an argument, returns the ticket of an interrupted join, or else asks for one at the terminal.
  private func readTicket(_ run: CommandContext) throws -> String {
    let found =
      switch ticket {
      case "-": Self.line
      case nil: interrupted(run) ?? (run.terminal.canAsk ? asked(run.terminal) : nil)
      default: ticket
      }
    guard let found = found?.trimmed, !found.isEmpty else {
      throw ticket == "-"
        ? WaymarkError.usage(
          "There was no ticket on standard input.", next: "\(waymark: "invite") | \(waymark: "join -")")
        : WaymarkError.usage(
          "`waymark join` needs a ticket.",
          next:
            "\(waymark: "invite", on: "a device of the circle"); then here \(waymark: "join"), and paste the ticket"
        )
    }
    return found
  }

  private func interrupted(_ run: CommandContext) -> String? {
    guard let ticket = JoinOperation.pendingTicket(in: run.home) else { return nil }
    run.terminal.note("Continuing the interrupted join.")
    return ticket
  }

  /// Asks for the ticket, but only once: after a confirmation the command runs a second time, with the same ticket.
  private func asked(_ terminal: Terminal) -> String? {
    let isFirst = Self.hasAsked.withLock { asked in
      defer { asked = true }
      return !asked
    }
    if isFirst { terminal.transient("Ticket (from waymark invite): ") }
    return Self.line
  }

  private static let hasAsked = Mutex(false)

  /// The first line of standard input, kept because after a confirmation the command runs a second time.
  private static let line = TransientLine.away { readLine() }

  private func needsYes(_ preview: JoinPreview, _ home: Home) -> WaymarkError {
    let counts = preview.counts.map { counted(Int64($0.count), $0.kind.rawValue, $0.plural) }
      .joined(separator: ", ")
    return WaymarkError(
      exitCode: ExitCode.needsYes, code: .needsYes,
      message: "This device has data of its own: \(counts). This data will be re-created in the new circle, "
        + "after a backup of the current store to \(home.backups).",
      next: .waymark("join --yes"))
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    let name = printable(answer.name)
    rendering.membership(answer.circle, answer.device, answer.name)
    if answer.byTicket?.wasMember == true {
      return rendering.notes.paragraph(
        "This device (\(name)) has already joined with this ticket; nothing was changed. Next: \(waymark: "status")"
      )
    }
    if let asked = answer.byTicket?.askedName, asked != answer.name {
      rendering.notes.paragraph(
        name.hasPrefix(printable(asked))
          ? "Another device is called “\(printable(asked))”, so this one is called “\(name)”."
          : "The circle already knows this device as “\(name)”.")
    }
    if let former = answer.byTicket?.formerMember {
      rendering.notes.paragraph(
        "“\(printable(former.name))” is still in the circle with its former keys. "
          + "To revoke it: \(waymark: "revoke \(former.device.description.prefix(16))", on: "an admin device")"
      )
    }
    rendering.rewritten(answer.rewritten)
    rendering.notes.paragraph("Next: \(waymark: "service install"), or \(waymark: "run")")
  }
}

extension Rendering {
  /// Writes the circle, and the key and name that this device has in it.
  fileprivate mutating func membership(
    _ circle: CircleID, _ device: DeviceKey, _ name: String, premiumUntil: Date? = nil
  ) {
    let pairs = [
      ("circle", circle.description), ("device", device.description), ("name", printable(name)),
    ]
    data.pairs(pairs + (premiumUntil.map { [("premium", "until \(time.end($0))")] } ?? []))
  }

  fileprivate mutating func rewritten(_ count: Int) {
    guard count > 0 else { return }
    notes.paragraph(
      "\(counted(Int64(count), "record")) that the revocation had excluded \(count == 1 ? "was" : "were") "
        + "re-created: \(waymark: "history")")
  }
}

/// Returns the name for a new device: the typed name, else the configured name; nil if there is neither.
func ownName(_ typed: String?, of home: Home) throws -> String? {
  try typed ?? Configuration(home: home).name
}

/// The default name of a device: the host name without its domain.
var hostName: String {
  let name = ProcessInfo.processInfo.hostName.prefix { $0 != "." }
  return name.isEmpty ? "device" : String(name.prefix(32))
}

// MARK: invite

extension Invite: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["invite"], summary: "print a ticket or a code that lets one device join",
    options: [
      .init(
        flag: "--role", placeholder: "admin|member", summary: "role of the new device; default member",
        type: .words(["admin", "member"])),
      .init(
        flag: "--expires", placeholder: "10m", summary: "how long the ticket is valid", type: .duration),
      .init(
        flag: "--qr", placeholder: "full",
        summary: "also show the ticket as a QR code; =full if half blocks leave gaps in it",
        type: .words(QRText.Style.allCases.map(\.rawValue)), valueAlone: QRText.Style.half.rawValue),
      .init(flag: "--code", placeholder: nil, summary: "show six digits, for a device in the same network"),
      CommandTable.rootKey("sign with the circle's root key, on a device that is not an admin"),
    ],
    details: """
      A running node serves the ticket in the background; otherwise this command waits until the new device
      has joined. Only the ticket is written to standard output. To pass it on without typing it:
      waymark invite | ssh box waymark join -
      """,
    exampleArguments: "--expires 1h")

  /// Only the event `ticket` goes to standard output.
  static let isShownByEvents = true
  static let waitsFor: String? = nil

  /// Only a command that serves the ticket by itself takes long enough to be interrupted.
  func interruption(at stage: String?, _ home: Home) -> Interruption {
    Interruption(message: "Interrupted; the ticket can't be used any more.", next: .waymark("invite"))
  }

  /// Lets the running node serve the ticket. Without one, this process serves the ticket until a device has joined.
  func run(_ run: CommandContext) async throws -> Answer {
    guard qr == nil || code != true else {
      throw WaymarkError.usage(
        "`invite` shows a ticket as a QR code or a code of six digits, not both.",
        next: .waymark("help invite"))
    }
    let isServed = ControlClient.isRunning(run.home)
    let tell: @Sendable (CommandEvent) -> Void = { event in
      switch event {
      case .code(let code, let expires, let address): show(code: code, expires, address, run)
      case .ticket(let ticket, let expires): show(ticket, expires: expires, run)
      case .singleAdmin:
        return run.terminal.notes(Self.adminAdvice)
      default: return
      }
      if !isServed { run.terminal.note("Waiting for the new device to join; Ctrl-C cancels.") }
    }
    if isServed {
      return try await ControlClient.perform(self, home: run.home, tell: tell)
    }
    try await SuspectStore.check(run.home)
    let node = try await ControlClient.openPatiently(run.home)
    do {
      try await serveAnywhere(node)
      try await node.serveControl()
      var invite = self
      invite.wait = true
      // A person can type a code that the reader of the output has seen.
      let reader = code == true ? nil : watchReader(node, run.terminal)
      let answer = await node.answer(invite, CommandCall(tell: tell))
      reader?.cancel()
      await node.close()
      return try answer.get()
    } catch {
      await node.close()
      throw error
    }
  }

  /// Writes the ticket to standard output, and what to do with it to standard error.
  private func show(_ ticket: String, expires: Date, _ run: CommandContext) {
    if run.printsJSON {
      write(Answer(ticket: ticket, expires: expires), run)
    } else {
      // Rounded up, because a moment has passed since the ticket was made.
      let lifetime = TimeText.span(expires.milliseconds - systemWall() + 999)
      run.terminal.notes(
        "This ticket \(terms(lifetime: lifetime)). On that device, run waymark join and paste it:")
      run.terminal.data(ticket)
    }
    if let style = qr.flatMap(QRText.Style.init), let code = QRCode(ticket.uppercased()) {
      run.terminal.show(QRText(code, style: style))
    }
  }

  func write(_ answer: Answer, _ run: CommandContext) {
    guard let document = try? document(answer, home: nil) else { return }
    run.terminal.data(document.text(.pretty))
  }

  /// For whom and how long an invitation is valid: `admits one device as a member and expires in 10 min`.
  func terms(lifetime: String) -> String {
    "admits one device as \(role == "admin" ? "an admin" : "a member") and expires in \(lifetime)"
  }

  private static let adminAdvice =
    "This device is the circle's only admin, and the root key is on the same disk. So that its loss is no problem, "
    + "invite the second device with --role admin, or promote it afterwards: waymark members promote DEVICE"

  /// Listens at the usual address, or at any free port if that address is in use.
  private func serveAnywhere(_ node: Node) async throws {
    do {
      try await node.serve(listen: try Configuration(home: node.home).listen ?? defaultListen)
    } catch let failure as WaymarkError where failure.code == .addressInUse {
      try await node.serve(listen: "[::]:0")
    }
  }

  /// Ends the process if the program that reads the ticket has exited and no device has joined.
  ///
  /// In `waymark invite | waymark join -` no other program has the ticket, so no device could join any more.
  private func watchReader(_ node: Node, _ terminal: Terminal) -> Task<Void, Never> {
    Task {
      while !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(500))
        guard readerOfOutputIsGone() else { continue }
        // The reader also exits after a successful join. In that case this task is cancelled during the sleep.
        try? await Task.sleep(for: .seconds(10))
        guard !Task.isCancelled else { return }
        await node.close()
        exit(
          Application.report(
            WaymarkError(
              exitCode: ExitCode.failed, code: .readerGone,
              message: "The program that read the ticket has ended, and no device has joined.",
              next: .waymark("invite")), on: terminal))
      }
    }
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard let joined = answer.joined else { return }
    rendering.notes.paragraph("\(printable(joined.name)) has joined. Next: \(waymark: "run")")
  }
}

/// Whether standard output is a pipe that no process reads any more.
private func readerOfOutputIsGone() -> Bool {
  var output = pollfd(fd: 1, events: 0, revents: 0)
  return poll(&output, 1, 0) > 0 && output.revents & Int16(POLLERR) != 0
}

extension QRText {
  init(_ code: QRCode, style: Style) { self.init(size: code.size, style: style) { code[$0, $1] } }
}
