import Foundation
import SQLite
import Testing

/// Files that another program or person made, before anything in them is read.
@Suite struct ForeignTableTests {
  private static let plain = "CREATE TABLE rows(a, b)"
  private static let notOrdinary = "it has no ordinary table rows"
  private static let computed = "its table rows has computed columns"
  private static let indexed = "its table rows has an index on expressions"
  private static let triggered = "its table rows has a trigger"
  private static let checked = "its table rows has a CHECK constraint"

  private static let tables: [(sql: String, reason: String?)] = [
    (plain, nil),
    ("CREATE TABLE ROWS(a)", nil),
    ("CREATE TABLE rows(a PRIMARY KEY, b UNIQUE)", nil),
    ("CREATE TABLE rows(checked, a_check, check2)", nil),
    ("\(plain); CREATE INDEX places ON rows(b, a)", nil),
    ("\(plain); CREATE TABLE other(a CHECK (a > 0), c AS (a + 1))", nil),
    ("\(plain); CREATE TABLE other(a); CREATE INDEX places ON other(lower(a)) WHERE a > 1", nil),
    ("\(plain); CREATE TABLE other(a); CREATE TRIGGER t AFTER INSERT ON other BEGIN SELECT 1; END", nil),
    ("CREATE TABLE other(a)", notOrdinary),
    ("CREATE VIEW rows AS SELECT 1 AS a", notOrdinary),
    ("CREATE VIEW Rows AS SELECT 1 AS a", notOrdinary),
    ("CREATE VIRTUAL TABLE rows USING fts5(a)", notOrdinary),
  ]

  private static let unplain: [(sql: String, reason: String?)] = [
    ("CREATE TABLE rows(a, b AS (a + 1))", computed),
    ("CREATE TABLE rows(a, b AS (a + 1) STORED)", computed),
    ("\(plain); CREATE INDEX places ON rows(lower(a))", indexed),
    ("\(plain); CREATE INDEX places ON rows(b, lower(a))", indexed),
    ("\(plain); CREATE INDEX places ON rows(a) WHERE b > 1", indexed),
    ("\(plain); CREATE TRIGGER t AFTER INSERT ON rows BEGIN SELECT 1; END", triggered),
    ("\(plain); CREATE TRIGGER t AFTER INSERT ON ROWS BEGIN SELECT 1; END", triggered),
    ("CREATE TABLE rows(a CHECK (a > 0))", checked),
    ("CREATE TABLE rows(a, check(a > 0))", checked),
    ("CREATE TABLE rows(a, CONSTRAINT c Check (a > 0))", checked),
  ]

  @Test func `a table is plain unless reading it could run expressions of the file, and the reason is named`()
    throws
  {
    for (sql, reason) in Self.tables + Self.unplain {
      let connection = try Connection(.memory)
      try connection.execute(sql)
      let found = try connection.unplainness(of: "rows")
      #expect(found == reason, "\(sql)")
    }
  }

  @Test func `a file that is only read is not created, and can't be written`() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "foreign-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(throws: SQLiteError.self) { _ = try Connection(.existingFileReadOnly(path)) }
    #expect(!FileManager.default.fileExists(atPath: path))
    do { try Connection(.file(path)).execute("CREATE TABLE rows(a); INSERT INTO rows VALUES (7)") }
    let reader = try Connection(.existingFileReadOnly(path))
    try reader.setUpReadOnly()
    #expect(throws: SQLiteError.self) { try reader.execute("INSERT INTO rows VALUES (8)") }
    // Another database can't be written through this connection either.
    #expect(throws: SQLiteError.self) { try reader.execute("ATTACH ':memory:' AS other") }
    let count = try reader.with("SELECT count(*) FROM rows") { try $0.step() ? $0.integer(0) : -1 }
    #expect(count == 1)
  }
}
