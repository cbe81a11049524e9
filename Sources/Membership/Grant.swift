// Protocol/circle.md, "Grant".

package import Wire

/// A statement that raises the quota of a device in a lane.
package struct Grant: StatementBody {
  package var circle: CircleID
  /// The root key or an admin's device key.
  package var issuer: DeviceKey
  package var device: DeviceKey
  package var lane: Lane
  /// The device's quota in the lane, in bytes.
  package var bytes: UInt64
  package var issued: Int64

  package static let kind = StatementKind.grant

  package init(
    circle: CircleID, issuer: DeviceKey, device: DeviceKey, lane: Lane, bytes: UInt64, issued: Int64
  ) {
    self.circle = circle
    self.issuer = issuer
    self.device = device
    self.lane = lane
    self.bytes = bytes
    self.issued = issued
  }

  init(_ circle: CircleID, _ signer: DeviceKey, _ map: inout MapReader) throws(WireError) {
    self.circle = circle
    issuer = signer
    device = DeviceKey(try map.bytes32(3))
    lane = try map.lane(4)
    bytes = UInt64(try map.unsigned(5, max: Int(Limits.quotaBytesMax)))
    guard bytes > 0 else { throw .unexpected(offset: map.reader.offset) }
    issued = try map.milliseconds(6)
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 160)
    writer.map(7)
    writer.common(circle, issuer)
    writer.pair(3, device.raw)
    writer.pair(4, UInt64(lane.rawValue))
    writer.pair(5, bytes)
    writer.pair(6, issued)
    return writer.bytes
  }
}
