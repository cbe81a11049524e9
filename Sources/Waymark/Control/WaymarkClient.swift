import Foundation
import Membership
import Storage
package import Wire

/// Carries a command to the node of a home: through its socket if it runs, else on the store itself.
package enum WaymarkClient {
  /// Performs a command and gives its document.
  ///
  /// - Parameter events: what a long command says meanwhile: progress, warnings; called on another thread.
  /// - Throws: `WaymarkError`, with the exit code and the next step.
  package static func perform(
    _ request: CommandRequest, home: Home, events: @escaping @Sendable (JSON) -> Void = { _ in }
  ) async throws -> JSON {
    try await patiently(home) { try await performOnce(request, home, events) }
  }

  private static func performOnce(
    _ request: CommandRequest, _ home: Home, _ events: @escaping @Sendable (JSON) -> Void
  ) async throws -> JSON {
    if let socket = try connect(home) { return try await ask(socket, request, home, events) }
    // `verify` tells more about a suspect store than that it is one.
    if request.command != "verify" {
      try await SuspectStore.check(home, forBackup: request.command == "backup", events: events)
    }
    do {
      return try await perform(request, on: try open(home), events)
    } catch let failure as WaymarkError where failure.code == "store" && request.command == "verify" {
      return try await DeepCheck(home).runClosed(request, events).document(request)
    }
  }

  /// Opens the node of a home that is to serve, as soon as commands that have the store have ended.
  package static func openPatiently(_ home: Home, log: NodeLog = .silent) async throws -> Node {
    try await patiently(home) {
      if let socket = try connect(home) { throw WaymarkError.runsAlready(home, socket.peerProcess) }
      return try open(home, log: log)
    }
  }

  /// A command without a node has the store for a moment, and so does a node that is not at its socket yet; one that
  /// is may have many others to answer. Who comes just then waits that long, and no longer.
  static func patiently<Result>(_ home: Home, _ body: () async throws -> Result) async throws
    -> Result
  {
    let end = ContinuousClock.now + .seconds(3)
    while true {
      do {
        return try await body()
      } catch let failure as WaymarkError where failure.code == "store_held" || failure == .busy {
        guard ContinuousClock.now < end else { throw failure }
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }

  private static func perform(
    _ request: CommandRequest, on node: Node, _ events: @escaping @Sendable (JSON) -> Void
  ) async throws -> JSON {
    let result = await node.answer(request, events: events)
    await node.close()
    return try result.get()
  }

  /// Whether a node serves this home now.
  package static func isRunning(_ home: Home) -> Bool {
    do { return try connect(home) != nil } catch { return true }
  }

  private static func connect(_ home: Home) throws -> LineSocket? {
    do {
      for place in ControlPlace.all(of: home) {
        if let socket = try place.connect() { return socket }
      }
      return nil
    } catch is LineSocket.QueueFull {
      throw WaymarkError.notAnswering(StoreLock.holder(of: home.store), hasBegun: false)
    }
  }

  /// Opens the node of a home with failures that a person can act on.
  package static func open(_ home: Home, log: NodeLog = .silent) throws -> Node {
    guard home.hasStore || home.isReplacing else { throw WaymarkError.noStore(home) }
    do {
      return try Node(home: home, log: log)
    } catch {
      throw WaymarkError.opening(home, error)
    }
  }

  private static func ask(
    _ socket: LineSocket, _ request: CommandRequest, _ home: Home,
    _ events: @escaping @Sendable (JSON) -> Void
  ) async throws -> JSON {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try converse(socket, request, home, events) })
      }
    }
  }

  /// A running node has no terminal: where it needs a passphrase, this process asks for it, and asks again.
  private static func converse(
    _ socket: LineSocket, _ request: CommandRequest, _ home: Home, _ events: @Sendable (JSON) -> Void
  ) throws -> JSON {
    let file = request.text("key") ?? request.text("rootKey") ?? home.rootKey
    var (socket, request, attempt) = (socket, request, 0)
    while true {
      do {
        return try WatchedConversation(socket, request).exchange(events)
      } catch let failure as WaymarkError where failure.isAboutPassphrase {
        guard let passphrase = try home.passphrases.passphrase(file, attempt) else { throw failure }
        guard let again = try connect(home) else { throw WaymarkError.hungUp }
        (socket, request.passphrase) = (again, passphrase)
        attempt += 1
      }
    }
  }
}

