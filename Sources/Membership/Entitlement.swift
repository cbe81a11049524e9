// Protocol/circle.md, "Entitlement" and "Issuers".

package import Wire

/// An issuer's statement that devices of a circle are premium for a period of time.
package struct Entitlement: StatementBody {
  package var circle: CircleID
  package var issuer: DeviceKey
  /// The devices that the entitlement is for, in ascending order; nil for all devices of the circle.
  package var devices: [DeviceKey]?
  package var plan: String
  package var issuedAt: Int64
  /// The first millisecond at which the entitlement is valid.
  package var notBefore: Int64
  /// The first millisecond at which the entitlement is no longer valid.
  package var notAfter: Int64
  package var serial: Bytes16
  /// The source of the purchase, as free text written by the issuer.
  package var source: String

  package static let kind = StatementKind.entitlement

  package init(
    circle: CircleID, issuer: DeviceKey, devices: [DeviceKey]?, plan: String, issuedAt: Int64,
    notBefore: Int64, notAfter: Int64, serial: Bytes16, source: String
  ) {
    self.circle = circle
    self.issuer = issuer
    self.devices = devices?.sorted()
    self.plan = plan
    self.issuedAt = issuedAt
    self.notBefore = notBefore
    self.notAfter = notAfter
    self.serial = serial
    self.source = source
  }

  init(_ circle: CircleID, _ signer: DeviceKey, _ map: inout MapReader) throws(WireError) {
    self.circle = circle
    issuer = signer
    devices = nil
    if try map.optional(3) {
      devices = try map.reader.ascending(max: Limits.devicesMax) { (reader) throws(WireError) in
        DeviceKey(try reader.bytes32())
      }
    }
    plan = try map.name(4)
    issuedAt = try map.milliseconds(5)
    notBefore = try map.milliseconds(6)
    notAfter = try map.milliseconds(7)
    guard notBefore < notAfter else { throw .unexpected(offset: map.reader.offset) }
    serial = try map.bytes16(8)
    source = try map.name(9)
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 256)
    writer.map(devices == nil ? 9 : 10)
    writer.common(circle, issuer)
    if let devices { writer.pair(3, devices) }
    writer.pair(4, plan)
    writer.pair(5, issuedAt)
    writer.pair(6, notBefore)
    writer.pair(7, notAfter)
    writer.unsigned(8)
    writer.byteString(serial)
    writer.pair(9, source)
    return writer.bytes
  }

  /// Whether the entitlement counts for a device.
  package func counts(for device: DeviceKey) -> Bool { devices?.contains(device) ?? true }
}

/// A statement by which the root key pins further entitlement issuers.
package struct IssuerStatement: StatementBody {
  package var circle: CircleID
  /// The signer. The statement counts only if this is the circle's root key.
  package var root: DeviceKey
  package var issuers: [DeviceKey]
  package var issued: Int64

  package static let kind = StatementKind.issuers

  package init(circle: CircleID, root: DeviceKey, issuers: [DeviceKey], issued: Int64) {
    self.circle = circle
    self.root = root
    self.issuers = issuers
    self.issued = issued
  }

  init(_ circle: CircleID, _ signer: DeviceKey, _ map: inout MapReader) throws(WireError) {
    self.circle = circle
    root = signer
    try map.required(3)
    issuers = try Genesis.readIssuers(&map.reader)
    issued = try map.milliseconds(4)
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 200)
    writer.map(5)
    writer.common(circle, root)
    writer.pair(3, issuers)
    writer.pair(4, issued)
    return writer.bytes
  }
}

/// A statement of a device's addresses. Only the newest such statement by each device is kept.
package struct AddressStatement: StatementBody {
  package var circle: CircleID
  package var device: DeviceKey
  package var clock: UInt64
  /// The addresses, in the order in which to try them. There may be none.
  package var addresses: [String]

  package static let kind = StatementKind.addresses

  package init(circle: CircleID, device: DeviceKey, clock: UInt64, addresses: [String]) {
    self.circle = circle
    self.device = device
    self.clock = clock
    self.addresses = addresses
  }

  init(_ circle: CircleID, _ signer: DeviceKey, _ map: inout MapReader) throws(WireError) {
    self.circle = circle
    device = signer
    try map.required(3)
    clock = try map.reader.unsigned()
    try map.required(4)
    addresses = []
    for _ in 0..<(try map.reader.array(max: Limits.addressesMax)) {
      addresses.append(try map.reader.address())
    }
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 200)
    writer.map(5)
    writer.common(circle, device)
    writer.pair(3, clock)
    writer.unsigned(4)
    writer.array(addresses.count)
    for address in addresses { writer.text(address) }
    return writer.bytes
  }
}
