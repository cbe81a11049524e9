import Console
import Control
import Platform
import Home
import JSONDocument
import Reasons
import Waymark

/// The address that a node listens on by default.
let defaultListen = "[::]:7433"

/// Where a node serves its page by default: any free port.
let defaultPage = "127.0.0.1:0"

/// Why a serving node ends.
private enum ServingEnd {
  case signal(Int32)
  case broken(WaymarkError)
}

/// The arguments of `run`.
struct RunArguments: Decodable {
  let logFormat: String?
  let listen: String?
  let peer: [String]?
  let noDiscovery: Bool?
  let followSync: Bool?
  let page: String?

  /// Whether the node looks for its peers on the local networks: unless the flag or the configuration turns that off.
  func discovers(_ configuration: Configuration) -> Bool {
    noDiscovery != true && configuration.discovery
  }
}

/// `run`: the command that makes this process the node.
extension CommandRun {
  /// `run`: serves until SIGINT, SIGTERM, SIGHUP (when its terminal closes) or SIGQUIT.
  func serve() async throws -> Int32 {
    let asked = try invocation.arguments(as: RunArguments.self)
    let format = try LogFormat.chosen(flag: asked.logFormat, environment: environment)
    let notifier = ServiceNotifier(environment: environment)
    do {
      return try await serve(asked, format, notifier)
    } catch {
      let failure = invocation.completing(Application.failure(error))
      notifier.status("\(failure.message)")
      return end(failure, format)
    }
  }

  private func serve(
    _ asked: RunArguments, _ format: LogFormat, _ notifier: ServiceNotifier
  ) async throws -> Int32 {
    try ProcessGuard.takeDescriptors()
    let log = try log(format)
    notifier.status("Opening the store")
    // Opening the store may take a long time but can be interrupted safely, so signals end the process at once.
    Interrupts.endWith(ExitCode.interrupted)
    try await SuspectStore.check(home)
    let (ends, stream) = AsyncStream<ServingEnd>.makeStream()
    Interrupts.handle([SIGINT, SIGTERM] + Interrupts.unlessIgnored([SIGHUP, SIGQUIT])) { number in
      stream.yield(.signal(number))
      endAnyway(on: number, format)
    }
    let node = try await ControlClient.openPatiently(home, log: log)
    let health = Task {
      for await health in node.watch(.storeHealth) {
        if case .failed(let failure) = health { stream.yield(.broken(failure)) }
      }
    }
    defer { health.cancel() }
    let ended: ServingEnd
    do {
      let configuration = try Configuration(home: home)
      let listen = asked.listen ?? configuration.listen ?? defaultListen
      let peers = asked.peer ?? configuration.peers
      if asked.followSync == true || configuration.followSync {
        await node.followSyncInvitations()
      }
      let address = try await node.serve(
        listen: listen, peers: peers, discovers: asked.discovers(configuration))
      try await node.serveControl()
      var page: String?
      if let place = asked.page { page = try await node.servePage(at: place) }
      terminal.data(readyLine(address))
      if let page { terminal.data(pageLine(page)) }
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
      notifier.stopping("\(failure.message)")
      // Clients that are waiting get their answer first. The store is not closed, because closing would write to it.
      try await Task.sleep(for: .milliseconds(300))
      exit(end(failure, format))
    }
  }

  /// Reports why the node ends: in its log and, with `--json`, as the last line of its answer.
  private func end(_ failure: WaymarkError, _ format: LogFormat) -> Int32 {
    if invocation.options.json { terminal.data(ErrorDocument(failure).line) }
    return Application.report(failure, on: terminal, as: format)
  }

  private static func exitCode(after signal: Int32) -> Int32 { signal == SIGINT ? ExitCode.interrupted : 0 }

  /// Ends the process some seconds after a signal if the node has not ended it by then: the node may be in the middle
  /// of a long transaction, or still opening the store. This is safe at any moment, because an open transaction is
  /// rolled back at the next start.
  private func endAnyway(on signal: Int32, _ format: LogFormat) {
    let terminal = terminal
    startThread {
      sleepThread(seconds: Self.endSeconds)
      terminal.note(
        format.line(
          .warning, "node",
          "work in progress did not end within \(Int(Self.endSeconds)) seconds; exiting anyway: "
            + "unacknowledged changes are rolled back",
          now: systemWall(), isTerminal: terminal.error.isTerminal))
      TemporaryFiles.remove()
      _exit(Self.exitCode(after: signal))
    }
  }

  private static let endSeconds = 4.0

  private func pageLine(_ address: String) -> String {
    guard invocation.options.json else { return "page \(address)" }
    let document: JSON = ["schema": "waymark.run/1", "type": "page", "address": .string(address)]
    return document.text(.line)
  }

  private func readyLine(_ address: String) -> String {
    guard invocation.options.json else { return "ready \(address)" }
    let document: JSON = ["schema": "waymark.run/1", "type": "ready", "listen": .string(address)]
    return document.text(.line)
  }

  /// The log of the running node, on standard error; `WAYMARK_LOG` names the lowest level that is shown.
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
        "Invalid WAYMARK_LOG “\(printable(name))”: expected one of "
          + "\(levels.map { "\($0)" }.joined(separator: ", ")).", next: .waymark("help run"))
    }
  }
}
