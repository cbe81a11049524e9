import Engine
import Membership
import Replication
import Storage
import Wire

extension Node {
  /// Writes what a person did: authors its change sets, commits them durably, then tells the peers.
  ///
  /// Entries of both lanes become sets of the one operation, in one transaction.
  ///
  /// - Parameter leastClock: raises the first clock of the records lane (a profile's own time of change).
  @discardableResult
  func write(
    _ verb: String, target: OperationID? = nil, _ drafts: consuming [EntryDraft], leastClock: Clock = .zero,
    id: OperationID = OperationID(random16())
  ) throws -> OperationID {
    try checkAdmitted()
    try checkIncarnation()
    try maintenance.checkDisk()
    let operation = OperationDraft(id: id, verb: verb, target: target)
    do {
      try replicator.write(operation, drafts, leastClock: leastClock, now: loop.time)
    } catch {
      throw maintenance.notWritten(error)
    }
    loop.afterTurn()
    return id
  }

  /// Refuses to write where that would continue a log that another directory may write.
  func checkIncarnation() throws {
    guard replicator.isSpent else { return }
    let notice = NodeStatus.Notice.incarnationsSpent
    throw WaymarkError.failed(
      notice.reason, notice.text.capitalizedFirst + ".", next: notice.next ?? .waymark("members"))
  }
  /// Refuses, in words, what only a member of the circle can do.
  func checkAdmitted() throws {
    try checkKeysAdmitted()
    try checkNotExcluded()
  }

  /// Refuses, in words, what needs a device that is not out of the circle.
  func checkNotExcluded() throws {
    guard let exclusion = connections.exclusion else { return }
    throw WaymarkError(excluded: exclusion)
  }

  /// Refuses, in words, what needs keys that a circle has taken in, if only once.
  func checkKeysAdmitted() throws {
    guard connections.waiting != nil else { return }
    throw WaymarkError.failed(
      .notAdmitted, AwaitedAdmission.sentence.capitalizedFirst + ".", next: AwaitedAdmission.next)
  }
}

extension WaymarkError {
  /// This device is out of the circle.
  init(excluded notice: NodeStatus.Notice, exitCode: Int32 = ExitCode.failed) {
    self.init(
      exitCode: exitCode, code: notice.reason, message: notice.text.capitalizedFirst + ".",
      next: notice.next ?? .waymark("members"))
  }
}
