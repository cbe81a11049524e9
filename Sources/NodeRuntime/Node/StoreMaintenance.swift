// Sources/store.md, "A full disk", "A disk that fails" and "A damaged change set"

import Engine
import Home
package import Reasons
import RecordTables
import Replication
import Storage
import Transport
import Wire

/// The maintenance of a node's store: checkpoints, disk space, the background check, and pruning of backups.
///
/// It also handles a failing disk: it refuses writes while the disk is full, and stops the node when the store can no
/// longer be trusted.
package final class StoreMaintenance {
  let loop: EventLoop
  let home: Home
  let logger: NodeLog
  let ballast: Ballast
  private var checkpointing = Checkpointing()
  /// The error to show once the store can no longer be trusted; nil until then. See `StoreHealth`.
  package private(set) var failure: WaymarkError?
  /// Whether a `verify --deep` is running.
  package var isVerifying = false

  init(_ loop: EventLoop, home: Home, log: NodeLog) {
    self.loop = loop
    self.home = home
    self.logger = log
    ballast = Ballast(home)
    ballast.hold()
  }

  private var store: Store { loop.store }

  private var replicator: Replicator { loop.replicator }

  /// Starts the maintenance timers when the node begins to serve.
  func start() {
    scheduleCheckpoint()
    replicator.handle(DiskInput.started(lacksBallast: ballast.isWaitingForRoom), now: loop.time)
    scheduleCheck()
  }

  /// Begins again with a store that was opened again, and verified if its disk had failed.
  func reopen() {
    checkpointing = Checkpointing()
    failure = nil
    ballast.hold()
  }

  // MARK: Disk space

  /// Throws `WaymarkError` while the disk is full or has failed.
  package func checkDisk() throws {
    if let failure { throw failure }
    if replicator.disk.isFull { lookAtDisk() }
    guard !replicator.disk.isFull else { throw WaymarkError.diskFull(home) }
  }

  /// Runs a write, and converts a disk failure to a `WaymarkError`.
  package func withRoom(_ body: () throws -> Void) throws {
    do { try body() } catch { throw notWritten(error) }
  }

  /// Records a disk failure, and returns the error to show; other errors are returned unchanged.
  func notWritten(_ error: any Error) -> any Error {
    guard isNoRoom(error) || isBrokenStore(error) else { return error }
    replicator.storeFailed(error)
    return isNoRoom(error) ? WaymarkError.diskFull(home) : failure ?? error
  }

  private func lookAtDisk() { loop.turn { $0.handle(.looked(hasRoom: ballast.hasRoom), now: loop.time) } }

  func perform(_ effect: DiskEffect) {
    switch effect {
    case .shrinkBallast:
      loop.nodeChanged()
      ballast.shrinkToReserve()
      logger.error("store", "the disk is full; nothing is stored until there is free space")
    case .holdBallast: ballast.hold()
    case .look(let wait): loop.schedule(.disk, after: wait) { $0.maintenance.lookAtDisk() }
    case .stop(let error): stop(error)
    case .report(let error): logger.error("store", "a transaction failed: \(error)")
    case .resume: logger.info("store", "the disk has free space again")
    case .shrinkLog: break
    }
  }

  /// Stops the node. The next start verifies the whole store before it connects to peers.
  private func stop(_ error: any Error) {
    let failure = WaymarkError.brokenStore(home, error)
    self.failure = failure
    // Reads have to run on the node's queue, which reports the failure.
    loop.core?.readQueue?.close()
    // All watches end.
    loop.watching.changedEverything()
    store.leaveLogOnClose()
    home.markSuspect()
    logger.error("store", "\(failure.message) Next: \(failure.next ?? "")")
  }

  // MARK: Checkpoints

  /// Checkpoints before the store is closed. If the disk fails, the log is kept, and the store is verified when it is
  /// opened next.
  func restBeforeClosing() {
    do {
      try store.rest()
    } catch  where isBrokenStore(error) {
      store.leaveLogOnClose()
      home.markSuspect()
      logger.error("store", "can't checkpoint before closing: \(error)")
    } catch {}
  }

  /// Sets the timer for the next checkpoint, and checkpoints at once if one is overdue.
  func scheduleCheckpoint(after report: CommitReport? = nil) {
    guard
      let step = checkpointing.step(
        after: report, pages: store.pendingPages, lacksIndex: store.lacksIndex, isErasing: isErasing,
        diskBytes: ballast.diskBytes)
    else { return }
    if step.isOverdue { tidy { try $0.checkpoint() } }
    guard let wait = step.wait else { return }
    checkpointing.isDue = true
    loop.schedule(.checkpoint, after: wait) { $0.maintenance.checkpoint() }
  }

  /// Whether erased values may still be in the write-ahead log.
  private var isErasing: Bool { (try? store.isErasePending) ?? false }

  private func checkpoint() {
    checkpointing.isDue = false
    tidy { try $0.rest() }
    guard replicator.disk.canStore else { return }
    // Something that reads the log, such as a backup, can keep erased values in it for longer.
    if isErasing {
      loop.schedule(.checkpoint, after: Checkpointing.retryMilliseconds) { $0.maintenance.checkpoint() }
    }
    guard Checkpointing.reservesLog(ballast) else { return }
    tidy { try $0.reserveLog() }
  }

  private func tidy(_ body: (Store) throws -> Void) {
    do {
      try body(store)
    } catch  where isBrokenStore(error) {
      replicator.storeFailed(error)
    } catch {
      logger.warning("store", "checkpoint failed, retrying after the next change: \(error)")
    }
  }

  // MARK: The background check

  /// Schedules the next step of the background check, which runs while the node serves.
  ///
  /// - Parameter wait: the delay in milliseconds; nil for the check's own schedule.
  private func scheduleCheck(after wait: Moment? = nil) {
    loop.schedule(.storeCheck, after: wait ?? replicator.storeCheck.wait(now: loop.wall)) { node in
      node.loop.timers.forget(.storeCheck)
      guard node.isServing else { return }
      node.maintenance.check()
    }
  }

  private func check() {
    guard failure == nil else { return }
    let damaged = store.damagedSets
    // The check does not compete with a burst of writes.
    let wait = replicator.continueStoreCheck(isQuiet: !checkpointing.isDue, now: loop.time)
    if store.damagedSets != damaged { loop.afterTurn() }
    if let wait { scheduleCheck(after: wait) }
  }

  // MARK: Backups

  /// Removes automatic backups beyond the number to keep, and logs each removal.
  package func pruneBackups() {
    guard (try? home.storage.directory(for: "")) != nil else { return }
    for name in home.pruneAutomaticBackups() {
      logger.info("backup", "removed the old automatic backup \(home.backups)/\(name)")
    }
  }
}
