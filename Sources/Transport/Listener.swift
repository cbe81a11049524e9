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
  /// The maximum number of connections of members.
  package var connectionsMax = Limits.connectionsMax
  /// The maximum number of connections with an authentic preamble and without an admission decision.
  package var handshakesMax = Limits.handshakesMax
  package var unrecognizedMax = Limits.unrecognizedMax
  /// The maximum number of connections from one address that are not admitted; loopback is exempt.
  package var connectionsPerAddressMax = Limits.connectionsPerAddressMax
  package var connectionsPerSiteMax = Limits.connectionsPerSiteMax
  package var connectionsPerNetworkMax = Limits.connectionsPerNetworkMax

  package init() {}

  /// How many connections of an origin may be not admitted, and how many handshakes it may begin in a second.
  func pendingMax(of origin: AddressOrigin) -> Int {
    switch origin.size {
    case .address: connectionsPerAddressMax
    case .site: connectionsPerSiteMax
    case .network: connectionsPerNetworkMax
    }
  }
}

/// Accepts connections and starts a responding link for each.
///
/// Every connection is accepted at once, and `AdmissionTable` decides which others have to end for it. Only if
/// descriptors run out and no stranger can be evicted does the system's accept queue hold connections for a while.
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

  /// Binds immediately; accepts connections from `start()` until `close()`.
  package init(
    on endpoint: Endpoint, role: ChannelRole, limits: ListenerLimits = ListenerLimits(),
    settings: LinkSettings<Message>, handlers: LinkHandlers<Message>
  ) throws {
    try self.init(
      on: endpoint, roleFor: { _ in role }, limits: limits, settings: settings, handlers: handlers)
  }

  /// - Parameters:
  ///   - roleFor: returns the channel role for a caller at an address.
  ///   - random: chooses the connections that are evicted.
  package init(
    on endpoint: Endpoint, roleFor: @escaping @Sendable (SocketAddress) -> ChannelRole,
    limits: ListenerLimits = ListenerLimits(), settings: LinkSettings<Message>,
    handlers: LinkHandlers<Message>,
    random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) throws {
    let (socket, address) = try boundSocket(endpoint)
    self.address = address
    self.roleFor = roleFor
    self.settings = settings
    self.handlers = handlers
    admission = Admission(limits, random: random)
    executor = QueueExecutor(label: "waymark.listener")
    bound = socket
  }

  package nonisolated func start() {
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
  ///
  /// - Parameter whenClosed: called once the address is free.
  package nonisolated func close(whenClosed: @escaping @Sendable () -> Void = {}) {
    enqueue {
      $0.end()
      whenClosed()
    }
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
      do throws(SystemError) {
        guard let (accepted, address) = try socket.socket.accepted() else { return socket.awaitReadable() }
        guard accepted.leavesDescriptors else { return acceptWithoutDescriptors(accepted, from: address) }
        begin(accepted, from: address)
      } catch {
        if error.isTransientAccept { continue }
        _ = admission.evictStranger()
        return acceptLater()
      }
    }
    enqueue { $0.acceptable() }
  }

  /// Called when the few descriptors that are left are reserved for the node's own files and its commands. The new
  /// connection takes the place of a stranger's, which needs a moment to end.
  private func acceptWithoutDescriptors(_ accepted: Socket, from address: SocketAddress) {
    guard admission.evictStranger() else {
      accepted.closeDescriptor()
      return acceptLater()
    }
    begin(accepted, from: address)
    acceptLater(milliseconds: 5)
  }

  /// Called when descriptors have run out. The listening socket stays readable, so waiting for readability would spin.
  private func acceptLater(milliseconds: Int64 = 200) {
    executor.after(milliseconds: milliseconds) { [weak self] in
      self?.assumeIsolated { $0.acceptable() }
    }
  }

  private func begin(_ accepted: Socket, from address: SocketAddress) {
    guard let slot = admission.enter(address) else { return accepted.closeDescriptor() }
    do {
      let link = try Link(
        accepted: accepted, from: address, role: roleFor(address), settings: settings, handlers: handlers,
        slot: slot)
      slot.onEviction { [weak link] stage in link?.enqueue { $0.evicted(from: stage) } }
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
