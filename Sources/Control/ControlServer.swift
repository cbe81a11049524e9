import Dispatch
import Platform
import Home
import Synchronization
import Waymark
import Wire

/// Listens on the node's Unix socket and passes requests to the node. Accepts only clients of the same user.
///
/// Each client has a thread of its own, because its calls block. At most `Limits.controlClientsMax` clients are served
/// at a time.
final class ControlServer: Sendable {
  /// Answers one request; events are sent before the answer.
  typealias Handler =
    @Sendable (ControlRequest, CommandCall) async -> ControlReply
  /// Answers a request on the client's own thread. Returns nil if the request can't be answered there at the moment.
  typealias PromptHandler = @Sendable (ControlRequest) -> ControlReply?

  private struct State {
    var clients: [ObjectIdentifier: ControlConnection] = [:]
    var isStopped = false
  }

  private let path: String
  private let descriptor: Int32
  private let promptly: PromptHandler
  private let handler: Handler
  private let patience: Int64
  private let isAlive: @Sendable () -> Bool
  /// Signalled when a client has connected, and when the server stops.
  private let clientsCame = DispatchSemaphore(value: 0)
  private let state = Mutex(State())

  /// - Parameters:
  ///   - patience: milliseconds that a client may take to send a request.
  ///   - isAlive: returns whether the node is working or accepts work; the call may take a second. It is made about
  ///     every second while a client waits for an answer.
  /// - Throws: `WaymarkError` if the socket can't be created.
  init(
    at place: ControlSocketPath, patience: Int64 = Limits.controlRequestMillisecondsMax,
    promptly: @escaping PromptHandler = { _ in nil }, isAlive: @escaping @Sendable () -> Bool = { true },
    handler: @escaping Handler
  ) throws {
    path = place.path
    self.promptly = promptly
    self.handler = handler
    self.patience = patience
    self.isAlive = isAlive
    try place.clear()
    descriptor = openSocket(AF_UNIX, .stream)
    // No client can connect before `listen`, and by then the mode is set.
    guard descriptor >= 0, withSocketAddress(path, { bind(descriptor, $0, $1) }) == 0,
      chmod(path, 0o600) == 0,
      listen(descriptor, Int32(Limits.controlClientsMax)) == 0
    else {
      let why = systemReason()
      if descriptor >= 0 { close(descriptor) }
      throw WaymarkError.home(
        .unwritable, "The control socket \(path) can't be created: \(why.lowercased()).",
        next: "name another directory with --home")
    }
  }

  func start() {
    startThread { [self] in accept() }
    startThread { [self] in tellOfLife() }
  }

  var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Stops listening and hangs up on every client.
  func stop() {
    let clients = state.withLock { state -> [ControlConnection] in
      state.isStopped = true
      return Array(state.clients.values)
    }
    unlink(path)
    shutdown(descriptor, Int32(SHUT_RDWR))
    for client in clients { client.interrupt() }
    clientsCame.signal()
  }

  /// Sends signs of life about every second to clients that wait for an answer.
  private func tellOfLife() {
    while true {
      let (clients, isStopped) = state.withLock { (Array($0.clients.values), $0.isStopped) }
      guard !isStopped else { return }
      guard !clients.isEmpty else {
        // Without clients this thread sleeps.
        clientsCame.wait()
        continue
      }
      let waiting = clients.filter { $0.wantsLife(after: Limits.controlLifeMilliseconds / 2) }
      if !waiting.isEmpty, isAlive() { for client in waiting { client.tellOfLife() } }
      sleepThread(seconds: Double(Limits.controlLifeMilliseconds) / 1_000)
    }
  }

  private func accept() {
    while true {
      let client = Platform.accept(descriptor, nil, nil)
      let code = errno
      if state.withLock({ $0.isStopped }) {
        if client >= 0 { close(client) }
        break
      }
      guard client >= 0 else {
        if code == EINTR { continue }
        // Out of descriptors: wait until some are free instead of spinning.
        sleepThread(seconds: 0.1)
        continue
      }
      _ = prepareSocket(client)
      let socket = LineSocket(descriptor: client)
      guard let client = admit(socket) else { continue }
      startThread { [self] in serve(client) }
    }
    close(descriptor)
  }

  private func admit(_ socket: LineSocket) -> ControlConnection? {
    guard socket.peerUser == geteuid() else { return nil }
    let client = ControlConnection(socket, patience: patience, promptly, handler)
    let hasRoom = state.withLock { state in
      guard state.clients.count < Limits.controlClientsMax, !state.isStopped else { return false }
      state.clients[ObjectIdentifier(client)] = client
      return true
    }
    guard hasRoom else {
      // Don't wait for this client: all clients depend on this thread.
      socket.writeLine(ControlReply.failure(.busy).line, within: 0)
      return nil
    }
    clientsCame.signal()
    return client
  }

  private func serve(_ client: ControlConnection) {
    defer { _ = state.withLock { $0.clients.removeValue(forKey: ObjectIdentifier(client)) } }
    client.serve()
  }
}
