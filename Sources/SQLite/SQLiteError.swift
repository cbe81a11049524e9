internal import CSQLite

/// An error from SQLite: its code and message, and the SQL, never the arguments.
package struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The extended result code.
  package let code: Int32
  package let message: String
  package let sql: String?

  package var description: String {
    let statement = sql.map { " in: \($0)" } ?? ""
    return "SQLite \(code): \(message)\(statement)"
  }

  /// It is unknown whether the names of the database's files are durable.
  package static func directoryNotSynced(_ reason: String) -> Self {
    Self(
      code: directorySync, message: "the store's directory can't be synced: \(reason)", sql: nil)
  }

  /// The disk is full, even if only the index of the write-ahead log could not grow.
  package var isFull: Bool { code & 0xff == SQLITE_FULL || code == Self.indexDoesNotGrow }
  /// The file is damaged or not a database.
  package var isDamage: Bool { code & 0xff == SQLITE_NOTADB || code & 0xff == SQLITE_CORRUPT }
  /// A table or column in the statement does not exist.
  package var isMissing: Bool { code & 0xff == SQLITE_ERROR }
  /// The work was interrupted: its task was cancelled, or its time was over.
  package var isInterrupted: Bool { code & 0xff == SQLITE_INTERRUPT }
  /// The file is not a database.
  package var isNoDatabase: Bool { code & 0xff == SQLITE_NOTADB }
  /// An input/output error; it is unknown what is durable.
  package var isInputOutput: Bool { code & 0xff == SQLITE_IOERR && !isFull }
  /// A write failed or may be lost.
  package var isLostWrite: Bool { Self.lostWrites.contains(code) }

  // Macros with shifts are not imported into Swift: SQLITE_IOERR_SHMSIZE; then plain SQLITE_IOERR, WRITE, FSYNC,
  // DIR_FSYNC, TRUNCATE, CLOSE, and the errors of a file system that finds itself damaged: DATA, CORRUPTFS.
  private static let directorySync: Int32 = 10 | 5 << 8
  private static let indexDoesNotGrow: Int32 = 10 | 19 << 8
  private static let lostWrites: Set<Int32> = Set(
    [0, 3, 4, 5, 6, 16, 32, 33].map { (detail: Int32) in 10 | detail << 8 })
}
