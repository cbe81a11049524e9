extension Connection {
  /// Set-up for a new file that nobody looks at before it is complete and made durable as a whole.
  package func setUpUnsafe() throws(SQLiteError) {
    try execute("PRAGMA journal_mode = OFF")
    try execute("PRAGMA synchronous = OFF")
    try execute("PRAGMA locking_mode = EXCLUSIVE")
  }

  /// Runs `body` on one state of the database, whatever is committed meanwhile.
  package func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
    try execute("BEGIN")
    defer { try? execute("ROLLBACK") }
    return try body()
  }
}
