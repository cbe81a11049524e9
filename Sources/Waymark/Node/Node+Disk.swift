// Protocol/store.md, "A full disk", "A disk that fails" and "A damaged change set"

import Engine
import Replication
import Storage
import Wire

extension Node {
  /// What to do when the store can't be trusted any more: the process has to end, without another write.
  public func whenStoreBreaks(_ body: @escaping @Sendable (WaymarkError) -> Void) { breaks = body }

  /// Refuses what would be written while the disk is full or has failed, in words.
  func checkDisk() throws {
    if let broken { throw broken }
    if replicator.disk.isFull { lookAtDisk() }
    guard !replicator.disk.isFull else { throw WaymarkError.diskFull(home) }
  }

  /// What the disk's state asks of the node.
  func perform(_ effect: DiskEffect) {
    switch effect {
    case .shrinkBallast:
      nodeChanged()
      ballast.shrinkToReserve()
      log.error("store", "the disk is full; nothing is stored until there is room")
    case .holdBallast: ballast.hold()
    case .look(let wait):
      timers.schedule(.disk, after: wait) { [weak self] in self?.assumeIsolated { $0.lookAtDisk() } }
    case .stop(let error):
      // The next start verifies everything before it serves anybody.
      let failure = WaymarkError.brokenStore(home, error)
      broken = failure
      nodeChanged()
      store.leaveLogOnClose()
      home.markSuspect()
      log.error("store", "\(failure.message) Next: \(failure.next ?? "")")
      breaks?(failure)
    case .report(let error):
      log.error("store", "the store refused a transaction: \(error)")
      notice(.storeFailed("\(error)"))
    case .resume: log.info("store", "there is room on the disk again")
    case .shrinkLog: break
    }
  }

  private func lookAtDisk() { turn { $0.handle(.looked(hasRoom: ballast.hasRoom), now: time) } }

  /// Does what needs room on a disk that works, and says so where there is none, or it fails.
  func withRoom(_ body: () throws -> Void) throws {
    do { try body() } catch { throw notKept(error) }
  }

  /// Takes note of why nothing was written; gives it in the words of a command.
  func notKept(_ error: any Error) -> any Error {
    guard isNoRoom(error) || isBrokenStore(error) else { return error }
    replicator.storeFailed(error)
    return isNoRoom(error) ? WaymarkError.diskFull(home) : broken ?? error
  }

  /// Goes on with the background check of the store, while the node serves.
  ///
  /// - Parameter wait: how long until then; nil for the next part of the check.
  func scheduleStoreCheck(after wait: Moment? = nil) {
    timers.schedule(.storeCheck, after: wait ?? replicator.storeCheck.wait(now: wall())) { [weak self] in
      self?.assumeIsolated { node in
        node.timers.forget(.storeCheck)
        guard node.network != nil, node.broken == nil else { return }
        let damaged = node.store.damagedSets
        // Nothing is read while much is being written.
        let wait = node.replicator.continueStoreCheck(isQuiet: !node.checkpointing.isDue, now: node.time)
        if node.store.damagedSets != damaged { node.afterTurn() }
        if let wait { node.scheduleStoreCheck(after: wait) }
      }
    }
  }
}
