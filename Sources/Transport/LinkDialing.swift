import Dispatch
import Synchronization

/// An attempt to dial an endpoint, whose addresses are tried one after the other.
struct Dial {
  let endpoint: Endpoint
  /// Returns the addresses of an endpoint that is not numeric.
  let resolve: @Sendable (Endpoint) -> [SocketAddress]
  var candidates: [SocketAddress] = []
  /// The deadline for all addresses together.
  var deadline: Int64 = 0
  /// The reason why the last address that was tried failed.
  var lastFailure = LinkEnd.unresolved
}

/// The queue on which names are resolved, because resolving a name may block for any length of time.
private let resolverQueue = DispatchQueue(label: "waymark.resolver", attributes: .concurrent)

extension Link {
  func beginDialing() {
    guard let endpoint = dial?.endpoint, let resolve = dial?.resolve else { return }
    stage = .connecting
    deadline = monotonicMilliseconds() + settings.limits.connectMilliseconds
    dial?.deadline = deadline
    let numeric = SocketAddress.resolve(endpoint, numericOnly: true)
    guard numeric.isEmpty else { return resolved(numeric) }
    dial?.lastFailure = .timeout
    resolverQueue.async {
      let found = resolve(endpoint)
      self.enqueue { $0.resolved(found) }
    }
  }

  private func resolved(_ addresses: [SocketAddress]) {
    guard stage == .connecting else { return }
    dial?.lastFailure = .unresolved
    dial?.candidates = addresses
    connectNext()
  }

  /// Tries the next address, which gets an equal share of the remaining time.
  private func connectNext() {
    socket?.end()
    socket = nil
    guard let current = dial, let address = current.candidates.first else {
      return end(dial?.lastFailure ?? .unresolved)
    }
    let now = monotonicMilliseconds()
    guard now < current.deadline else { return end(.timeout) }
    deadline = now + (current.deadline - now) / Int64(current.candidates.count)
    dial?.candidates.removeFirst()
    do throws(SystemError) {
      let (socket, isConnected) = try Socket.connecting(to: address)
      self.socket = watch(socket)
      shared.withLock { $0.remoteAddress = address }
      if isConnected { connected() } else { self.socket?.awaitWritable() }
    } catch {
      connectFailed(error)
    }
  }

  /// Called when the socket is writable: the connection has been established or has failed.
  func connected() {
    guard let socket else { return }
    if let error = socket.socket.connectError { return connectFailed(error) }
    // This is a late event of the previous socket, so keep waiting.
    guard socket.socket.isConnected else { return socket.awaitWritable() }
    dial = nil
    beginHandshake()
  }

  private func connectFailed(_ error: SystemError) {
    dial?.lastFailure = LinkEnd(connecting: error)
    connectNext()
  }

  func connectTimedOut() {
    if socket != nil { dial?.lastFailure = .timeout }
    connectNext()
  }
}
