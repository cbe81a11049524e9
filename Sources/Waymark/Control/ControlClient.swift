import Foundation
import Sodium
import Synchronization
import Wire

/// One client of the control socket, on a thread of its own: reads a request, has it answered, reads the next.
///
/// What the node tells meanwhile waits here, so a client that does not read holds up nobody but itself.
final class ControlClient: Sendable {
  private let socket: LineSocket
  private let promptly: ControlServer.PromptHandler
  private let handler: ControlServer.Handler
  private let patience: Int64

  init(
    _ socket: LineSocket, patience: Int64, _ promptly: @escaping ControlServer.PromptHandler,
    _ handler: @escaping ControlServer.Handler
  ) {
    self.socket = socket
    self.promptly = promptly
    self.patience = patience
    self.handler = handler
  }

  /// Until the client hangs up, or does what none should.
  func serve() {
    var passphrase: Passphrase?
    while true {
      switch socket.readLine(bytesMax: Limits.controlBytesMax, within: patience) {
      case .line(var line):
        do {
          if try takePassphrase(&line, into: &passphrase) { continue }
        } catch {
          send((error as? HomeError).map(WaymarkError.init)?.json ?? WaymarkError.hungUp.json)
          return
        }
        guard answer(line, passphrase) else { return }
        passphrase = nil
      case .tooLong:
        send(WaymarkError.usage("A request has at most \(Limits.controlBytesMax) bytes.").json)
        return
      case .late:
        let seconds = patience / 1_000
        send(
          WaymarkError.failed(
            "late", "No whole request came within \(seconds) seconds.", next: "the same again"
          ).json)
        return
      case .end: return
      }
    }
  }

  /// `passphrase WORDS` before a request: what opens the sealed key that the request needs.
  private func takePassphrase(_ line: inout [UInt8], into passphrase: inout Passphrase?) throws -> Bool {
    guard line.starts(with: Self.passphraseMark) else { return false }
    defer { wipe(&line) }
    var words: [UInt8] = []
    words.reserveCapacity(line.count)
    words += line[Self.passphraseMark.count...]
    passphrase = try Passphrase(&words)
    return true
  }

  /// What the line of a passphrase begins with.
  static let passphraseMark = Array("passphrase ".utf8)

  /// False if the client is gone.
  private func answer(_ line: [UInt8], _ passphrase: Passphrase?) -> Bool {
    guard let json = try? JSON.parse(line), var request = CommandRequest(json: json) else {
      return send(WaymarkError.usage("The control socket takes one JSON request a line.").json)
    }
    request.passphrase = passphrase
    if let answer = promptly(request) { return send(answer) }
    let (handler, outbox) = (handler, Outbox())
    let task = Task { [request] in
      let answer = await handler(request) { outbox.put(["type": "event", "event": $0]) }
      outbox.finish(answer)
    }
    // This thread is the client's own; nothing else waits for it. A client that has gone keeps its place until
    // what it asked for is done, so that nobody has more than so many commands carried out at once; but nothing is
    // waited for that was to be told to it.
    var isThere = true
    while true {
      switch outbox.next(within: Limits.controlLookMilliseconds) {
      case .line(let line):
        isThere = isThere && socket.writeLine(line, within: Limits.controlSendMillisecondsMax)
      case .nothingYet: isThere = isThere && !socket.hasHungUp
      case .end: return isThere && !outbox.hasOverflowed
      }
      if !isThere { task.cancel() }
    }
  }

  @discardableResult
  private func send(_ answer: JSON) -> Bool {
    socket.writeLine(answer.bytes(), within: Limits.controlSendMillisecondsMax)
  }

}

/// Lines on their way to a client: put in by the node, which never waits, taken out by the client's thread.
final class Outbox: Sendable {
  private struct State {
    var lines: [[UInt8]] = []
    /// How many of the lines have been taken out.
    var taken = 0
    var bytes = 0
    var isOver = false
    var hasOverflowed = false
  }

  private let state = Mutex(State())
  private let changed = DispatchSemaphore(value: 0)
  private let bytesMax: Int

  init(bytesMax: Int = Limits.controlQueueBytesMax) { self.bytesMax = bytesMax }

  func put(_ line: JSON) { put(line, isLast: false) }

  /// The last line; the one that may be as large as it is.
  func finish(_ line: JSON) { put(line, isLast: true) }

  private func put(_ line: JSON, isLast: Bool) {
    let bytes = line.bytes()
    state.withLock { state in
      if !isLast, state.bytes + bytes.count > bytesMax { state.hasOverflowed = true }
      if state.hasOverflowed {
        // Something is missing, so nothing that follows may look whole.
        (state.lines, state.taken, state.bytes) = ([], 0, 0)
      } else {
        state.lines.append(bytes)
        state.bytes += bytes.count
      }
      state.isOver = isLast
    }
    changed.signal()
    // Once for the line, once for the end behind it.
    if isLast { changed.signal() }
  }

  /// What waiting for a line came to.
  enum Next: Equatable {
    case line([UInt8])
    case nothingYet
    /// The last line has been taken.
    case end
  }

  /// The next line, once there is one.
  ///
  /// - Parameter within: milliseconds that it is waited for.
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

  /// Whether the client read too slowly to be told everything.
  var hasOverflowed: Bool { state.withLock { $0.hasOverflowed } }
}
