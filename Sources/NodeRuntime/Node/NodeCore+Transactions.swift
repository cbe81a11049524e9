import Engine
import Enrolment
import Home
package import Membership
package import Model
package import Reasons
package import Replication
import Storage
package import Wire

extension NodeCore {
  /// Writes one operation: authors its change sets, commits them durably, then announces them to peers.
  ///
  /// Entries of both lanes become sets of the same operation, in one transaction.
  ///
  /// - Parameter leastClock: the minimum clock of the first set in the records lane. It keeps the set from being dated
  ///   before the time of change that a profile itself carries.
  @discardableResult
  package func write(
    _ verb: String, target: OperationID? = nil, _ drafts: consuming [EntryDraft], leastClock: Clock = .zero,
    id: OperationID = OperationID(random16())
  ) throws -> OperationID {
    let operation = OperationDraft(id: id, verb: verb, target: target)
    return try write(OperationContents(operation, consume drafts, seed: random16), leastClock: leastClock)
  }

  /// Writes one operation whose entries have been encoded already.
  @discardableResult
  package func write(_ contents: consuming OperationContents, leastClock: Clock = .zero) throws -> OperationID
  {
    try checkAdmitted()
    try checkIncarnation()
    try maintenance.checkDisk()
    let id = contents.operation.id
    do {
      try replicator.write(consume contents, leastClock: leastClock, now: loop.time)
    } catch ChangeSetError.beyondQuota(let lane) {
      throw quotaUsed(lane)
    } catch {
      throw maintenance.notWritten(error)
    }
    loop.afterTurn()
    return id
  }

  /// Writes a prepared change as one operation. Returns nil if the change is empty.
  @discardableResult
  package func write(_ change: PreparedChange) throws -> OperationID? {
    guard !change.isEmpty else { return nil }
    return try write(change.verb, change.entries, leastClock: change.leastClock)
  }

  /// Adds statements of this device to the circle, and sends them to peers.
  ///
  /// - Throws: `WaymarkError` with the code `disk_full`, because a statement that can't be stored would be lost if the
  ///   node ended.
  package func add(_ statements: [Statement]) throws {
    try maintenance.checkDisk()
    loop.handle(.statementsAdded(statements.map(\.bytes)))
  }

  /// Throws if an operation does not fit in this device's quota, without writing it.
  package func checkQuota(_ contents: consuming OperationContents) throws {
    do {
      try replicator.checkQuota(consume contents, now: loop.time)
    } catch ChangeSetError.beyondQuota(let lane) {
      throw quotaUsed(lane)
    }
  }

  /// Throws if this device can't write any more: it must not continue its log, because another directory may be writing
  /// the same log, and it can't begin a new one, because it has used up its incarnations.
  package func checkIncarnation() throws {
    guard replicator.isSpent else { return }
    let notice = NodeStatus.Notice.incarnationsSpent
    throw WaymarkError.failed(
      notice.reason, "\(sentence: notice.text).", next: notice.next ?? .waymark("members"))
  }

  /// Returns the error for a change that would exceed this device's quota in a lane.
  package func quotaUsed(_ lane: Lane) -> WaymarkError {
    let device = identity.device
    let quota = circle.evaluation.quota(of: device, lane)
    let used = store.quotaUsages().first { ($0.device, $0.lane) == (device, lane) }?.bytes ?? 0
    let option = lane == .settings ? " --settings" : ""
    let words =
      "grant \(shellWord(name(of: device))) \(NodeStatus.Notice.suggestedSize(quota))\(option)"
    return WaymarkError.failed(
      .quotaUsed,
      "This change does not fit in this device's quota of \(sizeText(quota)) of \(LocalizableText(word: "\(lane)")): "
        + "\(sizeText(used)) are written, and part of the quota is reserved for restored copies. Nothing was changed.",
      next: .waymark(words, on: "an admin device"))
  }

  /// Throws unless this device is a member of the circle.
  package func checkAdmitted() throws {
    try checkKeysAdmitted()
    try checkNotExcluded()
  }

  /// Throws if this device was revoked, lost its membership or has asked to leave.
  package func checkNotExcluded(exitCode: Int32 = ExitCode.failed) throws {
    guard let exclusion = connections.exclusion ?? connections.revocationStatus.departure else { return }
    throw WaymarkError(excluded: exclusion, exitCode: exitCode)
  }

  /// Throws if the circle has not admitted this device's keys yet, which can be the case after a restore.
  package func checkKeysAdmitted() throws {
    guard connections.waiting != nil else { return }
    throw WaymarkError.failed(
      .notAdmitted, "\(sentence: AwaitedAdmission.sentence).", next: AwaitedAdmission.next)
  }
}

extension WaymarkError {
  /// The error for an operation on a device that is no longer a member.
  package init(excluded notice: NodeStatus.Notice, exitCode: Int32 = ExitCode.failed) {
    self.init(
      exitCode: exitCode, code: notice.reason, message: "\(sentence: notice.text).",
      next: notice.next ?? .waymark("members"))
  }
}
