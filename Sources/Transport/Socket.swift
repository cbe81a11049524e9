import Platform
import Wire

/// A system call that failed, and its error code.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  package let call: String
  package let code: Int32

  package var description: String { "\(call): \(String(cString: strerror(code)))" }

  static func last(_ call: String) -> SystemError { SystemError(call: call, code: errno) }

  package var isAddressInUse: Bool { code == EADDRINUSE }
  var isMissingFamily: Bool { code == EAFNOSUPPORT || code == EADDRNOTAVAIL }
  var isTransientAccept: Bool { [ECONNABORTED, EINTR, EPROTO].contains(code) }
}

extension LinkEnd {
  init(connecting error: SystemError) {
    switch error.code {
    case ECONNREFUSED: self = .refused
    // The connection was established, and closed before this end noticed.
    case ECONNRESET: self = .handshakeFailed
    case ETIMEDOUT: self = .timeout
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL, EAFNOSUPPORT: self = .noRoute
    default: self = .failed(error)
    }
  }
}

/// The result of one read or write.
enum Transfer {
  case bytes(Int)
  case wouldBlock
  case failed(SystemError)
}

/// A non-blocking TCP or UDP socket. It is a plain value, so its creator must close it exactly once.
struct Socket: Sendable {
  let descriptor: Int32

  // MARK: Creation

  init(descriptor: Int32) { self.descriptor = descriptor }

  private init(family: Int32, isForDatagrams: Bool = false) throws(SystemError) {
    let descriptor = openSocket(family, isForDatagrams ? .datagram : .stream)
    guard descriptor >= 0 else { throw .last("socket") }
    self.descriptor = descriptor
    do throws(SystemError) {
      if isForDatagrams { try stopBlocking() } else { try prepare() }
    } catch {
      closeDescriptor()
      throw error
    }
  }

  /// Starts a connection. If `isConnected` is false, the connection has been established or has failed as soon as the
  /// socket is writable.
  static func connecting(
    to address: SocketAddress
  ) throws(SystemError) -> (socket: Socket, isConnected: Bool) {
    let socket = try Socket(family: address.family)
    let code = uninterrupted { address.withSocketAddress { connect(socket.descriptor, $0, $1) } }
    if code == 0 { return (socket, true) }
    if errno == EINPROGRESS { return (socket, false) }
    let error = SystemError.last("connect")
    socket.closeDescriptor()
    throw error
  }

  /// Returns a socket that accepts connections at an address.
  static func listening(on address: SocketAddress) throws(SystemError) -> Socket {
    let socket = try Socket(family: address.family)
    do throws(SystemError) {
      try socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
      // On the unspecified IPv6 address, one socket serves both families.
      if address.family == AF_INET6 { try socket.set(ipv6Level, IPV6_V6ONLY, 0) }
      guard address.withSocketAddress({ bind(socket.descriptor, $0, $1) }) == 0 else { throw .last("bind") }
      guard listen(socket.descriptor, Int32(Limits.acceptQueueMax)) == 0 else { throw .last("listen") }
    } catch {
      socket.closeDescriptor()
      throw error
    }
    return socket
  }

  /// Accepts the next waiting connection; nil if none is waiting.
  func accepted() throws(SystemError) -> (socket: Socket, address: SocketAddress)? {
    var result: Int32 = -1
    let address = SocketAddress.filled { storage, length in
      result = uninterrupted { accept(descriptor, storage, length) }
      return result >= 0
    }
    guard result >= 0 else {
      if errno == EAGAIN || errno == EWOULDBLOCK { return nil }
      throw .last("accept")
    }
    let socket = Socket(descriptor: result)
    do throws(SystemError) {
      guard prepareSocket(result) == 0 else { throw .last("accept") }
      try socket.prepare()
    } catch {
      socket.closeDescriptor()
      throw error
    }
    guard let address else {
      socket.closeDescriptor()
      throw SystemError(call: "accept", code: ECONNABORTED)
    }
    return (socket, address)
  }

  /// Returns a UDP socket bound to an address. With `isShared`, other processes on this machine may bind the same port.
  static func datagrams(on address: SocketAddress, isShared: Bool) throws(SystemError) -> Socket {
    let socket = try Socket(family: address.family, isForDatagrams: true)
    do throws(SystemError) {
      if isShared {
        try socket.set(SOL_SOCKET, sharesPort, 1)
        // The system's queue is kept short, so that reading it after a flood does not take seconds.
        try socket.set(SOL_SOCKET, SO_RCVBUF, Int32(Limits.beaconQueueBytesMax))
      }
      if address.family == AF_INET6 { try socket.set(ipv6Level, IPV6_V6ONLY, 1) }
      guard address.withSocketAddress({ bind(socket.descriptor, $0, $1) }) == 0 else { throw .last("bind") }
    } catch {
      socket.closeDescriptor()
      throw error
    }
    return socket
  }

