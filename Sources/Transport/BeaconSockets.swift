// Protocol/discovery.md, "What goes where" and step 1 of "Receiving".

import Dispatch

/// Receives beacons on a port, with one UDP socket per address family, and sends beacons.
///
/// The sockets never answer a datagram. In a flood, they read only as many datagrams as the limits allow, and the
/// system drops the rest.
package actor BeaconSockets: BeaconCarrier {
  private nonisolated let executor: QueueExecutor
  private nonisolated let received: @Sendable ([UInt8], SocketAddress) -> Void
  private nonisolated let bound: [Socket]
  private var sockets: [WatchedSocket] = []
  private var isEnded = false
  private var allowance = ReceiveAllowance(now: monotonicMilliseconds())
  private var isWaiting = false

  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Binds the sockets immediately, and skips an address family that the machine lacks.
  ///
  /// - Parameter received: called on this actor's queue, at most as often as the limits allow.
  package init(
    port: UInt16, received: @escaping @Sendable ([UInt8], SocketAddress) -> Void
  ) throws(SystemError) {
    var bound: [Socket] = []
    var failure: SystemError?
    var missingFamily: SystemError?
    for host in ["0.0.0.0", "::"] {
      guard let address = SocketAddress.numeric(host, port: port) else { continue }
      do throws(SystemError) {
        bound.append(try Socket.datagrams(on: address, isShared: true))
      } catch {
        if error.isMissingFamily { missingFamily = error } else { failure = error }
      }
    }
    // With one family alone, some peers would be found and others missed, for no visible reason.
    if let failure {
      for socket in bound { socket.closeDescriptor() }
      throw failure
    }
    if bound.isEmpty, let missingFamily { throw missingFamily }
    self.bound = bound
    self.received = received
    executor = QueueExecutor(label: "waymark.beacons")
  }

  package nonisolated func start() { enqueue { $0.begin() } }

  /// - Parameter whenClosed: called once the sockets are closed.
  package nonisolated func close(whenClosed: @escaping @Sendable () -> Void = {}) {
    enqueue {
      $0.end()
      whenClosed()
    }
  }

  /// Joins the multicast group on these interfaces, so that beacons sent to the group are received too.
  package nonisolated func join(_ places: [BeaconInterface]) {
    for socket in bound where socket.localAddress?.isIPv6 == true {
      for place in places where place.from.isIPv6 { socket.join(place.to, index: place.index) }
    }
  }

  package nonisolated func send(_ beacons: [[UInt8]], from place: BeaconInterface) -> Int {
    beacons.count { Self.send($0, from: place) }
  }

  /// Does nothing: a datagram can't be withdrawn.
  package nonisolated func withdraw() {}

  /// Sends one datagram from an interface; returns false if the system did not accept it.
  @discardableResult
  package static func send(_ datagram: [UInt8], from place: BeaconInterface) -> Bool {
    // Each datagram gets its own socket, because the address that the socket is bound to may be gone by the next round.
    guard let socket = try? Socket.datagrams(on: place.from, isShared: false) else { return false }
    defer { socket.closeDescriptor() }
    return socket.sendDatagram(datagram, to: place.to, index: place.index)
  }

  private nonisolated func enqueue(_ body: @escaping @Sendable (isolated BeaconSockets) -> Void) {
    executor.async { self.assumeIsolated(body) }
  }

  private func begin() {
    guard !isEnded, sockets.isEmpty else { return }
    sockets = bound.map { socket in
      WatchedSocket(
        socket, executor, .init(readable: { [weak self] in self?.assumeIsolated { $0.readable() } }))
    }
    for socket in sockets { socket.awaitReadable() }
  }

  private func end() {
    guard !isEnded else { return }
    isEnded = true
    if sockets.isEmpty { for socket in bound { socket.closeDescriptor() } }
    for socket in sockets { socket.end() }
    sockets = []
  }

  private func readable() {
    guard !isWaiting else { return }
    for socket in sockets {
      while true {
        if let wait = allowance.take(now: monotonicMilliseconds()) { return readLater(wait) }
        guard let (datagram, source) = socket.socket.receive(atMost: Self.datagramBytesMax) else { break }
        received(datagram, source)
      }
      socket.awaitReadable()
    }
  }

  private func readLater(_ milliseconds: Int64) {
    isWaiting = true
    executor.after(milliseconds: milliseconds) { [weak self] in
      self?.assumeIsolated {
        $0.isWaiting = false
        $0.readable()
      }
    }
  }

  /// The size of the receive buffer. It exceeds every beacon, so that a longer datagram is recognised as too long.
  private static let datagramBytesMax = 1_024
}
