import Dispatch
package import SecureChannel
import Synchronization
import Wire

/// Why a node can't listen.
package enum ListenError: Error, Hashable, Sendable {
  case addressInUse(Endpoint)
  /// The address is none of this machine's, or the name has none.
  case notHere(Endpoint)
  case failed(Endpoint, SystemError)
}

/// The numbers of a listener; all from `Limits` unless a test wants others.
package struct ListenerLimits: Sendable {
  package var connectionsMax = Limits.connectionsMax
  package var unauthenticatedMax = Limits.unauthenticatedMax
  /// Loopback is exempt.
  package var connectionsPerAddressMax = Limits.connectionsPerAddressMax
  /// How long a connection may shake hands although others wait for its place.
  package var sureMilliseconds = Limits.unauthenticatedSureMilliseconds

  package init() {}
}

/// Accepts connections and starts a responding link for each.
///
/// The system's queue is the waiting room: while too many are unjudged, or there are no descriptors, nothing is
/// accepted, and the listener looks again by itself. If someone waits there, the connection that has been unjudged
/// longest gives way once it has had its time.
package actor Listener<Message: Sendable> {
  /// The address in use, with the port that the system chose if that was 0.
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

  private var isLookingAgain = false

  /// Binds at once; accepts from `start()` on, until `close()`. Pairing asks `presharedKey` for a ticket's key.
  package init(
    on endpoint: Endpoint, role: ChannelRole, limits: ListenerLimits = ListenerLimits(),
    settings: LinkSettings<Message>, handlers: LinkHandlers<Message>
  ) throws {
    try self.init(
      on: endpoint, roleFor: { _ in role }, limits: limits, settings: settings, handlers: handlers)
  }

  /// - Parameter roleFor: what to answer a caller at that address.
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

  /// Accepts no more; links that exist go on.
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

  /// All places are taken by connections that nobody has judged. Whoever has had its time gives way to one that
  /// waits; when that has left, the listener is told.
  private func makeRoom() {
    guard let socket, !isLookingAgain else { return }
    guard socket.socket.isReadable else { return socket.awaitReadable() }
    guard let wait = admission.makeRoom(at: monotonicMilliseconds()) else { return }
    isLookingAgain = true
    executor.after(milliseconds: wait) { [weak self] in
      self?.assumeIsolated {
        $0.isLookingAgain = false
        $0.acceptable()
      }
    }
  }

  /// Out of descriptors, or so few are left that the node's own files and its commands need them: the connection
  /// stays readable, so waiting for it would spin.
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
  // Where a machine has no IPv6, "every address" is that of IPv4.
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
