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
    try checkDisk()
    let operation = OperationDraft(id: id, verb: verb, target: target)
    do {
      try replicator.write(operation, drafts, leastClock: leastClock, now: time)
    } catch {
      throw notKept(error)
    }
    afterTurn()
    return id
  }

  /// Refuses to write where that would continue a log that another directory may write.
  func checkIncarnation() throws {
    guard replicator.isSpent else { return }
    let notice = NodeStatus.Notice.incarnationsSpent
    throw WaymarkError.failed(
      notice.reason.rawValue, notice.text.capitalizedFirst + ".", next: notice.next ?? "waymark members")
  }
}
