import Dispatch
package import SecureChannel
import Synchronization
import Wire

/// The reason why a node can't listen.
package enum ListenError: Error, Hashable, Sendable {
  case addressInUse(Endpoint)
  /// The address does not belong to this machine, or the name does not resolve.
  case notHere(Endpoint)
  case failed(Endpoint, SystemError)
}

/// The limits of a listener. They come from `Limits` unless a test sets others.
package struct ListenerLimits: Sendable {
  package var connectionsMax = Limits.connectionsMax
  package var unauthenticatedMax = Limits.unauthenticatedMax
  /// The maximum number of connections from one address; loopback is exempt.
  package var connectionsPerAddressMax = Limits.connectionsPerAddressMax
  /// How long an unadmitted connection may keep its slot although others are waiting for it.
  package var sureMilliseconds = Limits.unauthenticatedSureMilliseconds

  package init() {}
}

/// Accepts connections and starts a responding link for each.
///
/// The system's accept queue is the waiting room: while too many connections are unadmitted, or descriptors run
/// out, nothing is accepted, and the listener retries by itself. If a connection is waiting in the queue, the one that
/// has been unadmitted longest is evicted once its guaranteed time has passed.
package actor Listener<Message: Sendable> {
  /// The address that the listener is bound to, with the port that the system chose if the requested port was 0.
  package nonisolated let address: SocketAddress

  private nonisolated let executor: QueueExecutor
  private nonisolated let roleFor: @Sendable (SocketAddress) -> ChannelRole
  private nonisolated let settings: LinkSettings<Message>
  private nonisolated let handlers: LinkHandlers<Message>
  private nonisolated let admission: Admission
  private nonisolated let bound: Socket
  private var hasBegun = false
  private var socket: WatchedSocket?

  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var isRetryScheduled = false

  /// Binds immediately; accepts connections from `start()` until `close()`. For pairing, the role's `presharedKey`
  /// returns a ticket's key.
  package init(
    on endpoint: Endpoint, role: ChannelRole, limits: ListenerLimits = ListenerLimits(),
    settings: LinkSettings<Message>, handlers: LinkHandlers<Message>
  ) throws {
    try self.init(
      on: endpoint, roleFor: { _ in role }, limits: limits, settings: settings, handlers: handlers)
  }

  /// - Parameter roleFor: returns the channel role for a caller at an address.
  package init(
    on endpoint: Endpoint, roleFor: @escaping @Sendable (SocketAddress) -> ChannelRole,
    limits: ListenerLimits = ListenerLimits(), settings: LinkSettings<Message>,
    handlers: LinkHandlers<Message>
  ) throws {
    let (socket, address) = try boundSocket(endpoint)
    self.address = address
    self.roleFor = roleFor
    self.settings = settings
    self.handlers = handlers
    admission = Admission(limits)
    executor = QueueExecutor(label: "waymark.listener")
    bound = socket
  }

  package nonisolated func start() {
    admission.whenFree { [weak self] in self?.enqueue { $0.acceptable() } }
    enqueue { $0.begin() }
  }

  private func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    socket = WatchedSocket(
      bound, executor, .init(readable: { [weak self] in self?.assumeIsolated { $0.acceptable() } }))
    acceptable()
  }

  /// Stops accepting connections; existing links continue.
  package nonisolated func close() {
    enqueue { $0.end() }
  }

  private func end() {
    if !hasBegun { bound.closeDescriptor() }
    hasBegun = true
    socket?.end()
    socket = nil
  }

  private nonisolated func enqueue(_ body: @escaping @Sendable (isolated Listener) -> Void) {
    executor.async { self.assumeIsolated(body) }
  }

  private func acceptable() {
    for _ in 0..<64 {
      guard let socket else { return }
      guard admission.hasRoom else { return makeRoom() }
      do throws(SystemError) {
        guard let (accepted, address) = try socket.socket.accepted() else { return socket.awaitReadable() }
        guard accepted.leavesDescriptors else {
          accepted.closeDescriptor()
          return acceptLater()
        }
        begin(accepted, from: address)
      } catch {
        if error.isTransientAccept { continue }
        return acceptLater()
      }
    }
    enqueue { $0.acceptable() }
  }

  /// Called when unadmitted connections hold all slots. If another connection is waiting, evicts the oldest unadmitted
  /// one once its guaranteed time has passed; the listener is notified when the slot is free.
  private func makeRoom() {
    guard let socket, !isRetryScheduled else { return }
    guard socket.socket.isReadable else { return socket.awaitReadable() }
    guard let wait = admission.makeRoom(at: monotonicMilliseconds()) else { return }
    isRetryScheduled = true
    executor.after(milliseconds: wait) { [weak self] in
      self?.assumeIsolated {
        $0.isRetryScheduled = false
        $0.acceptable()
      }
    }
  }

  /// Called when descriptors have run out, or the few that are left are reserved for the node's own files and its
  /// commands. The listening socket stays readable, so waiting for readability would spin.
  private func acceptLater() {
    executor.after(milliseconds: 200) { [weak self] in
      self?.assumeIsolated { $0.acceptable() }
    }
  }

  private func begin(_ accepted: Socket, from address: SocketAddress) {
    guard let slot = admission.enter(address) else { return accepted.closeDescriptor() }
    do {
      let link = try Link(
        accepted: accepted, from: address, role: roleFor(address), settings: settings, handlers: handlers,
        slot: slot)
      slot.onEviction { [weak link] in link?.enqueue { $0.end(.timeout) } }
      link.start()
    } catch {
      accepted.closeDescriptor()
      slot.leave()
    }
  }
}

private func boundSocket(_ endpoint: Endpoint) throws(ListenError) -> (Socket, SocketAddress) {
  var failure: ListenError = .notHere(endpoint)
  // On a machine without IPv6, "every address" means every IPv4 address.
  let unspecified = endpoint.host == "::" ? [Endpoint(host: "0.0.0.0", port: endpoint.port)] : []
  for place in [endpoint] + unspecified {
    for address in SocketAddress.resolve(place, numericOnly: false) {
      do throws(SystemError) {
        let socket = try Socket.listening(on: address)
        guard let bound = socket.localAddress else {
          socket.closeDescriptor()
          continue
        }
        return (socket, bound)
      } catch {
        if error.isAddressInUse { throw .addressInUse(endpoint) }
        failure = error.isMissingFamily ? .notHere(endpoint) : .failed(endpoint, error)
      }
    }
  }
  throw failure
}
