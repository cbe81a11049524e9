internal import CSQLite

/// The settings of a connection.
package struct ConnectionSettings: Sendable {
  /// The minimum and maximum size of the page cache, which grows with the database: a small store needs little memory,
  /// while the indexes of a large one are written at random positions.
  package var cacheKibibytes: ClosedRange<Int> = 8 * 1024...36 * 1024
  package var journalSizeLimitBytes = 4 * 1024 * 1024

  package init() {}
}

extension Connection {
  /// Sets up a connection for durable writes, to a file that may come from anywhere.
  ///
  /// The owner has to call `checkpoint()`, because a checkpoint inside a commit would delay that commit.
  package func setUp(_ settings: ConnectionSettings = ConnectionSettings()) throws(SQLiteError) {
    try restrictSchema()
    try execute("PRAGMA busy_timeout = \(Self.busyMilliseconds)")
    try execute("PRAGMA journal_mode = WAL")
    try execute("PRAGMA synchronous = FULL")
    try execute("PRAGMA journal_size_limit = \(settings.journalSizeLimitBytes)")
    try fitCache(settings)
    // Without these two, a sync on Apple platforms does not reach the medium. Elsewhere they have no effect.
    try execute("PRAGMA fullfsync = ON")
    try execute("PRAGMA checkpoint_fullfsync = ON")
    try execute("PRAGMA temp_store = MEMORY")
    // Overwrites what is deleted with zeros. This is enough for most of what is replaced; see `vacuum()`.
    try execute("PRAGMA secure_delete = ON")
    try addFunctions()
    try readOneRow()
  }

  /// Adapts the page cache to the current size of the database.
  package func fitCache(_ settings: ConnectionSettings = ConnectionSettings()) throws(SQLiteError) {
    let size = try prepare("SELECT page_count * page_size / 1024 FROM pragma_page_count, pragma_page_size")
    let kibibytes = try size.step() ? Int(size.integer(0)) : 0
    let range = settings.cacheKibibytes
    try execute("PRAGMA cache_size = -\(min(max(kibibytes / 5, range.lowerBound), range.upperBound))")
  }

  /// Runs `body`, whose large sorts use temporary files instead of memory.
  package func sortingInFiles(_ body: () throws -> Void) throws {
    try execute("PRAGMA temp_store = FILE")
    try execute("PRAGMA cache_size = -4096")
    defer {
      try? execute("PRAGMA temp_store = MEMORY")
      try? fitCache()
    }
    try body()
  }

