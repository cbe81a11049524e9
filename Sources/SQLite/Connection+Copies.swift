extension Connection {
  /// Sets up a connection that writes a new file without a journal or syncs. The file must not be read until it is
  /// complete and has been made durable as a whole.
  package func setUpUnsafe() throws(SQLiteError) {
    try execute("PRAGMA journal_mode = OFF")
    try execute("PRAGMA synchronous = OFF")
    try execute("PRAGMA locking_mode = EXCLUSIVE")
  }

  /// Runs `body`, which only reads, on a snapshot of the database, which later commits do not affect. A transaction that
  /// is open already is used as it is. SQLite locks the database once, and not for each statement.
  package func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
    if isInTransaction { return try body() }
    try with("BEGIN") { try $0.run() }
    defer { try? with("ROLLBACK") { try $0.run() } }
    return try body()
  }
}
