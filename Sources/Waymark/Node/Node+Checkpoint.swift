import Storage

extension Node {
  /// Keeps the write-ahead log short without a checkpoint inside anyone's transaction: it waits for a quiet
  /// moment, unless the log has grown so large that reading suffers more than waiting.
  func scheduleCheckpoint() {
    let pages = store.pendingPages
    guard pages > Self.pagesWorthwhile else { return }
    // On a small disk the write-ahead log alone would take all of the room.
    if pages > min(Self.pagesMax, Int(ballast.diskBytes / 8 / Self.pageBytes)) { return checkpoint() }
    timers.schedule(.checkpoint, after: Self.quietMilliseconds) { [weak self] in
      self?.assumeIsolated { $0.checkpoint() }
    }
  }

  private func checkpoint() {
    do {
      try store.checkpoint()
    } catch  where isBrokenStore(error) {
      storeBroke(error)
    } catch {
      log.warning("store", "the write-ahead log could not be moved into the database: \(error)")
    }
  }

  /// Moves the write-ahead log into the database and gives its room back to the disk.
  func shrinkLog() {
    do {
      try store.checkpoint(isShrinking: true)
    } catch  where isBrokenStore(error) {
      storeBroke(error)
    } catch {
      log.warning("store", "the write-ahead log could not give its room back: \(error)")
    }
  }

  private static let pageBytes: UInt64 = 4_096
  private static let pagesWorthwhile = 1_000
  private static let pagesMax = 32_768
  private static let quietMilliseconds: Int64 = 500
}
