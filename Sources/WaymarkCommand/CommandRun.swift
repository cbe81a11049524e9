import Console
import Control
import Platform
import JSONDocument
import Waymark
import WaymarkCare

/// One parsed command, from request to answer.
struct CommandRun: Sendable {
  var invocation: Invocation
  private let streams: StandardStreams
  private(set) var terminal: Terminal
  let home: Home
  let environment: [String: String]

  /// - Throws: `WaymarkError` if the home can't be determined.
  init(_ streams: StandardStreams, _ terminal: Terminal, _ environment: [String: String]) throws {
    self.streams = streams
    invocation = streams.invocation
    self.terminal = terminal
    self.terminal.endsUnread = invocation.words != ["run"]
    self.environment = environment
    // For `keys passphrase set`, --file names the file with the new passphrase, not the current one.
    let file =
      invocation.requestName == RemovePassphrase.name
      ? try invocation.request.command(as: RemovePassphrase.self).file : nil
    let passphrases = TerminalPassphrases(terminal, file: file)
    do {
      home = try Home.resolve(
        flag: invocation.options.home, environment: environment, passphrases: passphrases.source)
    } catch  where Self.withoutHome.contains(invocation.words) {
      home = Home(path: "/nonexistent")
    }
  }

  /// Commands that need no home, and so work even if no home can be determined.
  private static let withoutHome: Set<[String]> = [
    ["help"], ["version"], ["completions"], ["manual"], ["issuer", "init"],
  ]

  /// - Throws: `WaymarkError` with a next step that can be typed as it is.
  func run() async throws -> Int32 {
    do {
      return try await perform()
    } catch let failure as WaymarkError {
      throw invocation.completing(streams.naming(failure))
    }
  }

  private func perform() async throws -> Int32 {
    switch invocation.words {
    case ["help"]: return try help()
    case ["run"]: return try await serve()
    case ["status"] where try isWatched: return try await watch()
    case let words where try words.last == ListRecords.action && isWatched: return try await watchList()
    default: break
    }
    guard let type = CommandTable.typed(invocation.requestName) else {
      preconditionFailure("no command \(invocation.requestName)")
    }
    return try await perform(type)
  }

  private var isWatched: Bool {
    get throws { try invocation.arguments(as: WatchArguments.self).watch == true }
  }

  /// Performs a command and shows its answer.
  private func perform<Asked: TerminalCommand>(_ type: Asked.Type) async throws -> Int32 {
    var progress = terminal
    progress.dropsUnwritten = true
    let events = EventPrinter(
      progress, printsJSON: invocation.options.json && Asked.isStream, activity: Asked.waitsFor)
    explainInterrupts(of: type, events)
    let run = CommandContext(
      home: home, terminal: terminal, environment: environment, events: events,
      printsJSON: invocation.options.json)
    let (command, answer): (Asked, Asked.Answer)
    do {
      (command, answer) = try await confirmed(type, run) { invocation in
        let command = try request(invocation).command(as: type)
        return (command, try await command.run(run))
      }
    } catch {
      events.finish()
      throw error
    }
    events.finish()
    var terminal = terminal
    terminal.isDone = !command.isReadOnly
    if invocation.options.json, !Asked.isShownByEvents {
      terminal.data(
        try command.document(answer, home: invocation.options.home).text(Asked.isStream ? .line : .pretty))
    } else {
      var rendering = rendering
      command.render(answer, into: &rendering)
      show(rendering, on: terminal, isPaged: command.isReadOnly && !Asked.isStream)
    }
    return command.exitCode(for: answer)
  }

  /// Makes Ctrl-C end the process and say what the command has done. Commands that only read end silently.
  private func explainInterrupts<Asked: TerminalCommand>(of type: Asked.Type, _ events: EventPrinter) {
    guard let command = try? request(invocation).command(as: type), !command.isReadOnly || Asked.isStream
    else {
      return Interrupts.endWith(ExitCode.interrupted) { TransientLine.clear() }
    }
    let (terminal, home, invocation) = (terminal, home, invocation)
    Interrupts.endWith(ExitCode.interrupted) {
      let interruption = command.interruption(at: events.stage, home)
      let failure = invocation.completing(
        WaymarkError(
          exitCode: ExitCode.interrupted, code: .interrupted, message: .init(word: interruption.message),
          next: interruption.next))
      var page = Page(width: terminal.error.width, hasColor: terminal.error.hasColor)
      page.paragraph("\(failure.message)")
      page.next(failure.next)
      terminal.transient(page.text)
    }
  }

  /// Returns the request, with the user's time zone and the default limit of lists, which only this process knows.
  func request(_ invocation: Invocation) throws -> ControlRequest {
    var request = invocation.request
    try limitList(&request)
    request.arguments["zone"] = .string(Zone.current.name)
    return request
  }

