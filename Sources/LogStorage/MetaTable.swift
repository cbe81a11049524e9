package import SQLite

/// The table `meta`: values of the store under keys, next to the log and the records.
package enum MetaTable {
  /// The name of the table.
  package static let name = "meta"

  /// The statement that creates the table.
  package static let sql = """
    CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY NOT NULL, value NOT NULL) WITHOUT ROWID
    """

  /// Returns the value of a key as bytes; nil if the key is absent.
  package static func bytes(_ key: String, _ connection: Connection) throws -> [UInt8]? {
    try connection.with("SELECT value FROM meta WHERE key = ?1") { row in
      try row.bind(1, key)
      return try row.step() ? row.bytes(0) : nil
    }
  }

  /// Returns the value of a key as a number; nil if the key is absent.
  package static func integer(_ key: String, _ connection: Connection) throws -> Int64? {
    try connection.with("SELECT value FROM meta WHERE key = ?1") { row in
      try row.bind(1, key)
      return try row.step() ? row.integer(0) : nil
    }
  }

  /// Sets the value of a key.
  package static func set(_ key: String, _ bytes: [UInt8], _ connection: Connection) throws {
    try set(key, connection) { row in try row.bind(2, bytes) }
  }

  /// Sets the value of a key.
  package static func set(_ key: String, _ number: Int64, _ connection: Connection) throws {
    try set(key, connection) { row in try row.bind(2, number) }
  }

  /// Sets the value of a key.
  package static func set(_ key: String, _ text: String, _ connection: Connection) throws {
    try set(key, connection) { row in try row.bind(2, text) }
  }

  private static func set(
    _ key: String, _ connection: Connection, _ bindValue: (borrowing Statement) throws -> Void
  ) throws {
    try connection.with("INSERT OR REPLACE INTO meta(key, value) VALUES (?1, ?2)") { row in
      try row.bind(1, key)
      try bindValue(row)
      try row.run()
    }
  }

  /// Removes a key.
  package static func remove(_ key: String, _ connection: Connection) throws {
    try connection.with("DELETE FROM meta WHERE key = ?1") { row in
      try row.bind(1, key)
      try row.run()
    }
  }
}
