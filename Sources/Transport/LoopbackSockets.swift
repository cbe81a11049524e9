import Platform
import Synchronization
import Wire

// Blocking sockets on loopback, without a channel: for a server that serves programs on this machine, each on a thread
// of its own. All deadlines are in milliseconds of `monotonicMilliseconds()`.

/// Accepts connections on loopback.
package final class LoopbackListener: Sendable {
  /// The address that the listener is bound to, with the port that the system chose if the requested one was 0.
  package let address: SocketAddress

  private let socket: Socket
  private let waker: Waker
  private let isClosed = Atomic(false)

  /// Whether an address means loopback and nothing else: `127.0.0.1` or `::1`.
  package static func mayListen(on endpoint: Endpoint) -> Bool {
    ["127.0.0.1", "::1"].contains(endpoint.host)
  }

  /// Binds at once.
  package init(on endpoint: Endpoint) throws(ListenError) {
    guard Self.mayListen(on: endpoint),
      let wanted = SocketAddress.numeric(endpoint.host, port: endpoint.port)
    else { throw .notHere(endpoint) }
    do throws(SystemError) {
      waker = try Waker()
      socket = try Socket.listening(on: wanted)
    } catch {
      if error.isAddressInUse { throw .addressInUse(endpoint) }
      throw error.isMissingFamily ? .notHere(endpoint) : .failed(endpoint, error)
    }
    guard let bound = socket.localAddress else {
      socket.closeDescriptor()
      throw .notHere(endpoint)
    }
    address = bound
  }

  deinit { close() }

  /// Frees the port. Only the thread that accepts may call this, and not accept any more.
  package func close() {
    if !isClosed.exchange(true, ordering: .acquiringAndReleasing) { socket.closeDescriptor() }
  }

  /// Waits for the next connection; nil if there was none until the deadline, or when `wake` was called.
  package func accept(until deadline: Int64) -> LoopbackConnection? {
    guard waker.wait(for: Int16(POLLIN), on: socket, until: deadline) == .ready else { return nil }
    guard let accepted = try? socket.accepted() else {
      // Out of descriptors: wait until some are free instead of spinning.
      _ = waker.wait(for: 0, on: socket, until: min(deadline, monotonicMilliseconds() + 100))
      return nil
    }
    guard accepted.socket.leavesDescriptors, let connection = try? LoopbackConnection(accepted.socket) else {
      accepted.socket.closeDescriptor()
      return nil
    }
    return connection
  }

  /// Ends the current or the next `accept`.
  package func wake() { waker.wake() }
}

/// A connection on loopback. One thread at a time reads and writes; any thread may call `wake` and `interrupt`.
package final class LoopbackConnection: Sendable {
  private let socket: Socket
  private let waker: Waker

  init(_ socket: Socket) throws(SystemError) {
    waker = try Waker()
    // Otherwise the system would keep megabytes for an end that does not read.
    try socket.set(SOL_SOCKET, SO_SNDBUF, Int32(Limits.unsentBytesMax))
    self.socket = socket
  }

  deinit { socket.closeDescriptor() }

  package enum ReadResult: Equatable, Sendable {
    case bytes([UInt8])
    case late
    /// The other end has finished or hung up, or `wake` was called.
    case end
  }

  /// Reads what has arrived, or waits for it.
  package func read(atMost bytesMax: Int, until deadline: Int64) -> ReadResult {
    while true {
      switch waker.wait(for: Int16(POLLIN), on: socket, until: deadline) {
      case .late: return .late
      case .woken: return .end
      case .ready: break
      }
      var buffer = [UInt8](repeating: 0, count: bytesMax)
      switch buffer.withUnsafeMutableBytes({ socket.read(into: $0) }) {
      case .bytes(let count): return count == 0 ? .end : .bytes(Array(buffer.prefix(count)))
      case .wouldBlock: continue
      case .failed: return .end
      }
    }
  }

  /// Writes all bytes. Returns false if the other end has hung up, or has not taken them until the deadline.
  package func write(_ bytes: [UInt8], until deadline: Int64) -> Bool {
    var sent = 0
    while sent < bytes.count {
      switch bytes[sent...].withUnsafeBytes({ socket.write($0) }) {
      case .bytes(let count): sent += count
      case .failed: return false
      case .wouldBlock:
        var watched = pollfd(fd: socket.descriptor, events: Int16(POLLOUT), revents: 0)
        let left = deadline - monotonicMilliseconds()
        guard left > 0 else { return false }
        if poll(&watched, 1, Int32(clamping: left)) < 0, errno != EINTR { return false }
      }
    }
    return true
  }

  package enum Event: Equatable, Sendable {
    case woken
    case late
    /// The other end has finished or hung up.
    case end
  }

  /// Waits until `wake` is called or the other end hangs up. What the other end sends is discarded.
  package func waitForWake(until deadline: Int64) -> Event {
    while true {
      switch waker.wait(for: Int16(POLLIN), on: socket, until: deadline) {
      case .late: return .late
      case .woken: return .woken
      case .ready: if !discard() { return .end }
      }
    }
  }

  package func wake() { waker.wake() }

  /// Whether the other end has closed the connection, or finished writing. A browser does neither before it has read the
  /// response.
  package var hasHungUp: Bool {
    var byte: UInt8 = 0
    let count = recv(socket.descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    return count == 0 || count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR
  }

  /// Tells the other end that nothing follows, and waits until it has read everything, or until the deadline. Closing
  /// at once would make the system discard a response that it has not delivered, if more of a request has arrived.
  package func finish(until deadline: Int64) {
    socket.finishWriting()
    _ = discard()
    while waitForWake(until: deadline) == .woken {}
  }

  /// Reads a part of what has arrived. Returns false if the other end has finished or hung up.
  private func discard() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    return switch buffer.withUnsafeMutableBytes({ socket.read(into: $0) }) {
    case .bytes(let count): count > 0
    case .wouldBlock: true
    case .failed: false
    }
  }

  /// Ends the connection for both directions, and wakes the thread that waits for it.
  package func interrupt() { _ = shutdown(socket.descriptor, Int32(SHUT_RDWR)) }
}

/// A pipe that ends the wait for a socket.
private final class Waker: Sendable {
  private let reader: Int32
  private let writer: Int32

  init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw .last("pipe") }
    for end in ends {
      _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    (reader, writer) = (ends[0], ends[1])
  }

  deinit {
    close(reader)
    close(writer)
  }

  func wake() {
    var byte: UInt8 = 1
    _ = write(writer, &byte, 1)
  }

  enum Outcome {
    case ready
    case woken
    case late
  }

  /// Waits for events on a socket, or until `wake` was called since the last wait that returned `woken`.
  func wait(for events: Int16, on socket: Socket, until deadline: Int64) -> Outcome {
    while true {
      let left = deadline - monotonicMilliseconds()
      var watched = [
        pollfd(fd: reader, events: Int16(POLLIN), revents: 0),
        pollfd(fd: socket.descriptor, events: events, revents: 0),
      ]
      let count = poll(&watched, 2, Int32(clamping: max(0, left)))
      if count < 0, errno == EINTR { continue }
      if watched[0].revents != 0 {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(reader, &bytes, bytes.count) == bytes.count {}
        return .woken
      }
      // Also if the socket is ready: an end that never stops sending gets no more time than any other.
      if left <= 0 || count < 0 { return .late }
      if watched[1].revents != 0 { return .ready }
    }
  }
}
