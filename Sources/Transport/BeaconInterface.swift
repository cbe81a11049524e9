// Protocol/discovery.md, "What goes where".

import Platform
package import Wire

/// The address of an interface from which beacons are sent, and the broadcast or multicast address that they go to.
package struct BeaconInterface: Hashable, Sendable {
  /// The system's name for the interface.
  package let interface: String
  /// The system's number for the interface.
  package let index: UInt32
  let from: SocketAddress
  let to: SocketAddress

  /// The address that receivers see as the sender's.
  package var host: Bytes16? { from.hostBytes }

  /// The multicast group that every Waymark node on an IPv6 link joins.
  static let group = "ff12::5741:594d"

  /// Returns the interfaces from which this machine can send beacons now, in a stable order; loopback only if there
  /// are no others.
  ///
  /// - Parameter listening: the address that the node listens on. The result leaves out interfaces through whose
  ///   address the node can't be reached.
  package static func all(
    listening: SocketAddress, port: UInt16, of interfaces: [NetworkInterface] = NetworkInterface.all ?? []
  ) -> [BeaconInterface] {
    let found = interfaces.filter { $0.isUp && $0.isRunning }
    var places = found.filter { !$0.isLoopback }.compactMap { $0.place(port: port) }
    places = places.filter { $0.canReach(listening) }
    let four = places.filter { $0.from.family == AF_INET }.prefix(Limits.beaconInterfacesMax)
    let six = places.filter { $0.from.family != AF_INET }.prefix(Limits.beaconInterfacesMax)
    guard four.isEmpty, six.isEmpty else { return Array(six) + Array(four) }
    return found.filter(\.isLoopback).compactMap { $0.place(port: port) }.filter { $0.canReach(listening) }
  }

  /// Whether dialling this interface's address reaches a listener on `listening`.
  private func canReach(_ listening: SocketAddress) -> Bool {
    guard listening.isUnspecified else { return listening.host == from.host }
    return listening.family != AF_INET || from.family == AF_INET
  }
}

extension NetworkInterface {
  func place(port: UInt16) -> BeaconInterface? {
    let index = if_nametoindex(name)
    let target: SocketAddress?
    if address.family == AF_INET {
      guard isLoopback || flags & UInt32(IFF_BROADCAST) != 0, let broadcast else { return nil }
      target = SocketAddress.numeric(broadcast, port: port)
    } else {
      guard !isLoopback, flags & UInt32(IFF_MULTICAST) != 0, address.isLinkLocal else { return nil }
      target = SocketAddress.numeric("\(BeaconInterface.group)%\(name)", port: port)
    }
    guard let target, let from = SocketAddress.numeric(address.host, port: 0) else { return nil }
    return BeaconInterface(interface: name, index: index, from: from, to: target)
  }

  /// The broadcast address: the interface's address with all host bits set. It is computed because loopback reports
  /// none; all of 127.0.0.0/8 is one network.
  private var broadcast: String? {
    guard let own = address.hostBytes?.bytes.suffix(4) else { return nil }
    let mask = mask?.hostBytes?.bytes.suffix(4) ?? [255, 0, 0, 0]
    return zip(own, mask).map { String($0 | ~$1) }.joined(separator: ".")
  }
}
