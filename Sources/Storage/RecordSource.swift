// Sources/store.md, "Reading next to writes"

package import Records
package import SQLite

/// A connection from which records are read: that of the store, or that of a reader next to the store.
package protocol RecordSource: AnyObject {
  var connection: Connection { get }
  /// The kinds of records that have tables of their own.
  var schema: Schema { get }
  /// Called when a query can't read the text index.
  ///
  /// - Throws: the error, if the query is not to be run without the index.
  func noteTextIndexDamage(_ error: SQLiteError) throws
}

/// Reads the records of a store over a read-only connection of its own, so that reads do not wait for the connection that
/// writes.
///
/// The store must be open in this process for as long as the reader exists. Like the store, a reader is synchronous and
/// not thread-safe.
package final class RecordReader: RecordSource {
  package let connection: Connection
  package private(set) var schema: Schema
  /// SQLite's number for the version of the database's tables, for which `schema` was read.
  private var version: Int64

  /// - Parameter path: the file of the store; see `Store.path`.
  package init(path: String) throws {
    let connection = try Connection(.existingFileReadOnly(path))
    try connection.setUpReader(isInterruptible: false)
    self.connection = connection
    (schema, version) = try connection.snapshot {
      (try Store.schema(in: connection), try Self.version(connection))
    }
  }

  /// Leaves the query to the store, which then knows that the index must be rebuilt.
  package func noteTextIndexDamage(_ error: SQLiteError) throws { throw error }

  /// Runs `body` on the state after the newest commit, which later commits do not affect.
  package func snapshot<Result>(_ body: (RecordReader) throws -> Result) throws -> Result {
    try connection.snapshot {
      try noteSchema()
      return try body(self)
    }
  }

  /// Reads the schema again if the tables have changed. The store changes its schema and its tables in one transaction.
  private func noteSchema() throws {
    let found = try Self.version(connection)
    guard found != version else { return }
    schema = try Store.schema(in: connection)
    version = found
  }

  private static func version(_ connection: Connection) throws -> Int64 {
    try connection.with("PRAGMA schema_version") { row in try row.step() ? row.integer(0) : 0 }
  }
}
