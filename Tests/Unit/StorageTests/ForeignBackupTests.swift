import Backups
import Foundation
import Replication
import SQLite
import Storage
import Synchronization
import Testing
import Wire

/// Malicious files that look like backups.
struct ForeignBackupTests {
  private static let plain = [
    "about": "CREATE TABLE about(key TEXT, value)",
    "statements": "CREATE TABLE statements(id BLOB, bytes BLOB)",
    "change_sets":
      "CREATE TABLE change_sets(number INTEGER PRIMARY KEY, header, signature, plan, field_values)",
  ]

  /// A view with more rows than were stored. Its author can give it any number of rows; those that a test would count
  /// are few, so that a test of a program that reads them ends.
  private static let computed = """
    CREATE VIEW change_sets AS WITH RECURSIVE rows(number) AS
        (SELECT 1 UNION ALL SELECT number + 1 FROM rows WHERE number < 1000)
      SELECT number, x'00' AS header, x'00' AS signature, x'00' AS plan, x'00' AS field_values
        FROM rows
    """

  private func read(_ tables: [String: String], version: Int = 2) throws -> BackupFile {
    let path = FileManager.default.temporaryDirectory.appending(path: "foreign-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    do {
      let connection = try Connection(.file(path))
      try connection.execute("PRAGMA application_id = \(0x574d_424b)")
      try connection.execute("PRAGMA user_version = \(version)")
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

  @Test func `a backup of format 1 is refused`() throws {
    var tables = Self.plain
    tables["change_sets"] = "CREATE TABLE change_sets(number INTEGER PRIMARY KEY, header, signature, body)"
    #expect(throws: BackupError.formerFormat) { try read(tables, version: 1) }
  }

  @Test(
    arguments: [
      ("change_sets", computed),
      ("statements", "CREATE VIEW statements AS SELECT 1 AS id, x'00' AS bytes WHERE 0"),
      ("about", "CREATE TABLE about(key, value, more AS (printf('%.*c', 4000000, 'x')))"),
      ("statements", "CREATE TABLE statements(id, other, bytes AS (zeroblob(4000000)) STORED)"),
      ("statements", "CREATE VIRTUAL TABLE statements USING fts5(id, bytes)"),
    ])
  func `a table with computed columns is refused before it is read`(name: String, sql: String) throws {
    var tables = Self.plain
    tables[name] = sql
    #expect(throws: BackupError.damaged("it has no ordinary table \(name)")) { try read(tables) }
  }

  /// A file whose change sets are three levels of pages, each of which refers to the same page below nine thousand
  /// times.
  private func bomb() throws -> String {
    let path = FileManager.default.temporaryDirectory.appending(path: "foreign-\(UUID().uuidString)").path
    var roots: [Int] = []
    do {
      let connection = try Connection(.file(path))
      try connection.execute("PRAGMA page_size = 65536")
      try connection.execute("PRAGMA application_id = \(0x574d_424b)")
      try connection.execute("PRAGMA user_version = 2")
      for table in Self.plain.sorted(by: { $0.key < $1.key }) { try connection.execute(table.value) }
      for name in ["a", "b", "leaf"] {
        try connection.execute(
          "CREATE TABLE \(name)(number INTEGER PRIMARY KEY, header, signature, plan, field_values)")
      }
      try connection.execute("INSERT INTO leaf VALUES (1, x'00', x'00', x'00', x'00')")
      try connection.execute(
        """
        INSERT INTO about(key, value) VALUES ('created', 1), ('program', 'x'), ('name', 'x'),
          ('device', x'\(String(repeating: "00", count: 32))'), ('change_sets', 1000), ('statements', 0)
        """)
      for name in ["change_sets", "a", "b", "leaf"] {
        try connection.with("SELECT rootpage FROM sqlite_schema WHERE name = ?1") { row in
          try row.bind(1, name)
          if try row.step() { roots.append(Int(row.integer(0))) }
        }
      }
    }
    var bytes = try [UInt8](Data(contentsOf: URL(filePath: path)))
    for (page, child) in zip(roots, roots.dropFirst()) {
      let start = (page - 1) * 65_536
      bytes.replaceSubrange(start..<start + 65_536, with: Self.interiorPage(child))
    }
    try Data(bytes).write(to: URL(filePath: path))
    return path
  }

  /// An interior page of a table that refers to one cell, and so to one child, nine thousand times.
  private static func interiorPage(_ child: Int) -> [UInt8] {
    var page = [UInt8](repeating: 0, count: 65_536)
    func put(_ value: Int, _ bytes: Int, at offset: Int) {
      for index in 0..<bytes {
        page[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * (bytes - 1 - index)))
      }
    }
    let (count, cell) = (9_000, page.count - 6)
    page[0] = 5
    put(count, 2, at: 3)
    put(cell, 2, at: 5)
    put(child, 4, at: 8)
    for index in 0..<count { put(cell, 2, at: 12 + 2 * index) }
    put(child, 4, at: cell)
    // The key 1 as a varint of two bytes.
    put(0x8001, 2, at: cell + 4)
    return page
  }

  /// Reads a file on a thread of its own: a read that does not end must fail its test, not block the whole run.
  private func failure(reading path: String) throws -> any Error {
    let ended = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    Thread.detachNewThread {
      do { _ = try BackupFile(path: path) } catch { failure.withLock { $0 = error } }
      ended.signal()
    }
    try #require(ended.wait(timeout: .now() + .seconds(60)) == .success, "reading \(path) did not end")
    return try #require(failure.withLock { $0 })
  }

  @Test func `pages that are visited repeatedly are counted only up to the number of pages in the file`()
    throws
  {
    let path = try bomb()
    defer { try? FileManager.default.removeItem(atPath: path) }
    // A complete read would return 700,000,000,000 rows.
    #expect(
      try failure(reading: path) as? BackupError
        == .damaged("it declares 1000 rows in change_sets but holds more than 1000"))
  }
}
