// Protocol/merge.md, "Overrides"
//
// An override makes the records of one device the right ones on all devices: `mirror` takes those of a peer, `assert`
// keeps those of this device. It selects change sets, not a time. The *wanted* heads and their ancestors stay; the
// *present* heads and their ancestors, as far as they are not wanted, are reverted; later changes merge as usual. For
// `mirror` the wanted heads are the peer's and the present ones this device's own; for `assert` the wanted heads are
// this device's own and the present ones those of the connected peers.
//
//     waymark mirror phone, run on laptop, which has a1–a3 of its own and p1 of the phone
//
//     laptop's log   a1 ── a2 ── a3       wanted heads, of the phone:      a1, p2
//     phone's log    p1 ── p2             present heads, of the laptop:    a3, p1
//
//     reverted = {a1, a2, a3, p1} without {a1, p1, p2} = {a2, a3}
//
// 1. `begin` stores both lists of heads at the moment of the confirmation. A change made while the device is still
//    syncing is in neither list, so it is not reverted.
// 2. Every turn ends with `finishOverride`. It does nothing until all sets of both lists are folded here (p2 above),
//    since their effect on the records is not known before.
// 3. `carryOut` writes, for every record that a reverted set touches, the difference between its present state and its
//    state without the reverted sets. This is one ordinary operation. It has seen a2 and a3, so a device that holds
//    only those, however long it was away, brings nothing back.
// 4. The trace of the newest override is kept, and `traceOvertaking` checks each later set: writes to the same records
//    by a device that had not received the override merge as concurrent writes, and `status` reports them.
//
// The process may end at any point. The pending request is deleted only after the operation is durable; a restart in
// between finds the operation by its id and does not write it a second time.

import Membership
import Records
package import Replication
package import Storage
package import Wire

/// The overrides (`mirror`, `assert`) of one device: at most one is pending, and the last one that was carried out is
/// checked for concurrent changes.
///
///     begin ──▶ pending ──all its change sets are folded──▶ carried out, traced
///                 └──sync was turned off──▶ dropped
///
/// The pending override is stored, so that the next start resumes it if the process ends first.
package struct Override: Sendable {
  package internal(set) var pending: OverrideRequest?
  package internal(set) var trace: OverrideTrace?
  /// The result of the newest override, for the command that waits for it.
  package internal(set) var latest: (operation: OperationID, result: Result<OverrideOutcome, any Error>)?

  init(_ store: Store, preference: Bool) throws {
    if preference {
      pending = try store.meta(MetaKey.pendingOverride).map { try OverrideRequest(encoded: $0) }
    } else {
      // The node ended between `begin` and turning sync on. Nothing of the override was carried out, and it must not be
      // when sync is turned on later for another reason. On a full disk it stays until sync is turned off.
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
  /// The id of the operation that it will be written as.
  package let operation: OperationID
  /// The device whose state is wanted; nil for this one.
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

/// An override that was carried out, and its records that devices have changed without having received it.
package struct OverrideTrace: Sendable {
  package let request: OverrideRequest
  /// The local number of the newest set checked so far.
  package var checked: Int64
  package var overtaken: Set<RecordKey> = []
}

/// The changes that an override wrote.
package struct OverrideOutcome: Sendable {
  /// Nil if nothing differed.
  package let operation: OperationID?
  package let written: [KindNumber: CommitReport.EntryCounts]
  /// Numbers of records that were changed after the request, and keep those changes.
  package let elsewhere: [KindNumber: Int]
}

/// Progress of an override.
package enum OverrideEvent: Sendable {
  case began(OverrideRequest)
  /// All change sets that it needs are folded; its changes are written next.
  case ready(OverrideRequest)
  /// Its change sets are durable; the list is empty if nothing differed or an earlier run wrote them. The pending
  /// request is removed next.
  case written(OverrideRequest, [ChangeSetID])
  case finished(OverrideRequest)
  case dropped(OverrideRequest)
}

extension Replicator {
  /// Stores a request durably, in place of a pending one. The shell then turns on sync, which the override needs, and
  /// calls `finishOverride`.
  ///
  /// - Throws: `WriteRefusal`, and errors of the store; then nothing has changed.
  package func begin(_ request: OverrideRequest) throws {
    guard !isSpent else { throw WriteRefusal.incarnationsSpent }
    guard canStore else { throw WriteRefusal.cannotStore }
    try store.setMeta(MetaKey.pendingOverride, request.encoded)
    override.pending = request
    shell?.note(.override(.began(request)))
  }

  /// The number of change sets still to be folded before the difference is known, without those that the circle does
  /// not admit.
  package func missing(_ request: OverrideRequest) throws -> UInt64 {
    let evaluation = circle.evaluation
    return try store.missing(request.revert) { evaluation.admission(of: $0) == .open }
  }

  /// Carries out the pending override once all change sets that it needs are folded; called at the end of every turn.
  package func finishOverride(now: Now) {
    guard let request = override.pending, isOpen, canStore, !isSpent, circle.evaluation.isMember(device)
    else { return }
    // Writing is a turn too, whose end must not start the override a second time.
    override.pending = nil
    do {
      guard try missing(request) == 0 else {
        override.pending = request
        return
      }
      override.latest = (request.operation, .success(try carryOut(request, now)))
    } catch {
      storeFailed(error)
      // On a full disk it is retried once there is room; after other errors, at the next start.
      if disk.isFull { override.pending = request }
      override.latest = (request.operation, .failure(error))
    }
  }

  private func carryOut(_ request: OverrideRequest, _ now: Now) throws -> OverrideOutcome {
    shell?.note(.override(.ready(request)))
    let plan = try store.plan(request.revert, now: now.wall)
    let key = OperationKey(id: request.operation, device: device)
    var sets: [ChangeSetID] = []
    // The previous run may have ended between this write and the removal of the pending request.
    if try !store.isWritten(key), !plan.changes.drafts.isEmpty {
      sets = try write(
        OperationDraft(id: request.operation, verb: request.verb), plan.changes.drafts,
        leastClock: plan.changes.leastClock, now: now)
    }
    shell?.note(.override(.written(request, sets)))
    // Its sets may depend on parked ones and not be folded yet.
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
      // Saved only with a find: after a restart the sets since the last find are checked again.
      if trace.overtaken.count > known { try store.setMeta(MetaKey.lastOverride, trace.encoded) }
    }
  }

  /// Checks all sets again after a rebuild, which renumbers them.
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
  /// A bound against damaged stores only: this device wrote the value itself.
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
