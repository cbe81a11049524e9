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

  /// No room left where the database lies.
  package var isFull: Bool { code & 0xff == SQLITE_FULL }
  /// The file is no database, or a damaged one.
  package var isDamage: Bool { code & 0xff == SQLITE_NOTADB || code & 0xff == SQLITE_CORRUPT }
  /// A table or column that the statement names is not there.
  package var isMissing: Bool { code & 0xff == SQLITE_ERROR }
  /// The file is something else.
  package var isNoDatabase: Bool { code & 0xff == SQLITE_NOTADB }
  /// The disk did not do what it was told; what is durable is no longer known.
  package var isInputOutput: Bool { code & 0xff == SQLITE_IOERR }
}
