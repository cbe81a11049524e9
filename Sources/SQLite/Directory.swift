internal import CSQLite

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
}

extension Connection {
  /// Makes it durable that the database and its write-ahead log are there.
  ///
  /// SQLite does that with the log's first sync, and does not look at how it went: after an error a loss of power would
  /// take the log with its name, and all that was committed since.
  func syncNames() throws(SQLiteError) {
    guard let path = sqlite3_db_filename(handle, "main").map({ String(cString: $0) }), !path.isEmpty else {
      return
    }
    if let volume { return try volume.syncDirectory(of: path) }
    let error = Directory.sync(of: path)
    guard error == 0 else {
      throw SQLiteError(
        code: FailureCode.syncDirectory, message: "the store's directory cannot be synced: \(words(error))",
        sql: nil)
    }
  }

  private func words(_ error: Int32) -> String { String(cString: strerror(error)) }
}
