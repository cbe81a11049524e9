// Sources/store.md, "Backups"

import LogStorage
import RecordTables
package import Replication
import SQLite
import Storage
package import Wire

extension Store {
  /// Returns whether all statements and change sets of a store can be read, whatever the state of the rest of the file.
  package static func isSignedPartReadable(_ path: String) -> Bool {
    do {
      let connection = try Connection(.existingFileReadOnly(path))
      try connection.setUpReadOnly()
      // Reading the last byte of a value makes SQLite read all pages of the value.
      for sql in [
        """
        SELECT count(*) FROM change_sets
        WHERE substr(header, -1) = x'' OR substr(plan, -1) = x'' OR substr(field_values, -1) = x''
        """,
        "SELECT count(*) FROM statements WHERE substr(bytes, -1) = x''",
      ] {
        try connection.with(sql) { _ = try $0.step() }
      }
      return true
    } catch {
      return false
    }
  }
}

/// The statements, change set ids and node values of a store, read without opening it as a `Store`. Used for a store
/// that is about to be replaced and may be damaged.
package struct StoreDiagnostics: Sendable {
  package let statements: [[UInt8]]
  package let changeSetIDs: Set<ChangeSetID>
  /// The records that were erased in the store, each with a set that erased it. Held erases are left out. Empty if they
  /// can't be read.
  package let erasures: [(record: RecordKey, by: ChangeSetID)]
  private let values: [String: [UInt8]]

  package init(path: String) throws {
    let connection = try Connection(.existingFileReadOnly(path))
    try connection.setUpReadOnly()
    statements = try connection.with("SELECT bytes FROM statements ORDER BY id") { row in
      var result: [[UInt8]] = []
      while try row.step() { result.append(row.bytes(0)) }
      return result
    }
    changeSetIDs = try connection.with("SELECT id FROM change_sets") { row in
      var result: Set<ChangeSetID> = []
      while try row.step() {
        guard let id = ChangeSetID(bytes: row.bytes(0)) else { throw StoreError.damaged("bad change set id") }
        result.insert(id)
      }
      return result
    }
    erasures = (try? Self.erasures(connection)) ?? []
    values = try connection.with("SELECT key, value FROM meta WHERE key LIKE 'node.%'") { row in
      var result: [String: [UInt8]] = [:]
      while try row.step() { result[row.text(0)] = row.bytes(1) }
      return result
    }
  }

  private static func erasures(_ connection: Connection) throws -> [(record: RecordKey, by: ChangeSetID)] {
    let sql = """
      SELECT e.kind, e.record, c.id FROM erasures AS e JOIN change_sets AS c ON c.number = e.number
      WHERE c.id NOT IN (SELECT id FROM held_erases) ORDER BY e.kind, e.record
      """
    return try connection.with(sql) { row in
      var found: [(record: RecordKey, by: ChangeSetID)] = []
      while try row.step() {
        guard let kind = KindNumber(UInt64(bitPattern: row.integer(0))),
          let id = ChangeSetID(bytes: row.bytes(2))
        else { continue }
        found.append((RecordKey(kind: kind, id: try row.recordID(1)), id))
      }
      return found
    }
  }

  /// Returns the value that the node stored under a key; nil if there is none.
  package func meta(_ key: String) -> [UInt8]? { values["node." + key] }
}
