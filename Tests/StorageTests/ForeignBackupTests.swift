import Foundation
import Replication
import SQLite
import Storage
import Testing
import Wire

/// Files that look like backups and were made to do harm to whoever restores them.
struct ForeignBackupTests {
  private static let plain = [
    "about": "CREATE TABLE about(key TEXT, value)",
    "statements": "CREATE TABLE statements(id BLOB, bytes BLOB)",
    "change_sets": "CREATE TABLE change_sets(number INTEGER PRIMARY KEY, header, signature, body)",
  ]

  private static let endless = """
    CREATE VIEW change_sets AS WITH RECURSIVE rows(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM rows)
      SELECT number, x'00' AS header, x'00' AS signature, x'00' AS body FROM rows
    """

  private func read(_ tables: [String: String]) throws -> BackupFile {
    let path = FileManager.default.temporaryDirectory.appending(path: "foreign-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    do {
      let connection = try Connection(.file(path))
      try connection.execute("PRAGMA application_id = \(0x574d_424b)")
      try connection.execute("PRAGMA user_version = 1")
      for table in tables.sorted(by: { $0.key < $1.key }) { try connection.execute(table.value) }
      let device = String(repeating: "00", count: 32)
      try connection.execute(
        """
        INSERT INTO about(key, value) VALUES ('created', 1), ('program', 'x'), ('name', 'x'),
          ('device', x'\(device)'), ('change_sets', 0), ('statements', 0)
        """)
    }
    return try BackupFile(path: path)
  }

  @Test func `a file with the tables of a backup is read`() throws {
    #expect(try read(Self.plain).changeSetCount == 0)
  }

  @Test(
    .timeLimit(.minutes(1)),
    arguments: [
      ("change_sets", endless),
      ("statements", "CREATE VIEW statements AS SELECT 1 AS id, x'00' AS bytes WHERE 0"),
      ("about", "CREATE TABLE about(key, value, more AS (printf('%.*c', 4000000, 'x')))"),
      ("statements", "CREATE TABLE statements(id, other, bytes AS (zeroblob(4000000)) STORED)"),
      ("statements", "CREATE VIRTUAL TABLE statements USING fts5(id, bytes)"),
    ])
  func `a table that computes what it holds is refused before it is read`(name: String, sql: String) throws {
    var tables = Self.plain
    tables[name] = sql
    #expect(throws: BackupError.damaged("it has no plain table \(name)")) { try read(tables) }
  }
}
