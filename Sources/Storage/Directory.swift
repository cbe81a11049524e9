import Platform
import SQLite

/// Directories on the machine's disk.
package enum Directory {
  /// Makes the entries of the directory that contains a file durable.
  ///
  /// - Returns: 0, or the system's error code.
  package static func sync(of path: String) -> Int32 {
    let slash = path.lastIndex(of: "/")
    let directory = open(slash.map { String(path[...$0]) } ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // A directory that this user can write to but not read can only be synced by its owner, so this is not an error.
    guard directory >= 0 else { return errno == EACCES ? 0 : errno }
    defer { close(directory) }
    return syncDirectory(directory) == 0 ? 0 : errno
  }

  /// Makes the names of the files of a database durable.
  static func syncNames(ofDatabase path: String) throws(SQLiteError) {
    let error = sync(of: path)
    guard error == 0 else { throw .directoryNotSynced(String(cString: strerror(error))) }
  }
}
