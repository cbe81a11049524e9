#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One address of a network interface of this machine.
package struct NetworkInterface: Hashable, Sendable {
  let name: String
  let flags: UInt32
  let address: SocketAddress
  let mask: SocketAddress?

  var isUp: Bool { flags & UInt32(IFF_UP) != 0 }
  var isRunning: Bool { flags & UInt32(IFF_RUNNING) != 0 }
  var isLoopback: Bool { flags & UInt32(IFF_LOOPBACK) != 0 }

  /// The address as numeric text.
  package var host: String { address.host }

  /// Every address of every interface, including those that are down; nil if the system can't list them now.
  package static var all: [NetworkInterface]? {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return nil }
    defer { freeifaddrs(list) }
    var found: [NetworkInterface] = []
    var next = list
    while let entry = next?.pointee {
      next = entry.ifa_next
      guard let address = SocketAddress(interface: entry.ifa_addr) else { continue }
      found.append(
        NetworkInterface(
          name: String(cString: entry.ifa_name), flags: entry.ifa_flags, address: address,
          mask: SocketAddress(interface: entry.ifa_netmask)))
    }
    return found
  }
}
