import Foundation
import Waymark

/// Why a node that was serving ends.
private enum ServingEnd {
  case signal(Int32)
  case broken(CommandFailure)
}

/// `run` and `invite`: the commands during which this process is the node.
extension Session {
  static let defaultListen = "[::]:7433"

  /// `run`: serves until SIGINT or SIGTERM.
  func serve() async throws -> Int32 {
    let (ends, stream) = AsyncStream<ServingEnd>.makeStream()
    Interrupts.handle([SIGINT, SIGTERM]) { stream.yield(.signal($0)) }
    try ProcessGuard.takeDescriptors()
    try await SuspectStore.check(home)
    let node = try WaymarkClient.open(home, log: log)
    await node.whenStoreBreaks { stream.yield(.broken($0)) }
    let ended: ServingEnd
    do {
      let configuration = try Configuration(home: home)
      let listen = invocation["listen"] ?? configuration.listen ?? Self.defaultListen
      let peers = invocation.arguments["peer"]?.array?.compactMap(\.string) ?? configuration.peers
      let address = try await node.serve(listen: listen, peers: peers)
      try await node.serveControl()
      terminal.data(readyLine(address))
      ended = await ends.first { _ in true } ?? .signal(SIGTERM)
    } catch {
      await node.close()
      throw error
    }
    switch ended {
    case .signal(let number):
      await node.close()
      return number == SIGINT ? ExitCode.interrupted : 0
    case .broken(let failure):
      // Who waits for an answer gets it. The store is not closed: that would write.
      try await Task.sleep(for: .milliseconds(300))
      exit(Application.report(failure, on: terminal))
    }
  }

  private func readyLine(_ address: String) -> String {
    guard invocation.options.json else { return "ready \(address)" }
    let document: JSON = ["schema": "waymark.run/1", "type": "ready", "listen": .string(address)]
    return document.text()
  }

  /// What the node says while it runs, one line each; `WAYMARK_LOG` names the least level.
  private var log: NodeLog {
    let named = ProcessInfo.processInfo.environment["WAYMARK_LOG"] ?? "info"
    let least = NodeLog.Level.allCases.first { "\($0)" == named.lowercased() } ?? .info
    let terminal = terminal
    return NodeLog(least: least) { level, area, message in
      let stamp = Date.now.formatted(.iso8601.time(includingFractionalSeconds: false))
      terminal.note("\(stamp) \("\(level)".padded(to: 7)) \(area.padded(to: 8)) \(printable(message))")
    }
  }

  // MARK: Invite

  /// `invite`: a running node serves the ticket; else this process does, until somebody has joined.
  func invite() async throws -> Int32 {
    Interrupts.endWith(ExitCode.interrupted)
    if WaymarkClient.isRunning(home) {
      _ = try await WaymarkClient.perform(request(invocation), home: home, events: showTicket)
      return 0
    }
    try await SuspectStore.check(home)
    let node = try WaymarkClient.open(home)
    do {
      try await serveAnywhere(node)
      try await node.serveControl()
      terminal.note("Waiting here until the new device has joined; Ctrl-C gives up.")
      var request = request(invocation)
      request.arguments["wait"] = true
      let reader = watchReader(node)
      defer { reader.cancel() }
      let joined = try await node.answer(request, events: showTicket).get()
      terminal.note("\(printable(joined["name"]?.string ?? "The new device")) has joined. Next: waymark run")
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
            CommandFailure(
              exitCode: ExitCode.failed, code: "reader_gone",
              message: "Whoever read the ticket is gone, and no device has joined.",
              next: "waymark invite"), on: terminal))
      }
    }
  }

  /// The usual port if it is free, else any.
  private func serveAnywhere(_ node: Node) async throws {
    do {
      try await node.serve(listen: try Configuration(home: home).listen ?? Self.defaultListen)
    } catch let failure as CommandFailure where failure.code == "address_in_use" {
      try await node.serve(listen: "[::]:0")
    }
  }

  /// The ticket alone on standard output.
  private var showTicket: @Sendable (JSON) -> Void {
    let (terminal, isJSON) = (terminal, invocation.options.json)
    return { @Sendable event in
      guard event["type"]?.string == "ticket" else { return }
      var document: JSON = ["schema": "waymark.invite/1"]
      for key in ["ticket", "expires"] { document[key] = event[key] }
      terminal.data(isJSON ? document.text(.pretty) : event["ticket"]?.string ?? "")
    }
  }
}

/// Whether standard output is a pipe that nobody reads any more.
private func readerOfOutputIsGone() -> Bool {
  var output = pollfd(fd: 1, events: 0, revents: 0)
  return poll(&output, 1, 0) > 0 && output.revents & Int16(POLLERR) != 0
}
