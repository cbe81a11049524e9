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
    if let socket = connect(home) { return try await ask(socket, request, home, events) }
    // `verify` tells more about a suspect store than that it is one.
    if request.command != "verify" { try await SuspectStore.check(home, events: events) }
    do {
      return try await perform(request, on: try open(home), events)
    } catch let failure as WaymarkError where failure.code == "store" && request.command == "verify" {
      return try await DeepCheck(closed: home).runClosed(request, events)
    }
  }

  /// Opens the node of a home that is to serve, as soon as commands that have the store have ended.
  package static func openPatiently(_ home: Home, log: NodeLog = .silent) async throws -> Node {
    try await patiently(home) {
      if let socket = connect(home) { throw WaymarkError.runsAlready(home, socket.peerProcess) }
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
  package static func isRunning(_ home: Home) -> Bool { connect(home) != nil }

  private static func connect(_ home: Home) -> LineSocket? {
    for place in ControlPlace.all(of: home) {
      if let socket = place.connect() { return socket }
    }
    return nil
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
        return try exchange(socket, request, events)
      } catch let failure as WaymarkError where failure.isAboutPassphrase {
        guard let passphrase = try home.passphrases.passphrase(file, attempt) else { throw failure }
        guard let again = connect(home) else { throw WaymarkError.hungUp }
        (socket, request.passphrase) = (again, passphrase)
        attempt += 1
      }
    }
  }

  private static func exchange(
    _ socket: LineSocket, _ request: CommandRequest, _ events: @Sendable (JSON) -> Void
  ) throws -> JSON {
    // A node that has no room says so and hangs up: then writing fails, and there is an answer all the same.
    let isSent =
      request.passphrase.map { socket.writeSecret(ControlClient.passphraseMark, $0.secret) } ?? true
    if isSent { socket.writeLine(request.json.bytes()) }
    while case .line(let line) = socket.readLine(bytesMax: Self.answerBytesMax) {
      guard let json = try? JSON.parse(line) else { break }
      switch json["type"]?.string {
      case "event": events(json["event"] ?? .null)
      case "result": return json["document"] ?? .null
      default: throw WaymarkError(json: json) ?? WaymarkError.hungUp
      }
    }
    throw WaymarkError.hungUp
  }

  /// A node's answer may list every record.
  private static let answerBytesMax = 512 * 1024 * 1024
}

extension WaymarkError {
  static func noStore(_ home: Home) -> WaymarkError {
    if let trouble = home.exclusion { return WaymarkError(trouble) }
    return WaymarkError(
      exitCode: ExitCode.noStore, code: "no_store", message: "There is no Waymark store in \(home.path).",
      next: "waymark init, or waymark join TICKET")
  }

  static func runsAlready(_ home: Home, _ process: Int32?) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.storeHeld, code: "already_running",
      message: "A node runs already; the store in \(home.path) is held by "
        + "\(process.map { "process \($0)" } ?? "it").",
      next: "waymark status; for a second node on this machine, --home DIR")
  }

  static let hungUp = WaymarkError(
    exitCode: ExitCode.failed, code: "hung_up", message: "The running node hung up before it answered.",
    next: "waymark status")

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
