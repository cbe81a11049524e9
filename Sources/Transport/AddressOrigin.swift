// Protocol/channel.md, "Admission".

import Wire

/// A range of addresses that one party may control: an address, a household, a provider's network.
struct AddressOrigin: Hashable, Sendable {
  /// How many parties an origin of this size may hold, which decides what it is allowed.
  enum Size: Hashable, Sendable { case address, site, network }

  let size: Size
  private let prefix: [UInt8]

  private init(_ size: Size, _ prefix: ArraySlice<UInt8>) {
    self.size = size
    self.prefix = Array(prefix)
  }

  /// The origins of a caller, from the narrowest to the widest; none for a caller on this machine.
  static func origins(of address: SocketAddress) -> [AddressOrigin] {
    guard !address.isLoopback, let bytes = address.hostBytes?.bytes else { return [] }
    if bytes.starts(with: mappedPrefix) {
      return [AddressOrigin(.address, bytes[...]), AddressOrigin(.network, bytes[..<15])]
    }
    // All link-local addresses share one prefix.
    if address.isLinkLocal { return [AddressOrigin(.address, bytes[...])] }
    return [
      AddressOrigin(.address, bytes[..<8]), AddressOrigin(.site, bytes[..<7]),
      AddressOrigin(.network, bytes[..<6]),
    ]
  }

  /// The start of an IPv4 address in the form of an IPv6 address.
  private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
}
