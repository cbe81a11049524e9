/// A range of addresses, in the form of IPv6 addresses: those that equal `prefix` in the bits of `mask`.
struct AddressRange: Hashable, Sendable {
  let prefix: [UInt8]
  let mask: [UInt8]

  init(prefix: [UInt8], mask: [UInt8]) {
    self.prefix = prefix
    self.mask = mask
  }

  /// A range of IPv4 addresses.
  init(four start: [UInt8], bits: Int) {
    let mapped = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
    let mask = (0..<2).map { byte in UInt8(truncatingIfNeeded: 0xff00 >> max(0, min(8, bits - 8 * byte))) }
    self.init(prefix: mapped + start, mask: [UInt8](repeating: 0xff, count: 12) + mask)
  }

  /// Whether the 16 bytes of an address are in the range.
  func contains(_ address: [UInt8]) -> Bool {
    zip(address, zip(prefix, mask)).allSatisfy { byte, range in byte & range.1 == range.0 & range.1 }
  }
}
