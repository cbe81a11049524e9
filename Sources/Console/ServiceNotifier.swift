import Platform

/// Reports the state of the program to systemd, in datagrams to the socket that `NOTIFY_SOCKET` names, as
/// `sd_notify(3)` does.
///
/// Does nothing if `NOTIFY_SOCKET` is not set. A message that can't be sent is dropped, because the program does
/// not depend on it.
package struct ServiceNotifier: Sendable {
  private let socketPath: String?
  /// The watchdog period: systemd ends a program that sends no sign of life for this long.
  package let watchdog: Duration?

  package init(environment: [String: String], process: Int32 = getpid()) {
    let path = environment["NOTIFY_SOCKET"] ?? ""
    // A path, or a name in the abstract namespace. Other kinds of address (vsock) are for virtual machines.
    socketPath = path.hasPrefix("/") || path.hasPrefix("@") ? path : nil
    let isForOther = environment["WATCHDOG_PID"].map { Int32($0) != process } ?? false
    watchdog =
      isForOther || socketPath == nil
      ? nil : environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? .microseconds($0) : nil }
  }

  package var hasSocket: Bool { socketPath != nil }

  /// Reports that the program is serving.
  package func ready(_ status: String) { send("READY=1\nSTATUS=\(printable(status))") }

  /// Sets the text that `systemctl status` shows.
  package func status(_ status: String) { send("STATUS=\(printable(status))") }

  package func alive() { send("WATCHDOG=1") }

  package func stopping(_ status: String) { send("STOPPING=1\nSTATUS=\(printable(status))") }

  /// Sends a message. Returns false if it could not be sent, or if there is no socket.
  @discardableResult
  package func send(_ message: String) -> Bool {
    guard let socketPath else { return false }
    let descriptor = openSocket(AF_UNIX, .datagram)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return Self.withAddress(socketPath) { address, length in
      let bytes = Array(message.utf8)
      return sendto(descriptor, bytes, bytes.count, quietSend, address, length) == bytes.count
    } ?? false
  }

  /// Calls the body with the socket address of a path or, if the path begins with `@`, of a name in the abstract
  /// namespace. Such a name begins with a zero byte and has none at its end; the length of the address says where the
  /// name ends. Returns nil if the path or name is too long.
  private static func withAddress<Result>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result? {
    var name = Array(path.utf8)
    if name.first == UInt8(ascii: "@") { name[0] = 0 } else { name.append(0) }
    var address = sockaddr_un()
    guard name.count <= MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let head = MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(head + name.count)) }
    }
  }
}
