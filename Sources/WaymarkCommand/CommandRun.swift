import Control
import Foundation
import JSONDocument
import Waymark

/// One parsed command, from request to answer.
struct CommandRun: Sendable {
  let invocation: Invocation
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
    let file = invocation.words == ["keys", "passphrase", "remove"] ? invocation["file"] : nil
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
    case ["status"] where invocation.arguments["watch"]?.boolean == true: return try await watch()
    default: break
    }
    guard let type = CommandTable.typed[invocation.requestName] else {
      preconditionFailure("no command \(invocation.requestName)")
    }
    return try await perform(type)
  }

  /// Performs a command and shows its answer.
  private func perform<Asked: TerminalCommand>(_ type: Asked.Type) async throws -> Int32 {
    Interrupts.endWith(ExitCode.interrupted)
    var progress = terminal
    progress.dropsUnwritten = true
    let events = EventPrinter(progress, printsJSON: invocation.options.json && Asked.isStream)
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
      show(rendering, on: terminal)
    }
    return command.exitCode(for: answer)
  }

  /// Returns the request, with the user's time zone, which only this process knows.
  func request(_ invocation: Invocation) throws -> ControlRequest {
    var request = invocation.request
    if request.arguments["zone"] == nil { request.arguments["zone"] = .string(TimeZone.current.identifier) }
    if let fields = request.arguments["fields"]?.array {
      request.arguments["fields"] = .array(try fields.map { try absolutePath(in: $0, invocation.words[0]) })
    }
    return request
  }

  /// Makes a typed path absolute, because a running node has a different working directory.
  private func absolutePath(in field: JSON, _ group: String) throws -> JSON {
    let pathField = ["attachment": "file", "profile": "avatar"][group]
    guard let name = field[0]?.string, name == pathField, let path = field[1]?.string,
      !path.isEmpty, !path.hasPrefix("/")
    else { return field }
    return [.string(name), .string(try workingDirectory() + "/" + path)]
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
      where failure.exitCode == ExitCode.needsYes && failure.code == .needsYes && terminal.canAsk
    {
      guard try await isConfirmed(failure, type, run) else {
        throw WaymarkError(
          exitCode: failure.exitCode, code: .declined, message: "Not confirmed; nothing was changed.",
          next: failure.next)
      }
      var agreed = invocation
      agreed.arguments["yes"] = true
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
      width: terminal.output.width, hasColor: terminal.output.hasColor, notesWidth: terminal.error.width,
      notesHaveColor: terminal.error.hasColor, time: TimeText(now: systemWall()),
      home: invocation.options.home)
  }

  private func show(_ rendering: Rendering, on terminal: Terminal) {
    if !rendering.data.lines.isEmpty { terminal.raw(rendering.data.text) }
    for line in rendering.notes.lines { terminal.note(line) }
  }

  // MARK: Commands that need no node

  private func help() throws -> Int32 {
    let topic = invocation.arguments["topic"]?.array?.compactMap(\.string) ?? []
    var page = Page(width: terminal.output.width, hasColor: terminal.output.hasColor)
    guard HelpPages.write(topic, into: &page) else {
      let name = topic.joined(separator: " ")
      let meant = HelpPages.suggestion(for: name).map { " Did you mean `waymark help \($0)`?" } ?? ""
      throw WaymarkError.usage("There is no help on “\(printable(name))”." + meant, next: .waymark("help"))
    }
    terminal.raw(page.text)
    return 0
  }
}
