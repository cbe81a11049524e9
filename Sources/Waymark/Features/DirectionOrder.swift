// Protocol/merge.md, "Forced direction"

import Records
import Replication
import Storage
import Wire

/// A forced direction that a person has said yes to. The node keeps it until it is carried out, so that a node
/// which ends meanwhile goes on with it.
struct DirectionOrder: Sendable {
  let verb: String
  /// The operation that it becomes.
  let operation: OperationID
  /// Whose state is wanted; nil for this device's own.
  let peer: DeviceKey?
  let asked: Moment
  let direction: Direction
}

/// A forced direction that was carried out, and what others have written to its records without knowing of it.
struct DirectionTrace: Sendable {
  let order: DirectionOrder
  /// The local number of the newest set that was looked at.
  var looked: Int64
  var overtaken: Set<RecordKey> = []
}

/// What came of a forced direction.
struct DirectionOutcome: Sendable {
  /// Nil if nothing differed.
  let operation: OperationID?
  let written: [KindNumber: CommitReport.EntryCounts]
  /// Records that were written elsewhere after it was asked for.
  let elsewhere: [KindNumber: Int]
}

/// The forced directions of a node: at most one is under way.
struct Directions: Sendable {
  var pending: DirectionOrder?
  var last: DirectionTrace?
  /// What came of the newest, for the command that waits for it.
  var outcome: (operation: OperationID, result: Result<DirectionOutcome, WaymarkError>)?
}

// MARK: As the store keeps them

extension DirectionOrder {
  var encoded: [UInt8] {
    var writer = CBORWriter()
    writer.array(8)
    writer.text(verb)
    writer.byteString(operation.raw)
    writer.byteString(peer?.bytes ?? [])
    writer.integer(asked)
    writer.unsigned(UInt64(direction.scope.kind?.rawValue ?? 0))
    writer.byteString(direction.scope.trip?.id.bytes ?? [])
    writer.heads(direction.wanted)
    writer.heads(direction.present)
    return writer.bytes
  }

  /// Leaves none to go on with.
  static func forget(_ store: Store) throws {
    guard try store.meta(MetaKey.direction) != nil else { return }
    try store.setMeta(MetaKey.direction, nil)
  }

  init(encoded: [UInt8]) throws {
    var reader = CBORReader(encoded, itemsMax: CBORReader.keptItemsMax)
    try reader.array(exactly: 8)
    verb = try reader.text()
    operation = OperationID(try reader.bytes16())
    peer = DeviceKey(bytes: try reader.byteString())
    asked = try reader.integer()
    let kind = KindNumber(try reader.unsigned())
    let trip = RecordID(bytes: try reader.byteString()).map { RecordKey(kind: KindNumbers.trip, id: $0) }
    direction = Direction(
      wanted: try reader.heads(), present: try reader.heads(), scope: Direction.Scope(kind: kind, trip: trip))
    try reader.end()
  }
}

extension DirectionTrace {
  var encoded: [UInt8] {
    var writer = CBORWriter()
    writer.array(3)
    writer.byteString(order.encoded)
    writer.integer(looked)
    writer.array(overtaken.count)
    for key in overtaken.sorted() {
      writer.array(2)
      writer.unsigned(UInt64(key.kind.rawValue))
      writer.byteString(key.id.raw)
    }
    return writer.bytes
  }

  init(encoded: [UInt8]) throws {
    var reader = CBORReader(encoded, itemsMax: CBORReader.keptItemsMax)
    try reader.array(exactly: 3)
    order = try DirectionOrder(encoded: try reader.byteString(max: encoded.count))
    looked = try reader.integer()
    for _ in 0..<(try reader.array(max: CBORReader.keptItemsMax)) {
      try reader.array(exactly: 2)
      guard let kind = KindNumber(try reader.unsigned()) else { throw StoreError.damaged("a direction") }
      overtaken.insert(RecordKey(kind: kind, id: RecordID(try reader.bytes16())))
    }
    try reader.end()
  }
}

extension Directions {
  init(_ store: Store, preference: Bool) throws {
    if preference {
      pending = try store.meta(MetaKey.direction).map { try DirectionOrder(encoded: $0) }
    } else {
      // An order without sync was given in the moment in which the node ended: nothing of it has begun, and it must not
      // be carried out when sync is turned on for another reason. A full disk may keep it until sync is turned off.
      try? DirectionOrder.forget(store)
    }
    last = try store.meta(MetaKey.lastDirection).map { try DirectionTrace(encoded: $0) }
  }
}

extension CBORWriter {
  fileprivate mutating func heads(_ heads: [LogHead]) {
    array(heads.count)
    for head in heads {
      array(5)
      byteString(head.log.device.raw)
      byteString(head.log.incarnation.raw)
      unsigned(head.sequence)
      byteString(head.id.raw)
      unsigned(head.foldedSequence)
    }
  }
}

extension CBORReader {
  /// This device wrote it: the bound only keeps a damaged store from being believed.
  fileprivate static let keptItemsMax = 1 << 24

  fileprivate mutating func heads() throws -> [LogHead] {
    var heads: [LogHead] = []
    for _ in 0..<(try array(max: Self.keptItemsMax)) {
      try array(exactly: 5)
      let log = LogKey(
        device: DeviceKey(try bytes32()), incarnation: Incarnation(try bytes16()), lane: .records)
      heads.append(
        LogHead(
          log: log, sequence: try unsigned(), id: ChangeSetID(try bytes32()),
          foldedSequence: try unsigned()))
    }
    return heads
  }
}
