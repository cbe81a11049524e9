// Sources/store.md, "Readers"

import LogStorage
import RecordTables
import SQLite

extension Store {
  /// Opens a store that another process may have open, runs a closure that reads one state of it, and closes it.
  ///
  /// The store is opened without its lock, for reading only. Nothing is migrated or rebuilt.
  ///
  /// - Throws: `StoreError.outdated` if another version has made the tables, or made them for other kinds of apps;
  ///   `StoreError.newerSchema` and `StoreError.formerFormat`; and the errors of the closure.
  package static func reading<Result>(path: String, _ body: (Store) throws -> Result) throws -> Result {
    let connection = try Connection(.existingFileReadOnly(path))
    try connection.setUpReader(isInterruptible: true)
    return try connection.reading {
      let version = try schemaVersion(connection)
      guard version <= StoreLayout.version else {
        throw StoreError.newerSchema(found: version, known: StoreLayout.version)
      }
      let schema = try schema(in: connection)
      guard version == StoreLayout.version, try Derived.isCurrent(connection, schema) else {
        throw StoreError.outdated
      }
      return try body(Store(reading: connection, schema, files: files(nextTo: path)))
    }
  }
}