  /// Writes the whole database again, so that nothing of what was deleted is left in its free space. Deleting with
  /// `secure_delete` is not enough, because splitting a page leaves copies of rows in the gap that it makes.
  ///
  /// The new pages go through the write-ahead log, which takes as much space as the database.
  package func vacuum() throws {
    // SQLite attaches a temporary database meanwhile.
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 1)
    defer { sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0) }
    guard try bytes() > Self.vacuumMemoryBytes else { return try execute("VACUUM") }
    try sortingInFiles { try execute("VACUUM") }
  }

  private func bytes() throws -> Int64 {
    try with("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") {
      try $0.step() ? $0.integer(0) : 0
    }
  }

  /// Up to this size, a database is written again in memory.
  private static let vacuumMemoryBytes: Int64 = 8 << 20

  /// Sets up a read-only connection.
  ///
  /// Cancelling the current task interrupts the connection's work.
  package func setUpReadOnly() throws(SQLiteError) {
    try restrictSchema()
    interrupt()
    try execute("PRAGMA query_only = ON")
    try readOneRow()
  }

  /// Sets up a read-only connection that runs queries while another connection writes, perhaps in another process. It
  /// never checkpoints.
  ///
  /// - Parameter isInterruptible: whether cancelling the current task interrupts the connection's work.
  package func setUpReader(isInterruptible: Bool) throws(SQLiteError) {
    try restrictSchema()
    if isInterruptible { interrupt() }
    try execute("PRAGMA busy_timeout = \(Self.busyMilliseconds)")
    try execute("PRAGMA query_only = ON")
    try execute("PRAGMA temp_store = MEMORY")
    try addFunctions()
    try readOneRow()
  }

  /// Restricts a connection that reads a file made by another program or person. Call this after `setUpReadOnly`.
  ///
  /// - Parameter time: the time limit for all work on the connection.
  package func setUpForeign(within time: Duration) throws(SQLiteError) {
    try check(waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), "triggers")
    try check(waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0), "views")
    sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, 64 * 1024)
    sqlite3_limit(handle, SQLITE_LIMIT_EXPR_DEPTH, 20)
    sqlite3_limit(handle, SQLITE_LIMIT_VDBE_OP, 20_000)
    sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, 200)
    sqlite3_limit(handle, SQLITE_LIMIT_TRIGGER_DEPTH, 1)
    interrupt(after: time)
    try execute("PRAGMA ignore_check_constraints = ON")
    try readOneRow()
  }

  /// Returns why reading a table could run expressions from the file: because it is a view or a virtual table, or has a
  /// computed column, a CHECK constraint, an index on expressions, a partial index or a trigger. Nil for an ordinary
  /// table.
  ///
  /// Only the schema is read.
  ///
  /// - Parameter name: the table's name, in any case; only letters and underscores.
  package func unplainness(of name: String) throws -> String? {
    func count(_ sql: String) throws -> Int64 {
      try with(sql) { row in try row.step() ? row.integer(0) : 0 }
    }
    let of = "COLLATE NOCASE = '\(name)'"
    guard
      try count("SELECT count(*) FROM sqlite_schema WHERE name \(of) AND type = 'table' AND rootpage > 0")
        == 1,
      try count("SELECT count(*) FROM sqlite_schema WHERE name \(of)") == 1
    else { return "it has no ordinary table \(name)" }
    guard try count("SELECT count(*) FROM pragma_table_xinfo('\(name)') WHERE hidden <> 0") == 0 else {
      return "its table \(name) has computed columns"
    }
    let expressions = """
      SELECT count(*) FROM pragma_index_list('\(name)') l
      WHERE l.partial <> 0 OR EXISTS (SELECT 1 FROM pragma_index_xinfo(l.name) WHERE cid = -2)
      """
    guard try count(expressions) == 0 else { return "its table \(name) has an index on expressions" }
    let texts = try with("SELECT type, sql FROM sqlite_schema WHERE tbl_name \(of)") { row in
      var texts: [(type: String, sql: String)] = []
      while try row.step() { texts.append((row.text(0), row.text(1))) }
      return texts
    }
    guard !texts.contains(where: { $0.type == "trigger" }) else { return "its table \(name) has a trigger" }
    guard !texts.contains(where: { $0.type == "table" && mentionsCheck($0.sql) }) else {
      return "its table \(name) has a CHECK constraint"
    }
    return nil
  }

  /// Restricts the schema, which is data too: it must not run functions with side effects or write to SQLite's own
  /// tables.
  private func restrictSchema() throws(SQLiteError) {
    try check(waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 1), "defensive")
    try check(waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0), "trusted schema")
    try check(waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DQS_DML, 0), "double quotes")
    try check(waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DQS_DDL, 0), "double quotes")
    try execute("PRAGMA cell_size_check = ON")
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 4 * 1024 * 1024)
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
  }

  /// Reads from the schema, so that a file that is not a database fails now, when it is opened, and not in the middle
  /// of later work.
  private func readOneRow() throws(SQLiteError) {
    try execute("SELECT count(*) FROM sqlite_schema")
  }
}

/// Whether the definition of a table contains the word CHECK anywhere. This may refuse harmless tables, but misses no
/// table with a CHECK constraint.
private func mentionsCheck(_ sql: String) -> Bool {
  sql.uppercased().split { !$0.isLetter && $0 != "_" && !$0.isNumber }.contains("CHECK")
}
