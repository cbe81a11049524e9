import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A blocking Unix socket that carries lines of JSON. It belongs to one thread at a time.
final class LineSocket: @unchecked Sendable {
  private let descriptor: Int32
  private var buffer: [UInt8] = []

  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Connects to a node's socket; nil if nobody listens there.
  static func connect(to path: String) -> LineSocket? {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    guard withSocketAddress(path, { Glibc.connect(descriptor, $0, $1) }) == 0 else {
      close(descriptor)
      return nil
    }
    return LineSocket(descriptor: descriptor)
  }

  /// The user at the other end.
  var peerUser: uid_t? {
    #if canImport(Glibc)
      // struct ucred { pid, uid, gid }: behind a feature macro that the import does not set.
      var credentials: [UInt32] = [0, 0, 0]
      var length = socklen_t(12)
      guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0, length == 12
      else { return nil }
      return credentials[1]
    #else
      var user: uid_t = 0
      var group: gid_t = 0
      return getpeereid(descriptor, &user, &group) == 0 ? user : nil
    #endif
  }

  /// The next line without its end; nil at the end of the stream or if it is longer than `bytesMax`.
  func readLine(bytesMax: Int) -> [UInt8]? {
    var scanned = 0
    while true {
      if let end = buffer[scanned...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = Array(buffer[..<end])
        buffer.removeFirst(end + 1)
        return line
      }
      scanned = buffer.count
      guard scanned <= bytesMax, fill() else { return nil }
    }
  }

  private func fill() -> Bool {
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      buffer.append(contentsOf: chunk[..<count])
      return true
    }
  }

  /// False if the other end is gone.
  @discardableResult
  func writeLine(_ line: [UInt8]) -> Bool {
    let bytes = line + [UInt8(ascii: "\n")]
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// Wakes a thread that waits in `readLine`.
  func interrupt() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// Calls with the socket address of a path; -1 if the path is too long for one.
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
