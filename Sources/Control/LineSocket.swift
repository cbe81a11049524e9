import Home
import Platform
import Sodium
import Waymark
import Wire

/// A blocking Unix socket that carries lines of JSON. Only one thread at a time may use it.
final class LineSocket: @unchecked Sendable {
  private let descriptor: Int32
  private var buffer: [UInt8] = []

  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Connects to the node that listens at a path. Returns nil if no node of this user listens there.
  ///
  /// - Throws: `QueueFull`
  static func connect(to place: ControlSocketPath) throws -> LineSocket? {
    guard place.isSocketOfThisUser, let socket = try connect(to: place.path) else { return nil }
    return socket.peerUser == geteuid() ? socket : nil
  }

  /// Connects to a node's socket. Returns nil if no node listens there.
  ///
  /// - Throws: `QueueFull` if the node has not accepted earlier clients for some seconds.
  static func connect(to path: String) throws -> LineSocket? {
    let descriptor = openSocket(AF_UNIX, .stream)
    guard descriptor >= 0 else { return nil }
    // Connecting blocks if the queue of the socket is full; a suspended node never empties it.
    var patience = timeval(tv_sec: Int(Limits.controlSilenceMillisecondsMax / 1_000), tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    guard withSocketAddress(path, { Platform.connect(descriptor, $0, $1) }) == 0 else {
      let code = errno
      close(descriptor)
      if code == EAGAIN || code == EINPROGRESS { throw QueueFull() }
      return nil
    }
    patience = timeval(tv_sec: 0, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    return LineSocket(descriptor: descriptor)
  }

  /// Too many clients are waiting for the node to accept them.
  struct QueueFull: Error {}

  /// The user of the process at the other end.
  var peerUser: uid_t? { SocketPeer(of: descriptor)?.user }

  /// The process at the other end; nil if the system does not report it.
  var peerProcess: Int32? { SocketPeer(of: descriptor)?.process }

  /// The outcome of reading a line.
  enum ReadResult: Equatable {
    /// The line, without its line break.
    case line([UInt8])
    /// The line is longer than allowed.
    case tooLong
    /// The line did not arrive in time.
    case late
    /// The other end has hung up; an incomplete line is lost.
    case end
  }

  /// Reads the next line.
  ///
  /// - Parameters:
  ///   - within: the time for the whole line in milliseconds, not counting time in which the machine sleeps; nil for
  ///     no limit.
  ///   - renews: whether the time limit starts again whenever a part of the line arrives.
  func readLine(bytesMax: Int, within milliseconds: Int64? = nil, renews: Bool = false) -> ReadResult {
    func end() -> SuspendingClock.Instant? { milliseconds.map { .now + .milliseconds($0) } }
    var deadline = end()
    var scanned = 0
    while true {
      if let end = buffer[scanned...].firstIndex(of: UInt8(ascii: "\n")) {
        guard end <= bytesMax else { return .tooLong }
        let line = Array(buffer[..<end])
        take(end + 1)
        return .line(line)
      }
      scanned = buffer.count
      guard scanned <= bytesMax else { return .tooLong }
      guard waits(for: Int16(POLLIN), until: deadline) else { return .late }
      guard fill() else { return .end }
      if renews { deadline = end() }
    }
  }

  /// Removes bytes from the start of the buffer, and wipes them from memory because they may contain a passphrase.
  private func take(_ count: Int) {
    let rest = Array(buffer[count...])
    wipe(&buffer)
    buffer = rest
  }

  private func fill() -> Bool {
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    defer { wipe(&chunk) }
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      buffer.append(contentsOf: chunk[..<count])
      return true
    }
  }

  /// Waits until the socket is ready. Returns false if the deadline passes first.
  private func waits(for events: Int16, until deadline: SuspendingClock.Instant?) -> Bool {
    while true {
      var left: Int32 = -1
      if let deadline { left = Int32(clamping: max(0, (deadline - .now).wholeMilliseconds)) }
      var wanted = pollfd(fd: descriptor, events: events, revents: 0)
      let code = poll(&wanted, 1, left)
      if code < 0, errno == EINTR { continue }
      return code != 0
    }
  }

  /// Writes a line. Returns false if the other end has hung up, or reads nothing for too long.
  ///
  /// - Parameter within: the milliseconds in which the other end must read at least some bytes; nil for no limit.
  @discardableResult
  func writeLine(_ line: [UInt8], within milliseconds: Int64? = nil) -> Bool {
    write(line + [UInt8(ascii: "\n")], within: milliseconds)
  }

  /// Writes bytes that need not be a complete line; otherwise like `writeLine`.
  @discardableResult
  func write(_ bytes: [UInt8], within milliseconds: Int64? = nil) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, quietSend | Int32(MSG_DONTWAIT))
      }
      if count > 0 {
        sent += count
        continue
      }
      if errno == EINTR { continue }
      guard errno == EAGAIN else { return false }
      let deadline = milliseconds.map { SuspendingClock.now + .milliseconds($0) }
      guard waits(for: Int16(POLLOUT), until: deadline) else { return false }
    }
    return true
  }

  /// Sends a line that holds a secret, and keeps no copy of the secret in this process.
  func writeSecret(_ mark: [UInt8], _ secret: borrowing SecretBuffer) -> Bool {
    var line: [UInt8] = []
    line.reserveCapacity(mark.count + secret.count + 1)
    defer { wipe(&line) }
    line += mark
    for index in 0..<secret.count { line.append(secret[index]) }
    line.append(UInt8(ascii: "\n"))
    return line.withUnsafeBytes {
      send(descriptor, $0.baseAddress, $0.count, quietSend) == $0.count
    }
  }

  /// Whether the other end has closed the connection. An end that has only finished writing can still read, so it does
  /// not count as closed.
  var hasHungUp: Bool {
    var wanted = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&wanted, 1, 0) > 0 && wanted.revents & Int16(POLLHUP | POLLERR) != 0
  }

  /// Wakes a thread that waits in `readLine`.
  func interrupt() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// Calls the body with the socket address of a path; -1 if the path is too long for one.
func withSocketAddress(
  _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  let bytes = Array(path.utf8)
  guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return -1 }
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
  return withUnsafePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
}
