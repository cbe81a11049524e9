import Dispatch
import Platform
import Sodium
import Synchronization
import Waymark
import WaymarkCare
import Wire

/// One client of the control socket, on a thread of its own: reads a request, answers it, reads the next.
///
/// Events wait here until the client reads them, so a slow client delays only itself.
///
/// A client that begins with the request `ping` expects signs of life: while it waits for an answer, the server calls
/// `tellOfLife` about every second, as long as the node is responsive.
final class ControlConnection: Sendable {
  private struct State {
    var expectsLife = false
    /// When the wait for the current answer began.
    var began: SuspendingClock.Instant?
  }

  private let socket: LineSocket
  private let promptly: ControlServer.PromptHandler
  private let handler: ControlServer.Handler
  private let patience: Int64
  private let state = Mutex(State())
  /// Held while a line is written, so that two threads never mix their lines.
  private let sending = Mutex(())

  init(
    _ socket: LineSocket, patience: Int64, _ promptly: @escaping ControlServer.PromptHandler,
    _ handler: @escaping ControlServer.Handler
  ) {
    self.socket = socket
    self.promptly = promptly
    self.patience = patience
    self.handler = handler
  }

  /// Whether the client has waited for an answer so long that it must now be sent a sign of life.
  func wantsLife(after milliseconds: Int64) -> Bool {
    state.withLock { state in
      guard state.expectsLife, let began = state.began else { return false }
      return began.duration(to: .now) >= .milliseconds(milliseconds)
    }
  }

  /// Sends a sign of life. Called on the server's thread, which must never wait for this client.
  func tellOfLife() {
    _ = sending.withLockIfAvailable { _ in socket.writeLine(Self.life, within: 0) }
  }

  private static let life = ControlReply.alive.line

  /// Wakes the thread that serves the client, and ends the connection.
  func interrupt() { socket.interrupt() }

  /// Serves the client until it hangs up or breaks the protocol.
  func serve() {
    var passphrase: Passphrase?
    while true {
      switch socket.readLine(bytesMax: Limits.controlBytesMax, within: patience) {
      case .line(var line):
        do {
          if try takePassphrase(&line, into: &passphrase) { continue }
        } catch {
          send(.failure(error as? WaymarkError ?? .hungUp))
          return
        }
        guard answer(line, passphrase) else { return }
        passphrase = nil
      case .tooLong:
        send(.failure(.usage("A request must have at most \(Limits.controlBytesMax) bytes.")))
        return
      case .late:
        let seconds = patience / 1_000
        send(
          .failure(
            .failed(.late, "No complete request arrived within \(seconds) seconds.", next: "try again")))
        return
      case .end: return
      }
    }
  }

  /// Takes the passphrase from a line `passphrase WORDS`, which precedes a request that needs it to open a sealed key.
  /// Returns false for any other line.
  private func takePassphrase(_ line: inout [UInt8], into passphrase: inout Passphrase?) throws -> Bool {
    guard line.starts(with: Self.passphraseMark) else { return false }
    defer { wipe(&line) }
    var words: [UInt8] = []
    words.reserveCapacity(line.count)
    words += line[Self.passphraseMark.count...]
    passphrase = try Passphrase(&words)
    return true
  }

  /// The beginning of a line with a passphrase.
  static let passphraseMark = Array("passphrase ".utf8)

  /// Answers a request. Returns false if the client has hung up.
  private func answer(_ line: [UInt8], _ passphrase: Passphrase?) -> Bool {
    guard let request = ControlRequest(line: line) else {
      return send(.failure(.usage("Invalid request: the control socket expects one JSON request per line.")))
    }
    // A client that gave up while this process was suspended assumes that nothing was done.
    guard !socket.hasHungUp else { return false }
    state.withLock { state in
      if request.command == Ping.name { state.expectsLife = true }
      state.began = .now
    }
    defer { state.withLock { $0.began = nil } }
    if let answer = promptly(request) { return send(answer) }
    let (handler, outbox, socket) = (handler, Outbox(), socket)
    // Not a task-local value: optimised code of Swift 6.3 crashes if one is bound around an `await`.
    let call = CommandCall(passphrase: passphrase, hasLeft: { socket.hasHungUp }) {
      outbox.put(ControlReply.event($0).line)
    }
    let task = Task { outbox.finish(await handler(request, call).line) }
    // This thread belongs to the client; nothing else waits for it. If the client hangs up, its command is cancelled
    // and its events are dropped. The client's slot is free only after the command has ended, which limits the number
    // of commands in progress.
    var isThere = true
    while true {
      switch outbox.next(within: Limits.controlLookMilliseconds) {
      case .line(let line):
        isThere = isThere && write(line)
      case .nothingYet: isThere = isThere && !socket.hasHungUp
      case .end: return isThere && !outbox.hasOverflowed
      }
      if !isThere { task.cancel() }
    }
  }

  @discardableResult
  private func send(_ answer: ControlReply) -> Bool { write(answer.line) }

  private func write(_ line: [UInt8]) -> Bool {
    sending.withLock { _ in socket.writeLine(line, within: Limits.controlSendMillisecondsMax) }
  }
}

/// Lines to send to a client: added by the node, which never waits, and taken by the client's thread.
final class Outbox: Sendable {
  private struct State {
    var lines: [[UInt8]] = []
    /// How many of the lines have been taken.
    var taken = 0
    var bytes = 0
    var isOver = false
    var hasOverflowed = false
  }

  private let state = Mutex(State())
  private let changed = DispatchSemaphore(value: 0)
  private let bytesMax: Int

  init(bytesMax: Int = Limits.controlQueueBytesMax) { self.bytesMax = bytesMax }

  func put(_ line: [UInt8]) { put(line, isLast: false) }

  /// Adds the last line. Only the last line has no size limit.
  func finish(_ line: [UInt8]) { put(line, isLast: true) }

  private func put(_ bytes: [UInt8], isLast: Bool) {
    state.withLock { state in
      // Nothing follows the last line, not even an event that is told too late.
      guard !state.isOver else { return }
      if !isLast, state.bytes + bytes.count > bytesMax { state.hasOverflowed = true }
      if state.hasOverflowed {
        // A line was dropped, so drop all others too: the client must not take the rest for the whole.
        (state.lines, state.taken, state.bytes) = ([], 0, 0)
      } else {
        state.lines.append(bytes)
        state.bytes += bytes.count
      }
      state.isOver = isLast
    }
    changed.signal()
    // The first signal was for the line; this second one is for the end that follows it.
    if isLast { changed.signal() }
  }

  /// The outcome of waiting for a line.
  enum Next: Equatable {
    case line([UInt8])
    case nothingYet
    /// All lines have been taken, and no more follow.
    case end
  }

  /// Waits for the next line.
  ///
  /// - Parameter within: the longest time to wait, in milliseconds.
  func next(within milliseconds: Int) -> Next {
    let deadline = DispatchTime.now() + .milliseconds(milliseconds)
    while true {
      guard changed.wait(timeout: deadline) == .success else { return .nothingYet }
      let (line, isOver) = state.withLock { state -> ([UInt8]?, Bool) in
        guard state.taken < state.lines.count else { return (nil, state.isOver) }
        let line = state.lines[state.taken]
        state.taken += 1
        state.bytes -= line.count
        if state.taken == state.lines.count { (state.lines, state.taken) = ([], 0) }
        return (line, false)
      }
      if let line { return .line(line) }
      guard !isOver else { return .end }
    }
  }

  /// Whether lines were dropped because the client read too slowly.
  var hasOverflowed: Bool { state.withLock { $0.hasOverflowed } }
}
