import Control
import Foundation
import JSONDocument
import Waymark

/// Why a node that was serving ends.
private enum ServingEnd {
  case signal(Int32)
  case broken(WaymarkError)
}

/// `run` and `invite`: the commands during which this process is the node.
extension Session {
  static let defaultListen = "[::]:7433"

  /// `run`: serves until SIGINT or SIGTERM.
  func serve() async throws -> Int32 {
    let format = try LogFormat.chosen(flag: invocation["logFormat"], environment: environment)
    let notifier = ServiceNotifier(environment: environment)
    do {
      return try await serve(format, notifier)
    } catch {
      let failure = invocation.completing(Application.failure(error))
      notifier.status(failure.message)
      return Application.report(failure, on: terminal, as: format)
    }
  }

  private func serve(_ format: LogFormat, _ notifier: ServiceNotifier) async throws -> Int32 {
    try ProcessGuard.takeDescriptors()
    let log = try log(format)
    notifier.status("Opening the store")
    // This may take long, and leaves nothing half done: signals end the process at once.
    Interrupts.endWith(ExitCode.interrupted)
    try await SuspectStore.check(home)
    let (ends, stream) = AsyncStream<ServingEnd>.makeStream()
    Interrupts.handle([SIGINT, SIGTERM]) { number in
      stream.yield(.signal(number))
      endAnyway(on: number, format)
    }
    let node = try await ControlClient.openPatiently(home, log: log)
    await node.whenStoreBreaks { stream.yield(.broken($0)) }
    let ended: ServingEnd
    do {
      let configuration = try Configuration(home: home)
      let listen = invocation["listen"] ?? configuration.listen ?? Self.defaultListen
      let peers = invocation.arguments["peer"]?.array?.compactMap(\.string) ?? configuration.peers
      let discovers = invocation.arguments["noDiscovery"]?.boolean != true && configuration.discovery
      let address = try await node.serve(listen: listen, peers: peers, discovers: discovers)
      try await node.serveControl()
      terminal.data(readyLine(address))
      notifier.ready("Serving at \(address)")
      let watch = notifier.watch(node, listening: address)
      ended = await ends.first { _ in true } ?? .signal(SIGTERM)
      watch?.cancel()
    } catch {
      await node.close()
      throw error
    }
    switch ended {
    case .signal(let number):
      notifier.stopping("Closing the store")
      await node.close()
      return Self.exitCode(after: number)
    case .broken(let failure):
      notifier.stopping(failure.message)
      // Who waits for an answer gets it. The store is not closed: that would write.
      try await Task.sleep(for: .milliseconds(300))
      exit(Application.report(failure, on: terminal, as: format))
    }
  }

  private static func exitCode(after signal: Int32) -> Int32 { signal == SIGINT ? ExitCode.interrupted : 0 }

  /// Ends the process some seconds after a signal, if the node has not ended it by then: what runs may be one long
  /// transaction, or the store may still be opening. The store tolerates an end at any moment: a transaction that is under
  /// way is rolled back at the next start.
  private func endAnyway(on signal: Int32, _ format: LogFormat) {
    let terminal = terminal
    Thread.detachNewThread {
      Thread.sleep(forTimeInterval: Self.endSeconds)
      terminal.note(
        format.line(
          .warning, "node",
          "work that was under way did not end within \(Int(Self.endSeconds)) seconds; ending without it: "
            + "changes that were not acknowledged are rolled back",
          now: systemWall(), isTerminal: terminal.error.isTerminal))
      TemporaryFiles.remove()
      _exit(Self.exitCode(after: signal))
    }
  }

  private static let endSeconds = 4.0

  private func readyLine(_ address: String) -> String {
    guard invocation.options.json else { return "ready \(address)" }
    let document: JSON = ["schema": "waymark.run/1", "type": "ready", "listen": .string(address)]
    return document.text(.line)
  }