/// One request to a running node and its answer, with a node that may be stopped, or stuck.
///
/// Nothing that changes anything is sent before the node has answered a `ping`: a node that is stopped would carry it
/// out when it goes on, long after this process gave up. From then on the node tells at least once a second that it is
/// at work, however long the command takes.
private struct WatchedConversation {
  private let socket: LineSocket
  private let request: CommandRequest
  /// When a command with a limit of its own gives up by itself.
  private let end: SuspendingClock.Instant?

  init(_ socket: LineSocket, _ request: CommandRequest) {
    self.socket = socket
    self.request = request
    let isWait = request.command == "wait"
    let limit = isWait ? request.arguments["timeoutMilliseconds"]?.integer ?? Node.waitMilliseconds : nil
    end = limit.map { .now + .milliseconds(min(max($0, 0), 1 << 50)) }
  }

  func exchange(_ events: @Sendable (JSON) -> Void) throws -> JSON {
    let tellsOfLife = try ping()
    // A node that has no room says so and hangs up: then writing fails, and there is an answer all the same.
    let isSent =
      request.passphrase.map { socket.writeSecret(ControlClient.passphraseMark, $0.secret) } ?? true
    if isSent { socket.writeLine(request.json.bytes()) }
    while let json = try next(within: tellsOfLife ? silence : nil, hasBegun: true) {
      switch json["type"]?.string {
      case "event": events(json["event"] ?? .null)
      case "alive": break
      case "result": return json["document"] ?? .null
      default: throw WaymarkError(json: json) ?? WaymarkError.hungUp
      }
    }
    throw WaymarkError.hungUp
  }

  /// Waits until the node takes up work. False for an older one, which does not know the word, and is trusted to answer
  /// since it has.
  private func ping() throws -> Bool {
    socket.writeLine(CommandRequest("ping").json.bytes())
    while let json = try next(within: silence, hasBegun: false) {
      switch json["type"]?.string {
      case "alive": break
      case "result": return true
      default:
        guard let failure = WaymarkError(json: json) else { throw WaymarkError.hungUp }
        guard failure.code == "usage" else { throw failure }
        return false
      }
    }
    throw WaymarkError.hungUp
  }

  /// How long the node may say nothing, in milliseconds: no longer than a limit of the command itself.
  private var silence: Int64 {
    guard let end else { return Limits.controlSilenceMillisecondsMax }
    // The node is to say itself that the time is over.
    let left = SuspendingClock.now.duration(to: end).wholeMilliseconds + 500
    return min(Limits.controlSilenceMillisecondsMax, max(left, 500))
  }

  /// The next line; nil if the node hung up.
  private func next(within milliseconds: Int64?, hasBegun: Bool) throws -> JSON? {
    switch socket.readLine(bytesMax: Self.answerBytesMax, within: milliseconds, renews: true) {
    case .line(let line): return try? JSON.parse(line)
    case .late: throw WaymarkError.notAnswering(socket.peerProcess, hasBegun: hasBegun)
    case .tooLong, .end: return nil
    }
  }

  /// A node's answer may list every record.
  private static let answerBytesMax = 512 * 1024 * 1024
}

