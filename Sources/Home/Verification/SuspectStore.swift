// Sources/store.md, "A disk that fails"

import Platform
import Reasons
import Storage
import Verification
import Wire

/// A store whose disk failed, and which must be verified before any other use.
package enum SuspectStore {
  /// If the store is suspect, rewrites its write-ahead log and verifies it; otherwise does nothing.
  ///
  /// - Parameters:
  ///   - forBackup: whether intact signed data is enough. A backup contains nothing else, and restoring it repairs the
  ///     rest.
  ///   - progress: called on any thread.
  /// - Throws: `WaymarkError` if anything differs from the signed log; the store stays suspect.
  package static func check(
    _ home: Home, forBackup: Bool = false, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws {
    guard home.isSuspect, home.hasStore else { return }
    let outcome: DeepOutcome
    do {
      try rewriteLog(home)
      let lock = try HomeLock(home)
      defer { lock.release() }
      outcome = DeepOutcome(
        found: try await DeepCheck(home).run(withFiles: false, progress), home: home, wall: systemWall(),
        isClosed: true)
    } catch {
      throw WaymarkError.opening(home, error)
    }
    if outcome.found.isClean { return home.forgetSuspicion() }
    if forBackup, outcome.found.isLogWhole { return }
    throw WaymarkError.failed(
      .storeDamaged,
      "The disk of \(home.path) failed, and its store is damaged: \(outcome.text).",
      next: outcome.next ?? .waymark("verify --deep"))
  }

  /// Rewrites the write-ahead log, because after a failed sync the system may report data as written that is not on the
  /// disk.
  private static func rewriteLog(_ home: Home) throws {
    // Opening the store takes the lock of the home.
    try Store(path: home.store).rewriteLog()
  }
}
