// Protocol/circle.md, "Revocation" and "Log cut".

package import Wire

/// One log of a revoked device and its kept tips. The tips are kept together with all their ancestors.
package struct KeptLog: Hashable, Sendable, Comparable {
  package var incarnation: Incarnation
  package var lane: Lane
  /// The tips in ascending order. There may be more than one if the log forked.
  package var tips: [ChangeSetID]

  package init(incarnation: Incarnation, lane: Lane, tips: [ChangeSetID]) {
    self.incarnation = incarnation
    self.lane = lane
    self.tips = tips.sorted()
  }

  /// Returns the logs of one device, longest first, and the number of change sets up to their tips.
  ///
  /// - Parameter tips: the log and the sequence number of each tip.
  package static func logs(
    endingAt tips: [(log: LogKey, sequence: UInt64, id: ChangeSetID)]
  ) -> (logs: [KeptLog], changeSets: UInt64) {
    let logs = Dictionary(grouping: tips, by: \.log).map { log, tips in
      (
        KeptLog(incarnation: log.incarnation, lane: log.lane, tips: tips.map(\.id)),
        tips.map(\.sequence).max() ?? 0
      )
    }
    let sorted = logs.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    return (sorted.map(\.0), sorted.reduce(0) { $0 &+ $1.1 })
  }

  /// Compares only the logs, so that a list in strictly ascending order names each log once.
  package static func < (left: KeptLog, right: KeptLog) -> Bool {
    (left.incarnation, left.lane) < (right.incarnation, right.lane)
  }
}

/// A statement that permanently ends a device's membership.
package struct Revocation: StatementBody {
  package var circle: CircleID
  /// The root key or an admin's device key.
  package var issuer: DeviceKey
  package var device: DeviceKey
  /// The logs that are kept up to certain tips. Logs of the device that are not listed are excluded entirely.
  package var kept: [KeptLog]
  /// The certificates, revocations and log cuts by the device that stay valid. All others are void, no matter when they
  /// arrive.
  package var valid: [StatementID]
  package var issued: Int64

  package static let kind = StatementKind.revocation

  package init(
    circle: CircleID, issuer: DeviceKey, device: DeviceKey, kept: [KeptLog], valid: [StatementID],
    issued: Int64
  ) {
    self.circle = circle
    self.issuer = issuer
    self.device = device
    self.kept = kept.sorted()
    self.valid = valid.sorted()
    self.issued = issued
  }

  init(_ circle: CircleID, _ signer: DeviceKey, _ map: inout MapReader) throws(WireError) {
    self.circle = circle
    issuer = signer
    device = DeviceKey(try map.bytes32(3))
    kept = []
    valid = []
    if try map.optional(4) {
      kept = try map.reader.ascending(max: Limits.setItemsMax, Self.readKeptLog)
      for (log, next) in zip(kept, kept.dropFirst()) where !(log < next) {
        throw .notCanonical(offset: map.reader.offset)
      }
    }
    if try map.optional(5) {
      valid = try map.reader.ascending(max: Limits.setItemsMax) { (reader) throws(WireError) in
        StatementID(try reader.bytes32())
      }
    }
    issued = try map.milliseconds(6)
  }

  private static func readKeptLog(_ reader: inout CBORReader) throws(WireError) -> KeptLog {
    try reader.array(exactly: 3)
    let incarnation = Incarnation(try reader.bytes16())
    let lane = try reader.lane()
    let tips = try reader.ascending(max: Limits.setItemsMax) { (reader) throws(WireError) in
      ChangeSetID(try reader.bytes32())
    }
    return KeptLog(incarnation: incarnation, lane: lane, tips: tips)
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 256)
    writer.map(5 + (kept.isEmpty ? 0 : 1) + (valid.isEmpty ? 0 : 1))
    writer.common(circle, issuer)
    writer.pair(3, device.raw)
    if !kept.isEmpty {
      writer.unsigned(4)
      writer.array(kept.count)
      for log in kept { Self.write(log, to: &writer) }
    }
    if !valid.isEmpty { writer.pair(5, valid) }
    writer.pair(6, issued)
    return writer.bytes
  }

  private static func write(_ log: KeptLog, to writer: inout CBORWriter) {
    writer.array(3)
    writer.byteString(log.incarnation.raw)
    writer.unsigned(UInt64(log.lane.rawValue))
    writer.array(log.tips.count)
    for tip in log.tips { writer.byteString(tip.raw) }
  }
}

/// A statement by which a device cuts one of its own logs at a set, to repair the effects of a clock that was ahead.
package struct LogCut: StatementBody {
  package var circle: CircleID
  package var log: LogKey
  /// The newest set that is kept; nil if no set is kept.
  package var tip: ChangeSetID?
  package var issued: Int64

  package static let kind = StatementKind.logCut

  package init(circle: CircleID, log: LogKey, tip: ChangeSetID?, issued: Int64) {
    self.circle = circle
    self.log = log
    self.tip = tip
    self.issued = issued
  }

  init(_ circle: CircleID, _ signer: DeviceKey, _ map: inout MapReader) throws(WireError) {
    self.circle = circle
    let incarnation = Incarnation(try map.bytes16(3))
    log = LogKey(device: signer, incarnation: incarnation, lane: try map.lane(4))
    tip = try map.optional(5) ? ChangeSetID(try map.reader.bytes32()) : nil
    issued = try map.milliseconds(6)
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 200)
    writer.map(tip == nil ? 6 : 7)
    writer.common(circle, log.device)
    writer.unsigned(3)
    writer.byteString(log.incarnation.raw)
    writer.pair(4, UInt64(log.lane.rawValue))
    if let tip { writer.pair(5, tip.raw) }
    writer.pair(6, issued)
    return writer.bytes
  }
}
