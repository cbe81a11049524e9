import Foundation
import Platform
import Processes
import Synchronization

/// A port for a node that will be restarted on it.
enum FreePort {
  /// Below the range that systems assign to connections. An assigned port could be taken while the node is stopped:
  /// other tests open connections all the time.
  private static let range = 10_000..<32_000
  /// The ports that were picked before. While a node is stopped, its port looks free, but must not go to another node.
  private static let picked = Mutex<Set<Int>>([])

  /// A port of 127.0.0.1 where nothing listens, and that no other node of these tests has.
  static func pick() throws -> Int {
    for _ in 0..<1_000 {
      let port = Int.random(in: range)
      if picked.withLock({ $0.insert(port).inserted }), isFree(UInt16(port)) { return port }
    }
    throw Failure("no port of 127.0.0.1 in \(range) is free")
  }

  private static func isFree(_ port: UInt16) -> Bool {
    let descriptor = openSocket(AF_INET, .stream)
    defer { close(descriptor) }
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = port.bigEndian
    place.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    return withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
