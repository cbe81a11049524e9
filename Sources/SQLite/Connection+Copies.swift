extension Connection {
  /// Sets up a new file that is not read before it is complete and made durable as a whole.
  package func setUpUnsafe() throws(SQLiteError) {
    try execute("PRAGMA journal_mode = OFF")
    try execute("PRAGMA synchronous = OFF")
    try execute("PRAGMA locking_mode = EXCLUSIVE")
  }

  /// Runs `body` on one snapshot of the database, unaffected by later commits.
  package func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
    try execute("BEGIN")
    defer { try? execute("ROLLBACK") }
    return try body()
  }
}
