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

extension WaymarkError {
  static func brokenStore(_ home: Home, _ error: any Error) -> WaymarkError {
    .failed(
      .storeBroken,
      "The disk of \(home.path) failed (\(error)): nothing goes on with it, and whether the last change was written shows "
        + "at the next start. Nothing that was acknowledged before is lost by this.",
      next: "see what is wrong with the disk (dmesg), then \(waymark: "run"): it verifies the store first")
  }
}
