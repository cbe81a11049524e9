import Platform
import Synchronization

/// Files that this process creates for the duration of a command, and that are removed if a signal ends it.
package enum TemporaryFiles {
  private static let paths = Mutex<Set<String>>([])

  /// Registers a file or a folder before it is created.
  package static func add(_ path: String) { paths.withLock { _ = $0.insert(path) } }

  /// Unregisters a path that was removed, or that must not be removed.
  package static func forget(_ path: String) { paths.withLock { _ = $0.remove(path) } }

  /// Removes all registered files. Called when the process is about to end.
  package static func remove() {
    for path in paths.withLock({ $0 }) {
      // Removing a folder fails if another thread creates a file in it at the same time, so try several times.
      for _ in 0..<attemptsMax where Files.exists(path) { try? FileManager.default.removeItem(atPath: path) }
    }
  }

  private static let attemptsMax = 100
}
