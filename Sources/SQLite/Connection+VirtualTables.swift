internal import CSQLite

extension Connection {
  /// Drops a virtual table and the tables in which its module keeps it, in the current transaction. Does nothing if there is
  /// no such table.
  ///
  /// SQLite drops a virtual table only if its module can read it. If it can't, the table is deleted from the schema, and
  /// then the tables of the module are like any other.
  package func dropVirtualTable(_ name: String) throws {
    do { return try execute("DROP TABLE IF EXISTS \(name)") } catch {
      guard error.isDamage || error.isMissing else { throw error }
    }
    try check(waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 0), "defensive")
    defer { _ = waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 1) }
    try execute("PRAGMA writable_schema = ON")
    defer { try? execute("PRAGMA writable_schema = OFF") }
    try execute("DELETE FROM sqlite_schema WHERE name = '\(name)'")
    try execute("PRAGMA writable_schema = RESET")
    let tables = try with("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '\(name)_*'") {
      row in
      var names: [String] = []
      while try row.step() { names.append(row.text(0)) }
      return names
    }
    for table in tables { try execute("DROP TABLE \(table)") }
  }
}
