// Sources/store.md, "Verifying"

import FileFormat
import FileStore
import Storage
package import Wire

/// Verifies the files of a store against their ids. The store need not be open, because each file is named by its id.
package enum FileVerification {
  /// - Parameters:
  ///   - path: the path of the store.
  ///   - progress: called with the numbers of bytes; may throw to end the verification.
  /// - Returns: the number of files, and the ids of those whose bytes are damaged.
  /// - Throws: `FileStoreError`, or an error of `progress`.
  package static func run(
    nextTo path: String, progress: (_ done: Int, _ total: Int) throws -> Void
  ) throws -> (count: Int, damaged: [Bytes32]) {
    let files = Store.files(nextTo: path)
    let complete = try files.complete().sorted()
    let total = complete.reduce(0) { $0 + $1.size }
    var (count, damaged, done) = (0, [Bytes32](), 0)
    for file in complete {
      do {
        if try !files.verify(file) { damaged.append(file.id.raw) }
        count += 1
      } catch FileStoreError.missing {
        // It was deleted in the meantime.
      } catch FileStoreError.damaged {
        damaged.append(file.id.raw)
        count += 1
      }
      done += file.size
      try progress(done, total)
    }
    return (count, damaged)
  }
}
