import LogStorage
import Reasons
import Storage
import Synchronization

/// The exclusive lock of a home's store, held while the store is created or replaced.
package final class HomeLock: Sendable {
  private let lock: Mutex<StoreLock?>

  package init(_ home: Home) throws {
    do {
      lock = Mutex(try StoreLock(store: home.store))
    } catch StoreError.storeIsHeld(let holder) {
      let holder = StoreHolder(holder)
      throw WaymarkError(
        exitCode: ExitCode.storeHeld, code: .storeHeld,
        message:
          "The store in \(home.path) is in use by \(holder.name); this command needs exclusive access.",
        next: holder.stopping + ", then try again")
    }
  }

  package func release() { lock.withLock { $0 = nil } }
}
