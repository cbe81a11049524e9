import Foundation
import Synchronization

/// What this process has put on the disk for the time of a command: a signal that ends the process takes it along.
package enum TemporaryFiles {
  private static let paths = Mutex<Set<String>>([])

  /// Notes a file or a folder before it is there.
  static func add(_ path: String) { paths.withLock { _ = $0.insert(path) } }

  /// It is gone, or is to stay.
  static func forget(_ path: String) { paths.withLock { _ = $0.remove(path) } }

  /// For a process that ends now.
  package static func remove() {
    for path in paths.withLock({ $0 }) {
      // Another thread may be writing there: once the folder is gone, it can't any more.
      for _ in 0..<attemptsMax where Files.exists(path) { try? FileManager.default.removeItem(atPath: path) }
    }
  }

  private static let attemptsMax = 100
}
