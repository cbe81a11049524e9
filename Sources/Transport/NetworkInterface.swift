import Platform
import Wire

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

  /// The addresses of the network that the interface is in; nil if the system gives no mask.
  var network: AddressRange? {
    guard isUp, let prefix = address.hostBytes?.bytes, let mask = mask?.hostBytes?.bytes else { return nil }
    let four = address.family == AF_INET ? [UInt8](repeating: 0xff, count: 12) + mask.suffix(4) : mask
    // An interface without a real mask must not make the whole Internet a neighbour.
    guard four.prefix(address.family == AF_INET ? 13 : 4).allSatisfy({ $0 == 0xff }) else { return nil }
    return AddressRange(prefix: prefix, mask: four)
  }

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
          mask: SocketAddress(interface: entry.ifa_netmask, family: address.family)))
    }
    return found
  }
}
