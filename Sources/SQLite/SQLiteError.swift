internal import CSQLite

/// What SQLite refused: its code and words, and the SQL, never the arguments.
package struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The extended result code.
  package let code: Int32
  package let message: String
  package let sql: String?

  package var description: String {
    let statement = sql.map { " in: \($0)" } ?? ""
    return "SQLite \(code): \(message)\(statement)"
  }

  /// Nobody knows whether the names of the database's files are durable.
  package static func directoryNotSynced(_ reason: String) -> Self {
    Self(
      code: directorySync, message: "the store's directory cannot be synced: \(reason)", sql: nil)
  }

  /// No room left where the database lies, be it for the index of the write-ahead log.
  package var isFull: Bool { code & 0xff == SQLITE_FULL || code == Self.indexDoesNotGrow }
  /// The file is no database, or a damaged one.
  package var isDamage: Bool { code & 0xff == SQLITE_NOTADB || code & 0xff == SQLITE_CORRUPT }
  /// A table or column that the statement names is not there.
  package var isMissing: Bool { code & 0xff == SQLITE_ERROR }
  /// It was stopped: its task was cancelled, or its time was over.
  package var isInterrupted: Bool { code & 0xff == SQLITE_INTERRUPT }
  /// The file is something else.
  package var isNoDatabase: Bool { code & 0xff == SQLITE_NOTADB }
  /// The disk did not do what it was told; what is durable is no longer known.
  package var isInputOutput: Bool { code & 0xff == SQLITE_IOERR && !isFull }
  /// What was written is not on the disk as it should be, or nobody knows whether it is.
  package var isLostWrite: Bool { Self.lostWrites.contains(code) }

  // Macros with shifts do not arrive in Swift: SQLITE_IOERR_SHMSIZE; then plain, WRITE, FSYNC, DIR_FSYNC, TRUNCATE,
  // CLOSE, and what a file system says that knows itself to be damaged: DATA, CORRUPTFS.
  private static let directorySync: Int32 = 10 | 5 << 8
  private static let indexDoesNotGrow: Int32 = 10 | 19 << 8
  private static let lostWrites: Set<Int32> = Set(
    [0, 3, 4, 5, 6, 16, 32, 33].map { (detail: Int32) in 10 | detail << 8 })
}
