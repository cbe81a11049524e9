// Protocol/circle.md, "Fork proof".

package import Wire

/// The proof that one device signed two different change sets for the same position in one log.
package struct ForkProof: Hashable, Sendable {
  package let circle: CircleID
  package let log: LogKey
  package let sequence: UInt64
  /// The id of the set before the fork; nil if the log forked at its first set.
  package let previous: ChangeSetID?
  /// The ids of the two sets, in ascending order.
  package let ids: [ChangeSetID]
  let headers: [[UInt8]]

  init(_ map: inout MapReader) throws(WireError) {
    circle = CircleID(try map.bytes32(1))
    try map.required(3)
    let first = try map.reader.byteString(max: Limits.setBytesMax)
    try map.required(4)
    let second = try map.reader.byteString(max: Limits.setBytesMax)
    let (left, right) = (try SetHeader(first), try SetHeader(second))
    guard left.place == right.place, left.circle == circle, right.circle == circle, left.id < right.id
    else { throw .unexpected(offset: map.reader.offset) }
    log = left.place.log
    sequence = left.place.sequence
    previous = left.place.previous
    ids = [left.id, right.id]
    headers = [first, second]
  }

  /// Builds the statement from two signed headers, given in either order. Throws if they do not prove a fork.
  package static func statement(
    circle: CircleID, _ one: (header: [UInt8], signature: [UInt8]),
    _ other: (header: [UInt8], signature: [UInt8])
  ) throws(StatementError) -> Statement {
    let ordered = SetHeader.id(one.header) < SetHeader.id(other.header) ? (one, other) : (other, one)
    var writer = CBORWriter()
    writer.map(4)
    writer.pair(0, MapReader.version)
    writer.pair(1, circle.raw)
    writer.unsigned(3)
    writer.byteString(ordered.0.header)
    writer.unsigned(4)
    writer.byteString(ordered.1.header)
    return try Statement(
      Envelope.encode(
        kind: StatementKind.forkProof.rawValue, body: writer.bytes,
        signature: ordered.0.signature + ordered.1.signature))
  }

  /// Whether the two halves of the 128 bytes are the device's signatures of the two headers.
  func isSigned(by signatures: [UInt8]) -> Bool {
    zip(headers, [signatures.prefix(64), signatures.suffix(64)]).allSatisfy { header, signature in
      log.device.hasSigned(header, .changeSetSignature, Array(signature))
    }
  }
}

/// The fields of a change set's header that fork proofs and branch proofs need. Protocol/change-set.md describes all
/// fields of a header.
struct SetHeader {
  struct Position: Hashable {
    var log: LogKey
    var sequence: UInt64
    var previous: ChangeSetID?
  }

  let id: ChangeSetID
  let circle: CircleID
  let place: Position

  /// The version of change sets.
  private static let version: UInt64 = 2

  init(_ header: [UInt8]) throws(WireError) {
    id = Self.id(header)
    var map = try MapReader(header, version: Self.version)
    circle = CircleID(try map.bytes32(1))
    let device = DeviceKey(try map.bytes32(2))
    let incarnation = Incarnation(try map.bytes16(3))
    let lane = try map.lane(4)
    try map.required(5)
    let start = map.reader.offset
    let sequence = try map.reader.unsigned()
    let previous = try map.optional(6) ? ChangeSetID(try map.reader.bytes32()) : nil
    guard sequence > 0, sequence <= UInt64(Int64.max), (sequence == 1) == (previous == nil) else {
      throw .unexpected(offset: start)
    }
    // The clock is skipped as an unsigned integer, because `skipValue` rejects integers as large as a clock may be.
    // Otherwise, a fork with such a clock could not be proved.
    if try map.optional(7) {
      if try map.reader.peek() >> 5 == 0 {
        _ = try map.reader.unsigned()
      } else {
        _ = try map.reader.skipValue()
      }
    }
    try map.skipRest()
    place = Position(
      log: LogKey(device: device, incarnation: incarnation, lane: lane), sequence: sequence,
      previous: previous)
  }

  static func id(_ header: [UInt8]) -> ChangeSetID {
    ChangeSetID(Prefix.changeSetID.hash(header))
  }
}
