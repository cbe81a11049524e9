// Protocol/merge.md, "Overrides"

import Membership
import Records
package import Replication
package import Storage
package import Wire

/// The overrides (`mirror`, `assert`) of one device: at most one is pending, and the last one that was carried out is
/// watched for concurrent changes.
///
///     begin ──▶ pending ──all change sets are here──▶ carried out, traced
///                 └──dropped: sync was turned off──▶ none
///
/// The pending one is stored, so that a node that ends meanwhile resumes it at its next start.
package struct Override: Sendable {
  package internal(set) var pending: OverrideRequest?
  package internal(set) var trace: OverrideTrace?
  /// The result of the newest one, for the command that waits for it.
  package internal(set) var latest: (operation: OperationID, result: Result<OverrideOutcome, any Error>)?

  init(_ store: Store, preference: Bool) throws {
    if preference {
      pending = try store.meta(MetaKey.pendingOverride).map { try OverrideRequest(encoded: $0) }
    } else {
      // Without sync it was requested at the very moment at which the node ended: nothing of it has begun, and it must
      // not be carried out when sync is turned on for another reason. A full disk may keep it until sync is turned off.
      try? Self.forget(store)
    }
    trace = try store.meta(MetaKey.lastOverride).map { try OverrideTrace(encoded: $0) }
  }

  /// Removes a pending one from a store.
  package static func forget(_ store: Store) throws {
    guard try store.meta(MetaKey.pendingOverride) != nil else { return }
    try store.setMeta(MetaKey.pendingOverride, nil)
  }
}

/// An override that a person has confirmed.
package struct OverrideRequest: Sendable {
  package let verb: String
  /// The operation that it becomes.
  package let operation: OperationID
  /// Whose state is wanted; nil for this device's own.
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

/// An override that was carried out, and the records that other devices have changed without knowing of it.
package struct OverrideTrace: Sendable {
  package let request: OverrideRequest
  /// The local number of the newest set that was checked.
  package var checked: Int64
  package var overtaken: Set<RecordKey> = []
}

/// What an override has changed.
package struct OverrideOutcome: Sendable {
  /// Nil if nothing differed.
  package let operation: OperationID?
  package let written: [KindNumber: CommitReport.EntryCounts]
  /// Records that were changed on other devices after it was requested.
  package let elsewhere: [KindNumber: Int]
}

/// How far an override has come.
package enum OverrideEvent: Sendable {
  case began(OverrideRequest)
  /// All that it needs is here; what it changes is written next.
  case ready(OverrideRequest)
  /// Its change sets are durable, none if nothing differed or they were written before; it is noted as done next.
  case written(OverrideRequest, [ChangeSetID])
  case finished(OverrideRequest)
  case dropped(OverrideRequest)
}

extension Replicator {
  /// Keeps a request durably; a pending one is replaced. The shell turns sync on next, without which it can't be
  /// carried out, and then calls `finishOverride`.
  ///
  /// - Throws: `WriteRefusal`, and what the store throws; then nothing has changed.
  package func begin(_ request: OverrideRequest) throws {
    guard !isSpent else { throw WriteRefusal.incarnationsSpent }
    guard canStore else { throw WriteRefusal.cannotStore }
    try store.setMeta(MetaKey.pendingOverride, request.encoded)
    override.pending = request
    shell?.note(.override(.began(request)))
  }

  /// Change sets that have to be folded before the difference is known; those that the circle does not admit are not
  /// waited for.
  package func missing(_ request: OverrideRequest) throws -> UInt64 {
    let evaluation = circle.evaluation
    return try store.missing(request.revert) { evaluation.admission(of: $0) == .open }
  }

  /// Carries out the pending override as soon as all that it needs is here; every turn ends with this.
  package func finishOverride(now: Now) {
    guard let request = override.pending, isOpen, canStore, !isSpent, circle.evaluation.isMember(device)
    else { return }
    // Writing is a turn of its own, which must not begin it a second time.
    override.pending = nil
    do {
      guard try missing(request) == 0 else {
        override.pending = request
        return
      }
      override.latest = (request.operation, .success(try carryOut(request, now)))
    } catch {
      storeFailed(error)
      // With room on the disk it is tried again, else at the next start.
      if disk.isFull { override.pending = request }
      override.latest = (request.operation, .failure(error))
    }
  }

  private func carryOut(_ request: OverrideRequest, _ now: Now) throws -> OverrideOutcome {
    shell?.note(.override(.ready(request)))
    let plan = try store.plan(request.revert, now: now.wall)
    let key = OperationKey(id: request.operation, device: device)
    var sets: [ChangeSetID] = []
    // The last run may have ended right after the write.
    if try !store.isWritten(key), !plan.changes.drafts.isEmpty {
      sets = try write(
        OperationDraft(id: request.operation, verb: request.verb), plan.changes.drafts,
        leastClock: plan.changes.leastClock, now: now)
    }
    shell?.note(.override(.written(request, sets)))
    // Its sets may depend on parked ones, and not show yet.
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

  /// Forgets an override that has not been carried out.
  package func dropOverride() throws {
    try Override.forget(store)
    guard let request = override.pending else { return }
    override.pending = nil
    shell?.note(.override(.dropped(request)))
  }

  // MARK: Afterwards

  /// Finds changes of devices that did not know of the last override, to the records that it wrote.
  func traceOvertaking() {
    guard var trace = override.trace else { return }
    trying {
      let key = OperationKey(id: trace.request.operation, device: device)
      guard let operation = try store.operation(key) else { return }
      let known = trace.overtaken.count
      trace.overtaken.formUnion(try store.overtaking(operation, &trace.checked))
      override.trace = trace
      // What was checked without a find is checked again after a restart.
      if trace.overtaken.count > known { try store.setMeta(MetaKey.lastOverride, trace.encoded) }
    }
  }

  /// The sets have new numbers, so those that were checked can't be told from the others any more.
  func traceOvertakingFromStart() {
    guard override.trace != nil else { return }
    override.trace?.checked = 0
    trying { try store.setMeta(MetaKey.lastOverride, override.trace?.encoded) }
    traceOvertaking()
  }
}

// MARK: As the store keeps them

extension MetaKey {
  /// The pending override, and the last one that was carried out.
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