extension WaymarkError {
  static func runsAlready(_ home: Home, _ process: Int32?) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.storeHeld, code: "already_running",
      message: "A node runs already; the store in \(home.path) is held by "
        + "\(process.map { "process \($0)" } ?? "it").",
      next: "waymark status; for a second node on this machine, --home DIR")
  }

  /// - Parameter hasBegun: whether the node had taken the command.
  static func notAnswering(_ process: Int32?, hasBegun: Bool) -> WaymarkError {
    let name = process.map { "The node (process \($0))" } ?? "The node"
    let isStopped = process.map(isStopped) ?? false
    let what = isStopped ? "is stopped and does not answer." : "does not answer; is it stopped?"
    let unknown = hasBegun ? " Whether it carried out the command is not known." : ""
    let number = process.map { "\($0)" } ?? "PROCESS"
    return WaymarkError(
      exitCode: ExitCode.notRunning, code: "not_answering",
      message: "\(name) \(what)\(unknown)",
      next: isStopped
        ? "kill -CONT \(number), or fg in its terminal"
        : "kill -CONT \(number), or fg in its terminal; if that does not help, kill \(number) and waymark run"
    )
  }

  /// Whether a process was stopped, as by Ctrl-Z; false where the system does not tell.
  private static func isStopped(_ process: Int32) -> Bool {
    guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
      let end = stat.lastIndex(of: ")")
    else { return false }
    return ["T", "t"].contains(stat[stat.index(after: end)...].drop { $0 == " " }.prefix(1))
  }

  static let hungUp = WaymarkError(
    exitCode: ExitCode.failed, code: "hung_up", message: "The running node hung up before it answered.",
    next: "waymark status")

  static let cancelled = WaymarkError.failed(
    "cancelled", "The command was cancelled; nothing was changed.", next: "the same again")

  static let closed = WaymarkError(
    exitCode: ExitCode.failed, code: "closed", message: "This node has been closed.",
    next: "open the home again")

  fileprivate var isAboutPassphrase: Bool {
    [HomeError.Code.passphraseNeeded, .wrongPassphrase].contains { code == $0.rawValue }
  }

  /// Why something of a store that is open failed.
  static func reading(_ home: Home, _ error: any Error) -> WaymarkError { opening(home, error, "read") }

  /// Why a home can't be opened, with the exit code of the cause; makes its store suspect if the disk failed it.
  static func opening(_ home: Home, _ error: any Error, _ verb: String = "opened") -> WaymarkError {
    switch error {
    case let failure as WaymarkError: return failure
    case let error as HomeError: return WaymarkError(error)
    case is CancellationError: return .cancelled
    case _ where isInterrupted(error): return .cancelled
    case StoreError.storeIsHeld(let holder) where holder == ProcessInfo.processInfo.processIdentifier:
      return WaymarkError(
        exitCode: ExitCode.storeHeld, code: "store_held",
        message: "The store in \(home.path) is open in this process already.",
        next: "use the node that has it, or close that first")
    case StoreError.storeIsHeld(let holder):
      return WaymarkError(
        exitCode: ExitCode.storeHeld, code: "store_held",
        message:
          "The store in \(home.path) is held by \(holder.map { "process \($0)" } ?? "another process").",
        next: "end that process, or use another --home")
    case StoreError.newerSchema(let found, let known):
      return .failed(
        "newer_store",
        "The store in \(home.path) was written by a newer version of Waymark (schema \(found), this one reads "
          + "\(known)); nothing was changed.",
        next: "bring this program up to date; waymark version says which this is")
    case StoreError.damaged(let why):
      return .failed(
        "store", "The store in \(home.path) can't be \(verb): it is damaged: \(why).",
        next: "waymark verify --deep")
    case StatementError.wrongCircle:
      return .failed(
        "store",
        "The store in \(home.path) can't be \(verb): it holds no circle, as a file that is empty or cut off.",
        next: home.restoreAdvice(now: systemWall()))
    case StoreError.damagedSet:
      return .failed(
        "damaged_set",
        "The disk of \(home.path) has altered a change set that this needs; the rest of the store is not affected.",
        next: "waymark status says which; once another device has sent it again, try again")
    case StoreError.lockFailed(let code):
      return .failed(
        "file",
        "The store in \(home.path) can't be \(verb): its lock can't be taken: \(reason(code).lowercased()).",
        next: code == EROFS
          ? "see whether the disk is mounted for reading only: findmnt -T \(shellWord(home.path))"
          : Files.look(home.store + ".lock", code))
    case _ where isNoRoom(error): return .diskFull(home)
    case _ where isLostWrite(error):
      // Nothing that a person starts next may take for written what was not.
      home.markSuspect()
      return .brokenStore(home, error)
    case _ where (try? BackupFile(path: home.store)) != nil:
      let kept = home.path + "/backup.waymark"
      return .failed(
        "is_backup", "\(home.store) is a backup file, and no store.",
        next: "mv \(shellWord(home.store)) \(shellWord(kept)), then waymark restore \(shellWord(kept))")
    case _ where isDamagedFile(error):
      // Damage outside what is signed is repaired from that. Else nothing but a copy helps.
      let isSignedPartWhole = Store.isSignedPartReadable(home.store)
      return .failed(
        "store", "The store in \(home.path) can't be \(verb): its file is damaged (\(error)).",
        next: isSignedPartWhole ? "waymark verify --deep --repair" : home.restoreAdvice(now: systemWall()))
    default:
      return .failed(
        "store", "The store in \(home.path) can't be \(verb): \(error).", next: "waymark verify --deep")
    }
  }
}
