// Protocol/store.md, "A disk that fails"

import Storage

extension Node {
  /// What to do when the store can't be trusted any more: the process has to end, without another write.
  public func whenStoreBreaks(_ body: @escaping @Sendable (WaymarkError) -> Void) { breaks = body }

  /// The disk did not keep what it was told to, or the store is damaged: see `DiskState`. The next start verifies
  /// everything before it serves anybody.
  func breakStore(_ error: any Error) {
    let failure = WaymarkError.brokenStore(home, error)
    broken = failure
    nodeChanged()
    store.leaveLogOnClose()
    home.markSuspect()
    log.error("store", "\(failure.message) Next: \(failure.next ?? "")")
    breaks?(failure)
  }

  /// Refuses everything once the store is broken.
  func checkStore() throws {
    if let broken { throw broken }
  }
}
