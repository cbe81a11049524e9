// Protocol/merge.md, "Overrides"
//
// An override replaces the records of all devices with those of one device: `mirror` takes the records of a peer,
// `assert` keeps those of this device. It selects change sets, not a point in time. The *wanted* heads and their
// ancestors stay. The *present* heads and their ancestors are reverted, unless they are wanted. Later changes merge as
// usual. For `mirror`, the wanted heads are the peer's and the present ones are this device's own. For `assert`, the
// wanted heads are this device's own and the present ones are those of the connected peers.
//
//     waymark mirror phone, run on the laptop, which has its own sets a1–a3 and the phone's p1
//
//     laptop's log   a1 ── a2 ── a3       wanted heads (the phone's):      a1, p2
//     phone's log    p1 ── p2             present heads (the laptop's):    a3, p1
//
//     reverted = {a1, a2, a3, p1} without {a1, p1, p2} = {a2, a3}
//
// 1. `begin` stores both lists of heads as they are when the user confirms. A change that is made later, while the
//    device is still syncing, is in neither list and is not reverted.
// 2. Every turn ends with `finishOverride`. It does nothing until all sets of both lists are folded here (p2 above),
//    because until then their effect on the records is unknown.
// 3. For every record that a reverted set touches, `carryOut` writes the difference between the record's present state
//    and its state without the reverted sets. All differences form one ordinary operation, which has seen a2 and a3. So
//    a device that holds only a2 and a3 can't bring them back, however long it was away.
// 4. A trace of the newest override is kept, and `traceOvertaking` checks each later set against it. If a device that
//    had not received the override writes to the same records, its writes merge as concurrent writes, and `status`
//    reports them.
//
// The process may end at any point. The pending request is deleted only after the operation is durable. If the process
// ends in between, the next start finds the operation by its id and does not write it a second time.

import LogStorage
import Membership
package import RecordTables
import Records
package import Replication
package import Storage
package import Wire

/// The overrides (`mirror`, `assert`) of one device. At most one is pending. The last one that was carried out is
/// checked for concurrent changes.
///
///     begin ──▶ pending ──all its change sets are folded──▶ carried out, traced
///                 └──sync was turned off──▶ dropped
///
/// The pending override is stored, so that the next start can resume it if the process ends before it is carried out.
package struct Override: Sendable {
  package internal(set) var pending: OverrideRequest?
  package internal(set) var trace: OverrideTrace?
  /// The result of the newest override, for the command that waits for it.
  package internal(set) var latest: (operation: OperationID, result: Result<OverrideOutcome, any Error>)?

  init(_ store: Store, preference: Bool) throws {
    if preference {
      pending = try store.meta(MetaKey.pendingOverride).map { try OverrideRequest(encoded: $0) }
    } else {
      // The node ended after `begin` and before sync was turned on. Nothing of the override was carried out, and
      // nothing of it may be carried out when sync is turned on later for another reason. If the disk is full, the
      // request stays stored until sync is turned off.
      try? Self.forget(store)
    }
    trace = try store.meta(MetaKey.lastOverride).map { try OverrideTrace(encoded: $0) }
  }

  /// Removes the pending override from a store.
  package static func forget(_ store: Store) throws {
    guard try store.meta(MetaKey.pendingOverride) != nil else { return }
    try store.setMeta(MetaKey.pendingOverride, nil)
  }
}

/// An override that the user has confirmed.
package struct OverrideRequest: Sendable {
  package let verb: String
  /// The id that the operation of the override will have.
  package let operation: OperationID
  /// The device whose state is wanted; nil if it is this device.
  package let peer: DeviceKey?
  package let asked: Moment
  package let revert: Revert

  package init(
    verb: String, operation: OperationID, peer: DeviceKey?, asked: Moment, revert: Revert
  ) {
    self.verb = verb
    self.operation = operation
    self.peer = peer
    self.asked = asked
    self.revert = revert
  }
}

/// An override that was carried out, and those of its records that other devices have changed without having received
/// it.
package struct OverrideTrace: Sendable {
  package let request: OverrideRequest
  /// The local number of the newest set checked so far.
  package var checked: Int64
  package var overtaken: Set<RecordKey> = []
}

/// The changes that an override wrote.
package struct OverrideOutcome: Sendable {
  /// The operation that was written; nil if nothing differed.
  package let operation: OperationID?
  package let written: [KindNumber: CommitReport.EntryCounts]
  /// The numbers of records, by kind, that were changed after the request and keep those changes.
  package let elsewhere: [KindNumber: Int]
}

/// Progress of an override.
package enum OverrideEvent: Sendable {
  case began(OverrideRequest)
  /// All change sets that the override needs are folded. Its changes are written next.
  case ready(OverrideRequest)
  /// The override's change sets are durable. The list is empty if nothing differed, or if an earlier run wrote them.
  /// The pending request is removed next.
  case written(OverrideRequest, [ChangeSetID])
  case finished(OverrideRequest)
  case dropped(OverrideRequest)
}