  /// Limits a list that goes to a terminal, which would otherwise scroll past for minutes.
  private func limitList(_ request: inout ControlRequest) throws {
    guard invocation.words.count == 2, invocation.words[1] == ListRecords.action,
      CommandTable.typed(invocation.requestName) is ListRecords.Type, terminal.output.isShown,
      !invocation.options.json
    else { return }
    let asked = try invocation.arguments(as: WatchArguments.self)
    guard asked.ndjson == nil, asked.limit == nil else { return }
    request.arguments["limit"] = .string("\(ListRecords.limitOnTerminal)")
  }

  // MARK: Asking

  /// Runs the body. If that fails because it needs confirmation, asks at the terminal and runs it again with `yes`.
  private func confirmed<Answer>(
    _ type: any TerminalCommand.Type, _ run: CommandContext,
    _ body: (Invocation) async throws -> Answer
  ) async throws -> Answer {
    do {
      return try await body(invocation)
    } catch let failure as WaymarkError
      where failure.exitCode == ExitCode.needsYes && [.needsYes, .largeUndo].contains(failure.reason)
      && terminal.canAsk
    {
      guard try await isConfirmed(failure, type, run) else {
        throw WaymarkError(
          exitCode: failure.exitCode, code: .declined, message: "Not confirmed; nothing was changed.",
          next: failure.next)
      }
      var agreed = invocation
      // `undo --yes` reverts more than what was asked about here.
      agreed.arguments[failure.reason == .largeUndo ? "agreed" : "yes"] = true
      return try await body(agreed)
    }
  }

  private func isConfirmed(
    _ failure: WaymarkError, _ type: any TerminalCommand.Type, _ run: CommandContext
  ) async throws -> Bool {
    if let type = type as? any TypedConfirmationCommand.Type, let isConfirmed = try await isTyped(type, run) {
      return isConfirmed
    }
    for candidate in failure.candidates {
      for line in wrapped("  \(printable(candidate))", width: terminal.error.width, indent: 2) {
        terminal.note(line)
      }
    }
    // Without a running node, the question already says that nothing can be compared.
    if invocation.words == ["sync", "on"], ControlClient.isRunning(home) { try await showPreview() }
    return terminal.confirms(printable(failure.message))
  }

  /// Shows a preview of a command that can't be undone, and asks for the word that confirms it. Returns nil if a plain
  /// yes is enough.
  private func isTyped<Asked: TypedConfirmationCommand>(
    _ type: Asked.Type, _ run: CommandContext
  ) async throws -> Bool? {
    var command = try request(invocation).command(as: type)
    command.preview = true
    let preview = try await command.run(run)
    guard let (question, word) = Asked.confirmation(of: preview) else { return nil }
    var rendering = rendering
    command.render(preview, into: &rendering)
    terminal.transient(rendering.data.text)
    return terminal.confirms(printable(question), typing: word)
  }

  /// Shows a preview of the change on standard error before the user is asked to confirm it.
  private func showPreview() async throws {
    var preview = TurnSyncOn()
    preview.preview = true
    let answer = try await ControlClient.perform(preview, home: home)
    var rendering = rendering
    preview.render(answer, into: &rendering)
    terminal.transient(rendering.data.text + "\n")
  }

  // MARK: Showing

  private var rendering: Rendering {
    Rendering(
      width: terminal.output.width, hasColor: terminal.output.hasColor, isPiped: !terminal.output.isShown,
      notesWidth: terminal.error.width,
      notesHaveColor: terminal.error.hasColor, time: TimeText(now: systemWall()),
      home: invocation.options.home)
  }

  private func show(_ rendering: Rendering, on terminal: Terminal, isPaged: Bool) {
    if !rendering.data.lines.isEmpty {
      isPaged ? showPaged(rendering.data, on: terminal) : terminal.raw(rendering.data.text)
    }
    for line in rendering.notes.lines { terminal.note(line) }
  }

  /// Shows a page on a terminal page by page if it does not fit, and otherwise at once.
  private func showPaged(_ page: Page, on terminal: Terminal) {
    let isLong = page.lines.count >= Terminal.size(of: terminal.output.descriptor).rows
    guard terminal.output.isTerminal, isLong,
      let pager = Pager(environment, isOff: invocation.options.noPager), pager.show(page.text)
    else { return terminal.raw(page.text) }
  }

  // MARK: Commands that need no node

  private func help() throws -> Int32 {
    let topic = try invocation.arguments(as: HelpArguments.self).topic ?? []
    var page = Page(width: terminal.output.width, hasColor: terminal.output.hasColor)
    guard HelpPages.write(topic, into: &page) else {
      let name = topic.joined(separator: " ")
      let meant = HelpPages.suggestion(for: name).map { " Did you mean `waymark help \($0)`?" } ?? ""
      throw WaymarkError.usage("There is no help on “\(printable(name))”.\(meant)", next: .waymark("help"))
    }
    showPaged(page, on: terminal)
    return 0
  }
}

/// The arguments of `help`.
private struct HelpArguments: Decodable {
  let topic: [String]?
}

/// How the answer of a list or of `status` is to be shown.
struct WatchArguments: Decodable {
  let watch: Bool?
  let ndjson: Bool?
  let limit: String?
}
