import Storage
import Synchronization

/// The exclusive lock of a home's store, held while the store is created or replaced.
package final class HomeLock: Sendable {
  private let lock: Mutex<StoreLock?>

  package init(_ home: Home) throws {
    do {
      lock = Mutex(try StoreLock(store: home.store))
    } catch StoreError.storeIsHeld(let holder) {
      let who = holder.map { "process \($0)" } ?? "another process"
      throw WaymarkError(
        exitCode: ExitCode.storeHeld, code: .storeHeld,
        message: "The store in \(home.path) is in use by \(who); this command needs exclusive access.",
        next: "stop that process, then try again")
    }
  }

  package func release() { lock.withLock { $0 = nil } }
}
