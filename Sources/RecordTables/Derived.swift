// Sources/store.md, "What is derived"

import LogStorage
package import Records
import Replication
package import SQLite
import Wire

/// The tables that folding the log fills. They can be emptied and filled again at any time.
package enum Derived {
  private static let key = "derived"

  /// Whether the tables have the schema of this version.
  package static func isCurrent(_ connection: Connection, _ schema: Schema) throws -> Bool {
    try connection.with("SELECT value FROM meta WHERE key = ?1") { row in
      try row.bind(1, key)
      return try row.step() && row.text(0) == RecordSchema(schema).fingerprint
    }
  }

  /// Drops the existing derived tables, and creates them again, empty except for the seeds.
  ///
  /// - Parameters:
  ///   - schema: the kinds that get tables of their own.
  ///   - kept: all tables that are not derived.
  package static func create(_ connection: Connection, _ schema: Schema, keeping kept: [String]) throws {
    try TextIndex.drop(connection)
    for (name, type) in try existing(connection, besides: kept) {
      try connection.execute("DROP \(type) \(name)")
    }
    try connection.execute(RecordSchema(schema).derived)
    try TextIndex.create(connection)
    try seed(connection)
    try MetaTable.set(key, RecordSchema(schema).fingerprint, connection)
  }

  private static func existing(
    _ connection: Connection, besides kept: [String]
  ) throws -> [(name: String, type: String)] {
    let others = kept.map { "'\($0)'" }.joined(separator: ", ")
    let sql = """
      SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT IN (\(others))
        AND name NOT LIKE 'sqlite_%'
      ORDER BY type DESC
      """
    return try connection.with(sql) { row in
      var result: [(String, String)] = []
      while try row.step() { result.append((row.text(0), row.text(1))) }
      return result
    }
  }

  /// Inserts the records that every store has from the start. Their stamp is zero, so that any write wins, and they do
  /// not count in any digest.
  static func seed(_ connection: Connection) throws {
    var none = StoredRow(life: true, stamps: Stamps(common: 0))
    none.stamps.set(Fields.life, 0)
    none.stamps.set(FixedRecords.organizationName, 0)
    none.contents[FixedRecords.organizationName] = Value.text(FixedRecords.noneName).encoded
    try RecordTable(FixedRecords.none.kind, .builtIn, connection).write(none, FixedRecords.none.id)
    let index = try TextIndex(connection, .builtIn)
    index.changed(FixedRecords.none, from: nil, to: none)
    try index.update()
    var profile = StoredRow(life: true, stamps: Stamps(common: 0))
    profile.stamps.set(Fields.life, 0)
    try RecordTable(FixedRecords.profile.kind, .builtIn, connection).write(profile, FixedRecords.profile.id)
    try connection.execute(
      """
      INSERT INTO child_counts(parent_kind, parent, kind, live)
      SELECT 0, zeroblob(16), kind, 1 FROM
        (SELECT \(FixedRecords.none.kind.rawValue) AS kind
         UNION SELECT \(FixedRecords.profile.kind.rawValue))
      """)
  }
}
