import SQLite

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The directories of the machine's disk.
package enum Directory {
  /// Makes it durable which names the directory of a file holds.
  ///
  /// - Returns: 0, or the system's error.
  package static func sync(of path: String) -> Int32 {
    let slash = path.lastIndex(of: "/")
    let directory = open(slash.map { String(path[...$0]) } ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // Where one may write and not look, nobody but the owner can do it.
    guard directory >= 0 else { return errno == EACCES ? 0 : errno }
    defer { close(directory) }
    // Some file systems have no such thing for directories.
    return fsync(directory) == 0 || errno == EINVAL ? 0 : errno
  }

  /// The same for the files of a database.
  static func syncNames(ofDatabase path: String) throws(SQLiteError) {
    let error = sync(of: path)
    guard error == 0 else { throw .directoryNotSynced(String(cString: strerror(error))) }
  }
}
