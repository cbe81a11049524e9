import Storage

extension Node {
  /// Keeps the write-ahead log short without a checkpoint inside anyone's transaction: it waits for a quiet
  /// moment, unless the log has grown so large that reading suffers more than waiting.
  func scheduleCheckpoint() {
    let pages = store.pendingPages
    if pages > Self.pagesMax { return checkpoint() }
    guard pages > Self.pagesWorthwhile else { return }
    let now = wall()
    timers.schedule(.checkpoint, at: now + Self.quietMilliseconds, now: now) { [weak self] in
      self?.assumeIsolated { $0.checkpoint() }
    }
  }

  private func checkpoint() {
    do {
      try store.checkpoint()
    } catch {
      log.warning("store", "the write-ahead log could not be moved into the database: \(error)")
    }
  }

  private static let pagesWorthwhile = 1_000
  private static let pagesMax = 32_768
  private static let quietMilliseconds: Int64 = 500
}
