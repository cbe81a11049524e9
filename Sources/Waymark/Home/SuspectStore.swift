// Protocol/store.md, "A disk that fails"

import Foundation
import Storage
package import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A store that is to be verified before anything else is done with it, because the disk failed it.
package enum SuspectStore {
  /// Writes its log anew and verifies the store if it is suspect; does nothing else.
  ///
  /// - Parameter events: progress.
  /// - Throws: `WaymarkError` if anything is not as the signed log says; then the store stays suspect.
  package static func check(
    _ home: Home, events: @escaping @Sendable (JSON) -> Void = { _ in }
  ) async throws {
    guard home.isSuspect, home.hasStore else { return }
    let request = CommandRequest("verify", ["deep": true])
    let document: JSON
    do {
      try rewriteLog(home)
      document = try await DeepCheck(closed: home).runClosed(request, events)
    } catch {
      throw WaymarkError.opening(home, error)
    }
    guard document["ok"]?.boolean == true else {
      throw WaymarkError.failed(
        "store_damaged",
        "The disk of \(home.path) failed, and its store is damaged: \(document["text"]?.string ?? "").",
        next: document["next"]?.string ?? "waymark verify --deep")
    }
    home.forgetSuspicion()
  }

  /// What the system takes for written since a sync failed, the disk may not have.
  private static func rewriteLog(_ home: Home) throws {
    // Opening it takes the lock of the home.
    try Store(path: home.store).rewriteLog()
  }
}

extension Home {
  private var suspicion: String { path + "/verify-first" }

  var isSuspect: Bool { access(suspicion, F_OK) == 0 }

  /// As far as the disk still does anything; a start after a loss of power has only what is durable anyway.
  func markSuspect() {
    let file = open(suspicion, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { return }
    _ = fsync(file)
    _ = close(file)
  }

  fileprivate func forgetSuspicion() { unlink(suspicion) }
}