  private func stopBlocking() throws(SystemError) {
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else { throw .last("fcntl") }
  }

  private func prepare() throws(SystemError) {
    try stopBlocking()
    try set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    // The system's send buffer can hold megabytes, which a small message would have to wait for.
    try set(Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, Int32(Limits.unsentBytesMax))
  }

  func set(_ level: Int32, _ option: Int32, _ value: Int32) throws(SystemError) {
    var value = value
    let size = socklen_t(MemoryLayout<Int32>.size)
    guard setsockopt(descriptor, level, option, &value, size) == 0 else { throw .last("setsockopt") }
  }

  // MARK: State

  /// Whether this process can still open a few more files in addition to this socket. This follows from the socket's
  /// number, because a new descriptor gets the lowest free number. A flood of connections must not prevent the owner
  /// from asking the node what is wrong.
  var leavesDescriptors: Bool {
    guard let limit = DescriptorLimit.current else { return true }
    return Int(descriptor) + Limits.reservedDescriptors < limit
  }

  /// Whether a read or an accept would succeed at once.
  var isReadable: Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return uninterrupted { poll(&watched, 1, 0) } > 0
  }

  /// The error of a connection attempt; nil if the attempt succeeded or is still in progress.
  var connectError: SystemError? {
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { return .last("getsockopt") }
    return code == 0 ? nil : SystemError(call: "connect", code: code)
  }

  var isConnected: Bool {
    SocketAddress.filled { getpeername(descriptor, $0, $1) == 0 } != nil
  }

  var localAddress: SocketAddress? {
    SocketAddress.filled { getsockname(descriptor, $0, $1) == 0 }
  }

  // MARK: Bytes

  /// Reads into the buffer; a result of zero bytes means the end of the stream.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    transfer("recv", uninterrupted { recv(descriptor, buffer.baseAddress, buffer.count, 0) })
  }

  func write(_ buffer: UnsafeRawBufferPointer) -> Transfer {
    transfer("send", uninterrupted { send(descriptor, buffer.baseAddress, buffer.count, quietSend) })
  }

  private func transfer(_ call: String, _ count: Int) -> Transfer {
    if count >= 0 { return .bytes(count) }
    if errno == EAGAIN || errno == EWOULDBLOCK { return .wouldBlock }
    return .failed(.last(call))
  }

  // MARK: Datagrams

  /// Sends a broadcast or multicast datagram that no router forwards; returns false if the system did not accept it.
  func sendDatagram(_ datagram: [UInt8], to address: SocketAddress, index: UInt32) -> Bool {
    do throws(SystemError) {
      if address.family == AF_INET6 {
        try set(ipv6Level, IPV6_MULTICAST_IF, Int32(bitPattern: index))
        try set(ipv6Level, IPV6_MULTICAST_HOPS, 1)
      } else {
        try set(SOL_SOCKET, SO_BROADCAST, 1)
        try set(Int32(IPPROTO_IP), IP_TTL, 1)
      }
    } catch {
      return false
    }
    let sent = uninterrupted {
      address.withSocketAddress { sendto(descriptor, datagram, datagram.count, 0, $0, $1) }
    }
    return sent == datagram.count
  }

  /// Receives the next available datagram, truncated to `bytesMax`; nil if there is none.
  func receive(atMost bytesMax: Int) -> (datagram: [UInt8], source: SocketAddress)? {
    var bytes = [UInt8](repeating: 0, count: bytesMax)
    var count = -1
    let source = SocketAddress.filled { address, length in
      count = uninterrupted { recvfrom(descriptor, &bytes, bytesMax, 0, address, length) }
      return count >= 0
    }
    guard let source, count >= 0 else { return nil }
    return (Array(bytes.prefix(count)), source)
  }

  /// Joins a multicast group on an interface; has no effect if the socket has already joined it.
  func join(_ group: SocketAddress, index: UInt32) {
    guard let host = group.hostBytes?.bytes else { return }
    var request = ipv6_mreq()
    withUnsafeMutableBytes(of: &request.ipv6mr_multiaddr) { $0.copyBytes(from: host) }
    request.ipv6mr_interface = .init(index)
    let size = socklen_t(MemoryLayout<ipv6_mreq>.size)
    _ = setsockopt(descriptor, ipv6Level, IPV6_JOIN_GROUP, &request, size)
  }

  /// Ends the sending direction; the peer's remaining data can still be read.
  func finishWriting() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  func closeDescriptor() { _ = close(descriptor) }
}

private let ipv6Level = Int32(IPPROTO_IPV6)
