// Protocol/discovery.md, "What goes where" and step 1 of "Receiving".

import Dispatch

/// The UDP port on which beacons come in, of both families, and the way out.
///
/// Nothing that comes is answered here. Of a flood only so much is read; the rest the system drops.
package actor BeaconSockets {
  private nonisolated let executor: QueueExecutor
  private nonisolated let received: @Sendable ([UInt8], SocketAddress) -> Void
  private nonisolated let bound: [Socket]
  private var sockets: [WatchedSocket] = []
  private var isEnded = false
  private var allowance = ReceiveAllowance(now: monotonicMilliseconds())
  private var isWaiting = false

  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Binds at once; one family that the machine lacks is left out.
  ///
  /// - Parameter received: is called on a queue of these sockets, never more often than the limits say.
  package init(
    port: UInt16, received: @escaping @Sendable ([UInt8], SocketAddress) -> Void
  ) throws(SystemError) {
    var bound: [Socket] = []
    var failure: SystemError?
    for host in ["0.0.0.0", "::"] {
      guard let address = SocketAddress.numeric(host, port: port) else { continue }
      do throws(SystemError) {
        bound.append(try Socket.datagrams(on: address, isShared: true))
      } catch {
        if !error.isMissingFamily { failure = error }
      }
    }
    // One family without the other would find some and miss others, and nobody would know why.
    if let failure {
      for socket in bound { socket.closeDescriptor() }
      throw failure
    }
    guard !bound.isEmpty else { throw SystemError(call: "bind", code: failure?.code ?? 0) }
    self.bound = bound
    self.received = received
    executor = QueueExecutor(label: "waymark.beacons")
  }

  package nonisolated func start() { enqueue { $0.begin() } }

  package nonisolated func close() { enqueue { $0.end() } }

  /// Hears what is sent to all on the interfaces of these places, too.
  package nonisolated func join(_ places: [BeaconInterface]) {
    for socket in bound where socket.localAddress?.isIPv6 == true {
      for place in places where place.from.isIPv6 { socket.join(place.to, index: place.index) }
    }
  }

  /// Sends one datagram from a place; false if the system did not take it.
  @discardableResult
  package static func send(_ datagram: [UInt8], from place: BeaconInterface) -> Bool {
    // A socket for each: it is bound to an address that may be gone by the next round.
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

  /// More than any beacon has: what is longer is seen to be.
  private static let datagramBytesMax = 1_024
}
