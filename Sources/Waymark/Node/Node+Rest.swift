import Engine
import Storage

extension Node {
  /// Keeps the write-ahead log short without a checkpoint inside anyone's transaction: it waits for a quiet
  /// moment, unless the log has grown so large that reading suffers more than waiting. A node that begins gives it its
  /// length then.
  ///
  /// - Parameter report: of the newest transaction; nil when the node begins.
  func scheduleRest(after report: CommitReport? = nil) {
    let pages = store.pendingPages
    guard pages > Self.pagesWorthwhile || store.lacksIndex || report == nil else { return }
    // On a small disk the write-ahead log alone would take all of the room.
    if pages > min(Self.pagesMax, Int(ballast.diskBytes / 8 / Self.pageBytes)) {
      tidy { try $0.checkpoint() }
    }
    let entries = report?.entryCount ?? .max
    // A change now and then is quiet enough: it does not put off what has been waiting for.
    if isRestDue, entries < Self.entriesOfQuiet { return }
    isRestDue = true
    timers.schedule(.rest, after: wait(after: entries)) { [weak self] in
      self?.assumeIsolated { node in
        node.isRestDue = false
        node.tidy { try $0.rest() }
        node.reserveLog()
      }
    }
  }

  /// What few changes by hand have written is soon moved, and so the log stays within its length.
  private func wait(after entries: Int) -> Int64 {
    entries < Self.entriesByHand && !store.lacksIndex ? Self.pauseMilliseconds : Self.quietMilliseconds
  }

  /// Not on a disk that has little room: there the log is as long as it must be.
  private func reserveLog() {
    guard replicator.disk.canStore, ballast.hasRoom, ballast.diskBytes > Self.diskBytesOfReserve else {
      return
    }
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

  private static let pageBytes: UInt64 = 4_096
  private static let diskBytesOfReserve: UInt64 = 1 << 30
  private static let pagesWorthwhile = 600
  private static let pagesMax = 32_768
  private static let entriesOfQuiet = 500
  private static let entriesByHand = 20
  private static let quietMilliseconds: Int64 = 500
  private static let pauseMilliseconds: Int64 = 20
}
