internal import CSQLite

extension Connection {
  /// Makes the content of the write-ahead log durable. All commits that a killed process had written to the log are
  /// visible, whether or not they were synced.
  ///
  /// Here and below, a full sync is what `PRAGMA fullfsync` is for a commit.
  package func syncLog() throws(SQLiteError) {
    try withLog { log, methods in methods.xSync(log, SQLITE_SYNC_FULL) }
  }

  /// Writes the write-ahead log again, byte for byte, and syncs it.
  ///
  /// After a failed sync, the operating system returns the pages as if they had been written, considers them clean, and
  /// may never write them to the disk, so the next sync succeeds without them (Rebello and others, "Can Applications
  /// Recover from fsync Failures?", 2020). Everything committed after such a hole would be lost at the next power
  /// failure.
  package func rewriteLog() throws(SQLiteError) { try withExclusiveLog(Self.rewrite) }

  /// Extends the file of the write-ahead log to this size, if it is smaller, so that commits overwrite existing bytes.
  ///
  /// Syncing a growing file takes twice as long, because the file system has to write the new length too. Zeros are
  /// not valid frames: every reader of the log stops at them (sqlite.org/fileformat2.html#the_write_ahead_log).
  package func reserveLog(_ bytes: Int) throws(SQLiteError) {
    try withExclusiveLog { log, methods in
      var size: Int64 = 0
      let code = methods.xFileSize(log, &size)
      guard code == SQLITE_OK, size < bytes else { return code }
      return Self.extend(log, methods, from: size, to: Int64(bytes))
    }
  }

  private static func extend(
    _ log: UnsafeMutablePointer<sqlite3_file>, _ methods: sqlite3_io_methods, from size: Int64,
    to bytes: Int64
  ) -> Int32 {
    let zeros = [UInt8](repeating: 0, count: pieceBytes)
    var code = SQLITE_OK
    for offset in stride(from: size, to: bytes, by: pieceBytes) where code == SQLITE_OK {
      code = methods.xWrite(log, zeros, Int32(min(Int64(pieceBytes), bytes - offset)), offset)
    }
    return code == SQLITE_OK ? methods.xSync(log, SQLITE_SYNC_FULL) : code
  }

  /// The size of one read or write. SQLite uses only the last 17 bits of a byte count; with a larger count it would
  /// write too few bytes and report a full disk.
  private static let pieceBytes = 1 << 16

  /// Passes the write-ahead log to `body`, with other writers locked out.
  private func withExclusiveLog(
    _ body: (UnsafeMutablePointer<sqlite3_file>, sqlite3_io_methods) -> Int32
  ) throws(SQLiteError) {
    try execute("BEGIN IMMEDIATE")
    let result = Result { () throws(SQLiteError) in try withLog(body) }
    try execute("ROLLBACK")
    try result.get()
  }

  private static func rewrite(_ log: UnsafeMutablePointer<sqlite3_file>, _ methods: sqlite3_io_methods)
    -> Int32
  {
    var size: Int64 = 0
    var code = methods.xFileSize(log, &size)
    var piece = [UInt8](repeating: 0, count: pieceBytes)
    var offset: Int64 = 0
    while code == SQLITE_OK, offset < size {
      let count = Int32(min(Int64(piece.count), size - offset))
      code = methods.xRead(log, &piece, count, offset)
      if code == SQLITE_OK { code = methods.xWrite(log, piece, count, offset) }
      offset += Int64(count)
    }
    return code == SQLITE_OK ? methods.xSync(log, SQLITE_SYNC_FULL) : code
  }

  /// Passes the file of the write-ahead log to `body`; does nothing if there is no log, as in a database in memory.
  private func withLog(
    _ body: (UnsafeMutablePointer<sqlite3_file>, sqlite3_io_methods) -> Int32
  ) throws(SQLiteError) {
    var log: UnsafeMutablePointer<sqlite3_file>?
    try check(sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log), "write-ahead log")
    guard let log, let methods = log.pointee.pMethods?.pointee else { return }
    let code = body(log, methods)
    guard code == SQLITE_OK else {
      throw SQLiteError(code: code, message: "the write-ahead log can't be written and synced", sql: nil)
    }
  }
}
