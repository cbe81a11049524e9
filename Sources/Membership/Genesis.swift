// Protocol/circle.md, "Genesis" and "Device certificate".

package import Wire

/// The role of a member.
package enum Role: UInt8, CaseIterable, Sendable {
  case member = 0
  /// An admin may also invite and revoke devices.
  case admin = 1
}

/// The first statement of a circle. Its hash is the circle's id, and it certifies the founder.
package struct Genesis: StatementBody {
  package var root: DeviceKey
  package var device: DeviceKey
  package var transport: TransportKey
  package var name: String
  /// The pinned entitlement issuers: none, the current one, or the current and the next one.
  package var issuers: [DeviceKey]
  package var created: Int64
  package var nonce: Bytes16

  package static let kind = StatementKind.genesis

  package init(
    root: DeviceKey, device: DeviceKey, transport: TransportKey, name: String, issuers: [DeviceKey],
    created: Int64, nonce: Bytes16
  ) {
    self.root = root
    self.device = device
    self.transport = transport
    self.name = name
    self.issuers = issuers
    self.created = created
    self.nonce = nonce
  }

  init(_ map: inout MapReader) throws(WireError) {
    root = DeviceKey(try map.bytes32(2))
    device = DeviceKey(try map.bytes32(3))
    guard device != root else { throw .unexpected(offset: map.reader.offset) }
    transport = TransportKey(try map.bytes32(4))
    name = try map.name(5)
    issuers = try map.optional(6) ? try Self.readIssuers(&map.reader) : []
    created = try map.milliseconds(7)
    nonce = try map.bytes16(8)
  }

  /// Reads one or two different issuer keys. The current issuer's key comes first.
  static func readIssuers(_ reader: inout CBORReader) throws(WireError) -> [DeviceKey] {
    let start = reader.offset
    let count = try reader.array(max: 2)
    var keys: [DeviceKey] = []
    for _ in 0..<count { keys.append(DeviceKey(try reader.bytes32())) }
    guard let first = keys.first, keys.count == 1 || keys.last != first else {
      throw .unexpected(offset: start)
    }
    return keys
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 300)
    writer.map(issuers.isEmpty ? 7 : 8)
    writer.pair(0, MapReader.version)
    writer.pair(2, root.raw)
    writer.pair(3, device.raw)
    writer.pair(4, transport.raw)
    writer.pair(5, name)
    if !issuers.isEmpty { writer.pair(6, issuers) }
    writer.pair(7, created)
    writer.unsigned(8)
    writer.byteString(nonce)
    return writer.bytes
  }
}

/// A statement by which the root key or an admin makes a device a member of the circle.
package struct DeviceCertificate: StatementBody {
  package var circle: CircleID
  /// The root key or an admin's device key.
  package var issuer: DeviceKey
  package var device: DeviceKey
  package var transport: TransportKey
  package var name: String
  package var role: Role
  package var issued: Int64

  package static let kind = StatementKind.deviceCertificate

  package init(
    circle: CircleID, issuer: DeviceKey, device: DeviceKey, transport: TransportKey, name: String,
    role: Role, issued: Int64
  ) {
    self.circle = circle
    self.issuer = issuer
    self.device = device
    self.transport = transport
    self.name = name
    self.role = role
    self.issued = issued
  }

  init(_ circle: CircleID, _ signer: DeviceKey, _ map: inout MapReader) throws(WireError) {
    self.circle = circle
    issuer = signer
    device = DeviceKey(try map.bytes32(3))
    transport = TransportKey(try map.bytes32(4))
    name = try map.name(5)
    let value = try map.unsigned(6, max: 1)
    role = value == 1 ? .admin : .member
    issued = try map.milliseconds(7)
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 256)
    writer.map(8)
    writer.common(circle, issuer)
    writer.pair(3, device.raw)
    writer.pair(4, transport.raw)
    writer.pair(5, name)
    writer.pair(6, UInt64(role.rawValue))
    writer.pair(7, issued)
    return writer.bytes
  }
}

extension CBORWriter {
  mutating func pair(_ key: UInt64, _ value: UInt64) {
    unsigned(key)
    unsigned(value)
  }

  /// Writes a time. A negative time, which may come from user input or a broken clock, is encoded too, but every reader
  /// rejects it.
  mutating func pair(_ key: UInt64, _ value: Int64) {
    unsigned(key)
    integer(value)
  }

  mutating func pair(_ key: UInt64, _ value: Bytes32) {
    unsigned(key)
    byteString(value)
  }

  mutating func pair(_ key: UInt64, _ value: String) {
    unsigned(key)
    text(value)
  }

  mutating func pair(_ key: UInt64, _ values: [some Identifier32]) {
    unsigned(key)
    array(values.count)
    for value in values { byteString(value.raw) }
  }

  /// Writes keys 0, 1 and 2 and their values: the version, the circle and the signer.
  mutating func common(_ circle: CircleID, _ signer: DeviceKey) {
    pair(0, MapReader.version)
    pair(1, circle.raw)
    pair(2, signer.raw)
  }
}
