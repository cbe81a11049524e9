import Platform
import JSONDocument
package import Waymark
import WaymarkCare
import Wire

/// Performs a command on the node of a home: through the control socket if the node is running, else by opening the
/// home.
package enum ControlClient {
  /// Performs a command and returns its answer.
  ///
  /// - Parameter tell: receives the events of a long command, such as progress and warnings, on another thread.
  /// - Throws: `WaymarkError`, with the exit code and the next step.
  package static func perform<Asked: NodeCommand>(
    _ command: Asked, home: Home, tell: @escaping @Sendable (CommandEvent) -> Void = { _ in }
  ) async throws -> Asked.Answer {
    try await Node.patiently { try await performOnce(command, home, tell) }
  }

  private static func performOnce<Asked: NodeCommand>(
    _ command: Asked, _ home: Home, _ tell: @escaping @Sendable (CommandEvent) -> Void
  ) async throws -> Asked.Answer {
    guard let socket = try connect(home) else { return try await command.performWithoutNode(home, tell) }
    let request = ControlRequest(
      command: command.documentName, arguments: try AnswerCoding.encode(command))
    let answer = try await ask(
      socket, request, home, keyFile: command.keyFile, command.patienceMilliseconds, tell)
    do {
      return try AnswerCoding.decode(Asked.Answer.self, from: answer)
    } catch {
      throw WaymarkError.failed(
        .unexpectedAnswer, "The answer of the node can't be read: \(error).", next: .waymark("version"))
    }
  }

  /// Waits until other commands that are using the store have ended, then opens the node of a home for serving.
  package static func openPatiently(_ home: Home, log: NodeLog = .silent) async throws -> Node {
    try await Node.patiently {
      if let socket = try connect(home) { throw WaymarkError.runsAlready(home, socket.peerProcess) }
      return try Node.open(home, log: log)
    }
  }

  /// Whether a node is serving this home.
  package static func isRunning(_ home: Home) -> Bool {
    do { return try connect(home) != nil } catch { return true }
  }

  static func connect(_ home: Home) throws -> LineSocket? {
    do {
      for place in ControlSocketPath.all(of: home) {
        if let socket = try LineSocket.connect(to: place) { return socket }
      }
      return nil
    } catch is LineSocket.QueueFull {
      throw WaymarkError.notAnswering(home.storeHolder, hasBegun: false)
    }
  }

  static func ask(
    _ socket: LineSocket, _ request: ControlRequest, _ home: Home, keyFile: String?, _ patience: Int64?,
    _ tell: @escaping @Sendable (CommandEvent) -> Void
  ) async throws -> JSON {
    try await withCheckedThrowingContinuation { continuation in
      startThread {
        continuation.resume(
          with: Result { try converse(socket, request, home, keyFile: keyFile, patience, tell) })
      }
    }
  }

  /// A running node has no terminal: if it needs a passphrase, this process asks for it and repeats the request.
  private static func converse(
    _ socket: LineSocket, _ request: ControlRequest, _ home: Home, keyFile: String?, _ patience: Int64?,
    _ tell: @Sendable (CommandEvent) -> Void
  ) throws -> JSON {
    var (socket, passphrase, attempt) = (socket, Passphrase?.none, 0)
    while true {
      do {
        return try WatchedConversation(socket, request, passphrase, patience).exchange(tell)
      } catch let failure as WaymarkError where failure.isAboutPassphrase {
        guard let words = try home.passphrases.passphrase(keyFile ?? home.rootKey, attempt) else {
          throw failure
        }
        guard let again = try connect(home) else { throw WaymarkError.hungUp }
        (socket, passphrase) = (again, words)
        attempt += 1
      }
    }
  }
}

extension NodeCommand {
  /// Opens the home, performs the command and closes the home. A store whose disk has failed is verified first.
  ///
  /// - Throws: `WaymarkError`
  package func openAndPerform(
    _ home: Home, forBackup: Bool = false, _ tell: @escaping @Sendable (CommandEvent) -> Void
  ) async throws -> Answer {
    if needsNoWriting, home.isOnReadOnlyDisk { return try await perform(onCopyOf: home, tell) }
    try await SuspectStore.check(home, forBackup: forBackup) { tell(.progress($0)) }
    return try await perform(onNodeOf: home, tell)
  }