  /// What the node says while it runs, one line each; `WAYMARK_LOG` names the least level.
  private func log(_ format: LogFormat) throws -> NodeLog {
    let terminal = terminal
    return NodeLog(least: try leastLevel) { level, area, message in
      terminal.note(
        format.line(level, area, message, now: systemWall(), isTerminal: terminal.error.isTerminal))
    }
  }

  private var leastLevel: NodeLog.Level {
    get throws {
      guard let name = environment["WAYMARK_LOG"], !name.isEmpty else { return .info }
      let levels = NodeLog.Level.allCases
      if let level = levels.first(where: { "\($0)" == name.lowercased() }) { return level }
      throw WaymarkError.usage(
        "WAYMARK_LOG can't be “\(printable(name))”: it is one of "
          + levels.map { "\($0)" }.joined(separator: ", ") + ".", next: .waymark("help run"))
    }
  }

  // MARK: Invite

  /// `invite`: a running node serves the ticket; else this process does, until somebody has joined.
  func invite() async throws -> Int32 {
    Interrupts.endWith(ExitCode.interrupted)
    if ControlClient.isRunning(home) {
      _ = try await ControlClient.perform(try request(invocation), home: home, tell: showTicket)
      return 0
    }
    try await SuspectStore.check(home)
    let node = try await ControlClient.openPatiently(home)
    do {
      try await serveAnywhere(node)
      try await node.serveControl()
      terminal.note("Waiting here until the new device has joined; Ctrl-C gives up.")
      var request = try request(invocation)
      request.arguments["wait"] = true
      let reader = watchReader(node)
      defer { reader.cancel() }
      let joined = try await node.answer(request) { [showTicket] event in
        (try? AnswerCoding.decode(CommandEvent.self, from: event)).map(showTicket)
      }.get()
      let step = Step.waymark("run").text(home: invocation.options.home)
      terminal.note("\(printable(joined["name"]?.string ?? "The new device")) has joined. Next: \(step)")
    } catch {
      await node.close()
      throw error
    }
    await node.close()
    return 0
  }

  /// `waymark invite | waymark join -`: if the joiner gives up, nobody else has the ticket, and waiting on would
  /// leave a person with a terminal that says nothing.
  private func watchReader(_ node: Node) -> Task<Void, Never> {
    let terminal = terminal
    return Task {
      while !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(500))
        guard readerOfOutputIsGone() else { continue }
        // A joiner hangs up after it has succeeded, too.
        try? await Task.sleep(for: .seconds(10))
        guard !Task.isCancelled else { return }
        await node.close()
        exit(
          Application.report(
            WaymarkError(
              exitCode: ExitCode.failed, code: .readerGone,
              message: "Whoever read the ticket is gone, and no device has joined.",
              next: .waymark("invite")), on: terminal))
      }
    }
  }

  /// The usual port if it is free, else any.
  private func serveAnywhere(_ node: Node) async throws {
    do {
      try await node.serve(listen: try Configuration(home: home).listen ?? Self.defaultListen)
    } catch let failure as WaymarkError where failure.code == .addressInUse {
      try await node.serve(listen: "[::]:0")
    }
  }

  /// The ticket alone on standard output.
  private var showTicket: @Sendable (CommandEvent) -> Void {
    let (terminal, isJSON) = (terminal, invocation.options.json)
    return { @Sendable event in
      guard case .ticket(let ticket, _) = event else { return }
      guard isJSON, case .object(let members)? = try? AnswerCoding.document(event) else {
        return terminal.data(ticket)
      }
      let head = [JSON.Member("schema", "waymark.invite/1")]
      terminal.data(JSON.object(head + members.filter { $0.key != "type" }).text(.pretty))
    }
  }
}

/// Whether standard output is a pipe that nobody reads any more.
private func readerOfOutputIsGone() -> Bool {
  var output = pollfd(fd: 1, events: 0, revents: 0)
  return poll(&output, 1, 0) > 0 && output.revents & Int16(POLLERR) != 0
}
