// Protocol/store.md, "A full disk", "A disk that fails" and "A damaged change set"

import Engine
import Replication
import Storage
import Transport
import Wire

/// Looks after the store of a node: checkpoints, room on the disk, the background check, and backups.
///
/// It also decides what to do when the disk fails: it refuses writes while the disk is full, and ends the node when the
/// store can't be trusted.
final class StoreMaintenance {
  let loop: EventLoop
  let home: Home
  let log: NodeLog
  let ballast: Ballast
  private var checkpointing = Checkpointing()
  /// Present once the store can't be trusted; see `Node.whenStoreBreaks(_:)`.
  private(set) var failure: WaymarkError?
  var failed: (@Sendable (WaymarkError) -> Void)?
  /// Whether `verify --deep` runs.
  var isVerifying = false

  init(_ loop: EventLoop, home: Home, log: NodeLog) {
    self.loop = loop
    self.home = home
    self.log = log
    ballast = Ballast(home)
    ballast.hold()
  }

  private var store: Store { loop.store }

  private var replicator: Replicator { loop.replicator }

  /// The node begins to serve.
  func start() {
    scheduleCheckpoint()
    replicator.handle(DiskInput.started(lacksBallast: ballast.isWaitingForRoom), now: loop.time)
    scheduleCheck()
  }

  // MARK: Room

  /// Refuses to write, with a sentence, while the disk is full or has failed.
  func checkDisk() throws {
    if let failure { throw failure }
    if replicator.disk.isFull { lookAtDisk() }
    guard !replicator.disk.isFull else { throw WaymarkError.diskFull(home) }
  }

  /// Writes something that needs room on a working disk; a failure of the disk becomes one with a sentence.
  func withRoom(_ body: () throws -> Void) throws {
    do { try body() } catch { throw notWritten(error) }
  }

  /// Records why nothing was written, and returns the error for a person.
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
      log.error("store", "the disk is full; nothing is stored until there is room")
    case .holdBallast: ballast.hold()
    case .look(let wait): loop.schedule(.disk, after: wait) { $0.maintenance.lookAtDisk() }
    case .stop(let error): stop(error)
    case .report(let error): log.error("store", "the store refused a transaction: \(error)")
    case .resume: log.info("store", "there is room on the disk again")
    case .shrinkLog: break
    }
  }

  /// Ends the node's work; the next start verifies the whole store before it serves anybody.
  private func stop(_ error: any Error) {
    let failure = WaymarkError.brokenStore(home, error)
    self.failure = failure
    loop.nodeChanged()
    store.leaveLogOnClose()
    home.markSuspect()
    log.error("store", "\(failure.message) Next: \(failure.next ?? "")")
    failed?(failure)
  }

  // MARK: Checkpoints

  /// Sets the timer for the next checkpoint, or makes one at once.
  func scheduleCheckpoint(after report: CommitReport? = nil) {
    guard
      let step = checkpointing.step(
        after: report, pages: store.pendingPages, lacksIndex: store.lacksIndex, diskBytes: ballast.diskBytes)
    else { return }
    if step.isOverdue { tidy { try $0.checkpoint() } }
    guard let wait = step.wait else { return }
    checkpointing.isDue = true
    loop.schedule(.checkpoint, after: wait) { $0.maintenance.checkpoint() }
  }

  private func checkpoint() {
    checkpointing.isDue = false
    tidy { try $0.rest() }
    guard replicator.disk.canStore, Checkpointing.reservesLog(ballast) else { return }
    tidy { try $0.reserveLog() }
  }

  private func tidy(_ body: (Store) throws -> Void) {
    do {
      try body(store)
    } catch  where isBrokenStore(error) {
      replicator.storeFailed(error)
    } catch {
      log.warning("store", "the store could not be tidied, and will be after the next change: \(error)")
    }
  }

  // MARK: The background check

  /// Continues the background check of the store, while the node serves.
  ///
  /// - Parameter wait: how long until then; nil for the next part of the check.
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
    // Nothing is read while much is being written.
    let wait = replicator.continueStoreCheck(isQuiet: !checkpointing.isDue, now: loop.time)
    if store.damagedSets != damaged { loop.afterTurn() }
    if let wait { scheduleCheck(after: wait) }
  }

  // MARK: Backups

  /// Removes automatic backups that are too many, and logs each.
  func pruneBackups() {
    guard (try? home.storage.directory(for: "")) != nil else { return }
    for name in home.pruneAutomaticBackups() {
      log.info("backup", "removed the old automatic backup \(home.backups)/\(name)")
    }
  }
}