extension Replicator {
  /// Stores a request durably and replaces a pending one. The shell then turns on sync, which the override needs, and
  /// calls `finishOverride`.
  ///
  /// - Throws: `WriteRefusal`, or an error of the store. In either case nothing has changed.
  package func begin(_ request: OverrideRequest) throws {
    guard !isSpent else { throw WriteRefusal.incarnationsSpent }
    guard canStore else { throw WriteRefusal.cannotStore }
    try store.setMeta(MetaKey.pendingOverride, request.encoded)
    override.pending = request
    shell?.note(.override(.began(request)))
  }

  /// Returns the number of change sets that must still be folded before the difference is known. Change sets that the
  /// circle does not admit are not counted.
  package func missing(_ request: OverrideRequest) throws -> UInt64 {
    let evaluation = circle.evaluation
    return try store.missing(request.revert) { evaluation.admission(of: $0) == .open }
  }

  /// Carries out the pending override if all change sets that it needs are folded. Called at the end of every turn.
  package func finishOverride(now: Now) {
    guard let request = override.pending, isOpen, canStore, !isSpent, circle.evaluation.isMember(device)
    else { return }
    // Writing is a turn too, and the end of that turn must not start the override a second time.
    override.pending = nil
    do {
      guard try missing(request) == 0 else {
        override.pending = request
        return
      }
      override.latest = (request.operation, .success(try carryOut(request, now)))
    } catch {
      storeFailed(error)
      // If the disk is full, the override is retried once there is room; after other errors, at the next start.
      if disk.isFull { override.pending = request }
      override.latest = (request.operation, .failure(error))
    }
  }

  private func carryOut(_ request: OverrideRequest, _ now: Now) throws -> OverrideOutcome {
    shell?.note(.override(.ready(request)))
    let plan = try store.plan(request.revert, now: now.wall)
    let key = OperationKey(id: request.operation, device: device)
    var sets: [ChangeSetID] = []
    // The previous run may have ended after writing the operation and before removing the pending request.
    if try !store.isWritten(key), !plan.changes.drafts.isEmpty {
      sets = try write(
        OperationDraft(id: request.operation, verb: request.verb), plan.changes.drafts,
        leastClock: plan.changes.leastClock, now: now)
    }
    shell?.note(.override(.written(request, sets)))
    // The new sets may depend on parked sets, and then they are not folded yet.
    let isWritten = try store.isWritten(key)
    if isWritten {
      let trace = OverrideTrace(request: request, checked: try store.lastNumberBeforeParked())
      try store.setMeta(MetaKey.lastOverride, trace.encoded)
      override.trace = trace
    }
    try Override.forget(store)
    shell?.note(.override(.finished(request)))
    return OverrideOutcome(
      operation: isWritten ? request.operation : nil, written: plan.counts, elsewhere: plan.later)
  }

  /// Drops the pending override.
  package func dropOverride() throws {
    try Override.forget(store)
    guard let request = override.pending else { return }
    override.pending = nil
    shell?.note(.override(.dropped(request)))
  }

  // MARK: Concurrent changes

  /// Finds changes to the records of the last override by devices that had not received it.
  func traceOvertaking() {
    guard var trace = override.trace else { return }
    trying {
      let key = OperationKey(id: trace.request.operation, device: device)
      guard let operation = try store.operation(key) else { return }
      let known = trace.overtaken.count
      trace.overtaken.formUnion(try store.overtaking(operation, &trace.checked))
      override.trace = trace
      // The trace is saved only when something was found. After a restart, the sets since the last save are checked
      // again.
      if trace.overtaken.count > known { try store.setMeta(MetaKey.lastOverride, trace.encoded) }
    }
  }

  /// Checks all sets again. A rebuild requires this because it renumbers them.
  func traceOvertakingFromStart() {
    guard override.trace != nil else { return }
    override.trace?.checked = 0
    trying { try store.setMeta(MetaKey.lastOverride, override.trace?.encoded) }
    traceOvertaking()
  }
}

// MARK: Stored form

extension MetaKey {
  package static let pendingOverride = "direction"
  package static let lastOverride = "last-direction"
}

extension OverrideRequest {
  package var encoded: [UInt8] {
    var writer = CBORWriter()
    writer.array(8)
    writer.text(verb)
    writer.byteString(operation.raw)
    writer.byteString(peer?.bytes ?? [])
    writer.integer(asked)
    writer.unsigned(UInt64(revert.scope.kind?.rawValue ?? 0))
    writer.byteString(revert.scope.trip?.id.bytes ?? [])
    writer.heads(revert.wanted)
    writer.heads(revert.present)
    return writer.bytes
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
    revert = Revert(
      wanted: try reader.heads(), present: try reader.heads(), scope: Revert.Scope(kind: kind, trip: trip))
    try reader.end()
  }
}

extension OverrideTrace {
  var encoded: [UInt8] {
    var writer = CBORWriter()
    writer.array(3)
    writer.byteString(request.encoded)
    writer.integer(checked)
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
    request = try OverrideRequest(encoded: try reader.byteString(max: encoded.count))
    checked = try reader.integer()
    for _ in 0..<(try reader.array(max: CBORReader.keptItemsMax)) {
      try reader.array(exactly: 2)
      guard let kind = KindNumber(try reader.unsigned()) else { throw StoreError.damaged("an override") }
      overtaken.insert(RecordKey(kind: kind, id: RecordID(try reader.bytes16())))
    }
    try reader.end()
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
  /// A limit that protects only against damaged stores, because this device wrote the value itself.
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
