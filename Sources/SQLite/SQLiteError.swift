internal import CSQLite

/// An error from SQLite, with its code and message and the SQL, but never the arguments of the SQL.
package struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The extended result code.
  package let code: Int32
  package let message: String
  package let sql: String?

  package var description: String {
    let statement = sql.map { " in: \($0)" } ?? ""
    return "SQLite \(code): \(message)\(statement)"
  }

  /// Returns the error for a directory that can't be synced. It is then unknown whether the names of the database's
  /// files are durable.
  package static func directoryNotSynced(_ reason: String) -> Self {
    Self(
      code: directorySync, message: "the store's directory can't be synced: \(reason)", sql: nil)
  }

  /// Returns the error for a row that should be in a table.
  package static func missingRow(of table: String) -> Self {
    Self(code: SQLITE_CORRUPT, message: "a row of \(table) is missing", sql: nil)
  }

  /// Whether the disk is full, including if only the index of the write-ahead log could not grow.
  package var isFull: Bool { code & 0xff == SQLITE_FULL || code == Self.indexDoesNotGrow }
  /// Whether another connection, or a reader, prevented the work.
  package var isBusy: Bool { code & 0xff == SQLITE_BUSY || code & 0xff == SQLITE_LOCKED }
  /// Whether the file is damaged or not a database.
  package var isDamage: Bool { code & 0xff == SQLITE_NOTADB || code & 0xff == SQLITE_CORRUPT }
  /// Whether a table or column in the statement does not exist.
  package var isMissing: Bool { code & 0xff == SQLITE_ERROR }
  /// Whether a constraint of a table was violated.
  package var isConstraint: Bool { code & 0xff == SQLITE_CONSTRAINT }
  /// Whether the work was interrupted because its task was cancelled or its time limit had passed.
  package var isInterrupted: Bool { code & 0xff == SQLITE_INTERRUPT }
  /// Whether the file is not a database.
  package var isNoDatabase: Bool { code & 0xff == SQLITE_NOTADB }
  /// Whether this is an input/output error, after which it is unknown what is durable.
  package var isInputOutput: Bool { code & 0xff == SQLITE_IOERR && !isFull }
  /// Whether a write failed or may be lost.
  package var isLostWrite: Bool { Self.lostWrites.contains(code) }

  // Swift does not import macros with shifts. These are SQLITE_IOERR_DIR_FSYNC and SQLITE_IOERR_SHMSIZE, and then the
  // plain SQLITE_IOERR and its variants WRITE, FSYNC, DIR_FSYNC, TRUNCATE, CLOSE, and DATA and CORRUPTFS, with which a
  // file system reports that it is damaged.
  private static let directorySync: Int32 = 10 | 5 << 8
  private static let indexDoesNotGrow: Int32 = 10 | 19 << 8
  private static let lostWrites: Set<Int32> = Set(
    [0, 3, 4, 5, 6, 16, 32, 33].map { (detail: Int32) in 10 | detail << 8 })
}
