import Storage

extension Node {
  /// Keeps the write-ahead log short without a checkpoint inside anyone's transaction: it waits for a quiet
  /// moment, unless the log has grown so large that reading suffers more than waiting.
  ///
  /// - Parameter report: of the newest transaction; nil when the node begins.
  func scheduleRest(after report: CommitReport? = nil) {
    let pages = store.pendingPages
    guard pages > Self.pagesWorthwhile || store.lacksIndex else { return }
    // On a small disk the write-ahead log alone would take all of the room.
    if pages > min(Self.pagesMax, Int(ballast.diskBytes / 8 / Self.pageBytes)) {
      tidy { try $0.checkpoint() }
    }
    // A change now and then is quiet enough: it does not put off what has been waiting for.
    if isRestDue, let report, report.entryCount < Self.entriesOfQuiet { return }
    isRestDue = true
    timers.schedule(.rest, after: Self.quietMilliseconds) { [weak self] in
      self?.assumeIsolated { node in
        node.isRestDue = false
        node.tidy { try $0.rest() }
      }
    }
  }

  private func tidy(_ body: (Store) throws -> Void) {
    do {
      try body(store)
    } catch  where isBrokenStore(error) {
      storeBroke(error)
    } catch {
      log.warning("store", "the store could not be tidied, and will be after the next change: \(error)")
    }
  }

  /// Moves the write-ahead log into the database and gives its room back to the disk.
  func shrinkLog() { tidy { try $0.checkpoint(isShrinking: true) } }

  private static let pageBytes: UInt64 = 4_096
  private static let pagesWorthwhile = 1_000
  private static let pagesMax = 32_768
  private static let entriesOfQuiet = 500
  private static let quietMilliseconds: Int64 = 500
}
