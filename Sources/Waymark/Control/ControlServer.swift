import Foundation
import Synchronization
import Wire

/// Listens on the node's Unix socket and hands requests to it. Clients of the same user only.
///
/// Each client has a thread of its own, because it blocks; there are at most `Limits.controlClientsMax`.
final class ControlServer: Sendable {
  /// Answers one request; events go out before the answer.
  typealias Handler =
    @Sendable (CommandRequest, _ events: @escaping @Sendable (JSON) -> Void) async -> JSON

  private struct State {
    var clients: [ObjectIdentifier: LineSocket] = [:]
    var isStopped = false
  }

  private let path: String
  private let descriptor: Int32
  private let handler: Handler
  private let state = Mutex(State())

  /// - Throws: `HomeError` if the socket can't be made.
  init(path: String, handler: @escaping Handler) throws {
    self.path = path
    self.handler = handler
    unlink(path)
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let mask = umask(0o177)
    let bound = withSocketAddress(path) { bind(descriptor, $0, $1) }
    umask(mask)
    guard descriptor >= 0, bound == 0, listen(descriptor, 16) == 0 else {
      let why = reason()
      if descriptor >= 0 { close(descriptor) }
      throw HomeError(.unwritable, "The control socket \(path) can't be made: \(why).")
    }
  }

  func start() {
    Thread.detachNewThread { [self] in accept() }
  }

  /// Stops listening and hangs up on every client.
  func stop() {
    let clients = state.withLock { state -> [LineSocket] in
      state.isStopped = true
      return Array(state.clients.values)
    }
    unlink(path)
    shutdown(descriptor, Int32(SHUT_RDWR))
    for client in clients { client.interrupt() }
  }

  private func accept() {
    while true {
      let client = Glibc.accept(descriptor, nil, nil)
      if state.withLock({ $0.isStopped }) {
        if client >= 0 { close(client) }
        break
      }
      guard client >= 0 else {
        if errno == EINTR { continue }
        // Out of descriptors: wait for some to come free instead of spinning.
        Thread.sleep(forTimeInterval: 0.1)
        continue
      }
      let socket = LineSocket(descriptor: client)
      guard admit(socket) else { continue }
      Thread.detachNewThread { [self] in serve(socket) }
    }
    close(descriptor)
  }

  private func admit(_ socket: LineSocket) -> Bool {
    guard socket.peerUser == geteuid() else { return false }
    return state.withLock { state in
      guard state.clients.count < Limits.controlClientsMax, !state.isStopped else { return false }
      state.clients[ObjectIdentifier(socket)] = socket
      return true
    }
  }

  private func serve(_ socket: LineSocket) {
    defer { _ = state.withLock { $0.clients.removeValue(forKey: ObjectIdentifier(socket)) } }
    while let line = socket.readLine(bytesMax: Limits.controlBytesMax) {
      let answer = answer(to: line) { socket.writeLine($0.bytes()) }
      guard socket.writeLine(answer.bytes()) else { return }
    }
  }

  private func answer(to line: [UInt8], events: @escaping @Sendable (JSON) -> Void) -> JSON {
    guard let json = try? JSON.parse(line), let request = CommandRequest(json: json) else {
      return CommandFailure.usage("The control socket takes one JSON request a line.").json
    }
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<JSON>(.null)
    let handler = handler
    Task {
      let answer = await handler(request) { events(["type": "event", "event": $0]) }
      result.withLock { $0 = answer }
      done.signal()
    }
    // This thread is the client's own; nothing else waits for it.
    done.wait()
    return result.withLock { $0 }
  }
}