  /// Performs the command on a temporary copy of a home that can't be written to.
  package func perform(
    onCopyOf home: Home, _ tell: @escaping @Sendable (CommandEvent) -> Void
  ) async throws -> Answer {
    let copy = try ReadingCopy(of: home, holdsFiles: readsFiles)
    let result = await copy.node.answer(self, CommandCall(tell: tell))
    await copy.close()
    return try result.get()
  }

  /// Opens the home, performs the command and closes the home, without verifying a suspect store first.
  package func perform(
    onNodeOf home: Home, _ tell: @escaping @Sendable (CommandEvent) -> Void
  ) async throws -> Answer {
    let node = try Node.open(home)
    let result = await node.answer(self, CommandCall(tell: tell))
    await node.close()
    return try result.get()
  }
}

/// One request to a running node, and its answer. Detects a node that is suspended or stuck.
///
/// The request is sent only after the node has answered a `ping`. Otherwise a suspended node would carry out the
/// request when it is resumed, long after this process gave up. From then on the node sends a sign of life at least
/// once a second, however long the command takes.
private struct WatchedConversation {
  private let socket: LineSocket
  private let request: ControlRequest
  private let passphrase: Passphrase?
  /// The moment at which the command's own time limit ends; nil if the command has none.
  private let end: SuspendingClock.Instant?

  init(_ socket: LineSocket, _ request: ControlRequest, _ passphrase: Passphrase?, _ patience: Int64?) {
    self.socket = socket
    self.request = request
    self.passphrase = passphrase
    end = patience.map { .now + .milliseconds(min(max($0, 0), 1 << 50)) }
  }

  func exchange(_ tell: @Sendable (CommandEvent) -> Void) throws -> JSON {
    try ping()
    // A node with too many clients answers "busy" and hangs up. Writing then fails, but there is an answer to read.
    let isSent =
      passphrase.map { socket.writeSecret(ControlConnection.passphraseMark, $0.secret) } ?? true
    if isSent { socket.writeLine(request.line()) }
    while let line = try next(hasBegun: true) {
      switch line {
      case .event(let event): tell(event)
      case .alive: break
      case .result(let answer): return answer
      case .failure(let failure): throw failure
      }
    }
    throw WaymarkError.hungUp
  }

  /// Waits until the node accepts work.
  private func ping() throws {
    socket.writeLine(ControlRequest(command: Ping.name, arguments: [:]).line())
    while let line = try next(hasBegun: false) {
      switch line {
      case .alive, .event: break
      case .result: return
      case .failure(let failure): throw failure
      }
    }
    throw WaymarkError.hungUp
  }

  /// How long the node may be silent, in milliseconds: no longer than the time limit of the command itself.
  private var silence: Int64 {
    guard let end else { return Limits.controlSilenceMillisecondsMax }
    // More than the time limit, so that a busy node itself can report that the limit has passed.
    let left = SuspendingClock.now.duration(to: end).wholeMilliseconds + Self.grace
    return min(Limits.controlSilenceMillisecondsMax, max(left, Self.grace))
  }

  /// Returns the node's next reply; nil if the node hung up.
  private func next(hasBegun: Bool) throws -> ControlReply? {
    switch socket.readLine(bytesMax: Self.answerBytesMax, within: silence, renews: true) {
    case .line(let line): return try? ControlReply(line: line)
    case .late: throw WaymarkError.notAnswering(socket.peerProcess, hasBegun: hasBegun)
    case .tooLong, .end: return nil
    }
  }

  /// In milliseconds.
  private static let grace: Int64 = 2_000

  /// Large, because an answer can list every record.
  private static let answerBytesMax = 512 * 1024 * 1024
}

extension WaymarkError {
  fileprivate var isAboutPassphrase: Bool {
    [.passphraseNeeded, .wrongPassphrase].contains(code)
  }
}
