internal import CSQLite

/// How a connection is set up before its first use.
package struct ConnectionSettings: Sendable {
  /// What the cache of pages may take, by the size of the database: a small store needs little memory, and the
  /// indexes of a large one are written at random places.
  package var cacheKibibytes: ClosedRange<Int> = 8 * 1024...36 * 1024
  package var journalSizeLimitBytes = 4 * 1024 * 1024

  package init() {}
}

extension Connection {
  /// Makes the connection safe to use with a file that may come from anywhere, and durable.
  ///
  /// Checkpoints are left to the owner (`checkpoint()`): inside a commit they would make it wait.
  package func setUp(_ settings: ConnectionSettings = ConnectionSettings()) throws(SQLiteError) {
    try refuseTricks()
    try execute("PRAGMA busy_timeout = 5000")
    try execute("PRAGMA journal_mode = WAL")
    try execute("PRAGMA synchronous = FULL")
    try execute("PRAGMA journal_size_limit = \(settings.journalSizeLimitBytes)")
    try fitCache(settings)
    try execute("PRAGMA temp_store = MEMORY")
    try addFunctions()
    try readOneRow()
  }

  /// Fits the cache of pages to the size that the database has now.
  package func fitCache(_ settings: ConnectionSettings = ConnectionSettings()) throws(SQLiteError) {
    let size = try prepare("SELECT page_count * page_size / 1024 FROM pragma_page_count, pragma_page_size")
    let kibibytes = try size.step() ? Int(size.integer(0)) : 0
    let range = settings.cacheKibibytes
    try execute("PRAGMA cache_size = -\(min(max(kibibytes / 5, range.lowerBound), range.upperBound))")
  }

  /// Runs what sorts very much with little memory: in temporary files.
  package func sortingInFiles(_ body: () throws -> Void) throws {
    try execute("PRAGMA temp_store = FILE")
    try execute("PRAGMA cache_size = -4096")
    defer {
      try? execute("PRAGMA temp_store = MEMORY")
      try? fitCache()
    }
    try body()
  }

  /// Set-up of a connection that only looks.
  package func setUpReadOnly() throws(SQLiteError) {
    try refuseTricks()
    try execute("PRAGMA query_only = ON")
    try readOneRow()
  }

  /// A schema is data too: none of it may run functions with side effects or write into tables of SQLite.
  private func refuseTricks() throws(SQLiteError) {
    try check(waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 1), "defensive")
    try check(waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0), "trusted schema")
    try check(waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DQS_DML, 0), "double quotes")
    try check(waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DQS_DDL, 0), "double quotes")
    try execute("PRAGMA cell_size_check = ON")
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 4 * 1024 * 1024)
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
  }

  /// A file that is no database fails here, at open, and not in the middle of some work.
  private func readOneRow() throws(SQLiteError) {
    try execute("SELECT count(*) FROM sqlite_schema")
  }
}
