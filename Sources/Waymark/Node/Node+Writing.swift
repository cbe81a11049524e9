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
    try checkStore()
    do {
      try replicator.write(
        OperationDraft(id: id, verb: verb, target: target), drafts, leastClock: leastClock, now: wall())
    } catch  where isNoRoom(error) {
      diskIsFull()
      throw CommandFailure.diskFull(home)
    } catch  where isBrokenStore(error) {
      throw storeBroke(error)
    }
    finishDirection()
    evaluateWaiters()
    return id
  }
}
