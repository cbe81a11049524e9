import Foundation
import Testing

@testable import SQLite

/// Work that must end early, and what an error means for the one who reads it.
@Suite struct InterruptionTests {
  private static let longQuery = """
    WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200000) SELECT count(*) FROM n
    """

  private static func count(_ connection: Connection) throws -> Int64 {
    try connection.with(longQuery) { row in try row.step() ? row.integer(0) : -1 }
  }

  private func inTemporaryFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "sqlite-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path)
  }

  // MARK: Interruption

  @Test(arguments: [false, true])
  func `a cancelled task interrupts the work of a reader only if it may be interrupted`(
    isInterruptible: Bool
  ) async throws {
    try await inTemporaryFolder { folder in
      let path = folder + "/store"
      try Connection(.file(path)).setUp()
      let work = Task.detached { () async throws -> Bool in
        while !Task.isCancelled { await Task.yield() }
        let reader = try Connection(.existingFileReadOnly(path))
        try reader.setUpReader(isInterruptible: isInterruptible)
        do {
          return try Self.count(reader) != 200_000
        } catch let error as SQLiteError {
          return error.isInterrupted
        }
      }
      work.cancel()
      #expect(try await work.value == isInterruptible)
    }
  }

  @Test func `work on a foreign file ends at its time limit, and a later limit replaces it`() throws {
    let connection = try Connection(.memory)
    try connection.setUpForeign(within: .zero)
    let error = #expect(throws: SQLiteError.self) { try Self.count(connection) }
    #expect(error?.isInterrupted == true)
    connection.interrupt(after: .seconds(600))
    #expect(try Self.count(connection) == 200_000)
    connection.interrupt()
    #expect(try Self.count(connection) == 200_000, "without a limit")
  }

  @Test func `a foreign file runs neither views nor triggers, and no endless statement`() throws {
    let connection = try Connection(.memory)
    try connection.execute(
      """
      CREATE TABLE rows(value); CREATE TABLE traces(value);
      CREATE VIEW shown AS SELECT 1 AS value;
      CREATE TRIGGER traced AFTER INSERT ON rows BEGIN INSERT INTO traces VALUES (1); END
      """)
    try connection.setUpForeign(within: .seconds(600))
    #expect(throws: SQLiteError.self) { try connection.execute("SELECT value FROM shown") }
    try connection.execute("INSERT INTO rows VALUES (1)")
    let traces = try connection.with("SELECT count(*) FROM traces") { try $0.step() ? $0.integer(0) : -1 }
    #expect(traces == 0)
    let long = "SELECT 1 -- " + String(repeating: "x", count: 64 * 1024)
    #expect(throws: SQLiteError.self) { try connection.execute(long) }
    let deep = "SELECT " + String(repeating: "(1+", count: 40) + "1" + String(repeating: ")", count: 40)
    #expect(throws: SQLiteError.self) { try connection.execute(deep) }
  }

  // MARK: Errors

  /// The numbers are those of sqlite.org/rescode.html.
  @Test(
    arguments: [
      (13, ["full"]), (4_874, ["full"]), (5, ["busy"]), (6, ["busy"]), (517, ["busy"]), (11, ["damage"]),
      (267, ["damage"]), (26, ["damage", "no database"]), (1, ["missing"]), (19, ["constraint"]),
      (2_067, ["constraint"]), (9, ["interrupted"]), (10, ["input/output", "lost write"]),
      (266, ["input/output"]), (522, ["input/output"]), (778, ["input/output", "lost write"]),
      (1_034, ["input/output", "lost write"]), (1_290, ["input/output", "lost write"]),
      (1_546, ["input/output", "lost write"]), (3_850, ["input/output"]),
      (4_106, ["input/output", "lost write"]), (8_202, ["input/output", "lost write"]),
      (8_458, ["input/output", "lost write"]), (14, []), (7, []),
    ] as [(Int32, [String])])
  func `an error has the meaning of its code, and no other`(code: Int32, meanings: [String]) {
    let error = SQLiteError(code: code, message: "", sql: nil)
    let all: [(meaning: String, holds: Bool)] = [
      ("full", error.isFull), ("busy", error.isBusy), ("damage", error.isDamage),
      ("no database", error.isNoDatabase), ("missing", error.isMissing), ("constraint", error.isConstraint),
      ("interrupted", error.isInterrupted), ("input/output", error.isInputOutput),
      ("lost write", error.isLostWrite),
    ]
    let found = all.filter { $0.holds }.map { $0.meaning }
    #expect(found == meanings)
  }

  @Test func `a directory that can't be synced may have lost a write, and a missing row is damage`() {
    let error = SQLiteError.directoryNotSynced("reason")
    #expect(error.isLostWrite && error.isInputOutput && !error.isFull)
    #expect(error.description.contains("reason"))
    #expect(SQLiteError.missingRow(of: "rows").isDamage)
  }

  // MARK: Text

  @Test(
    arguments: [
      ("Café", "cafe"), ("CAFE\u{301}", "cafe"), ("ÀÉÎõü", "aeiou"), ("Straße", "strasse"), ("Ægir", "aegir"),
      ("Łódź", "lodz"), ("ÇŞĞ", "csg"), ("ПРИВЕТ", "привет"), ("Ελλάς", "ελλάς"), ("雪", "雪"),
      ("A1-b", "a1-b"), ("", ""),
    ])
  func `text is compared without case and without the accents of Latin letters`(text: String, folded: String)
    throws
  {
    #expect(foldedText(text) == folded)
    let connection = try Connection(.memory)
    try connection.setUp()
    let found = try connection.with(
      "SELECT \(Connection.foldedFunction)(?1), \(Connection.containsFunction)(?1, ?2), "
        + "\(Connection.beginsFunction)(?1, ?2), \(Connection.foldedFunction)(NULL)"
    ) { row in
      try row.bind(1, text)
      try row.bind(2, folded)
      return try row.step() ? "\(row.text(0)) \(row.integer(1)) \(row.integer(2)) \(row.isNull(3))" : ""
    }
    #expect(found == "\(folded) 1 1 true")
  }

  @Test(
    arguments: [
      ("abc", "c", true, false), ("abc", "abc", true, true), ("abc", "abcd", false, false),
      ("aab", "ab", true, false), ("abc", "", true, true), ("", "a", false, false),
      ("ababac", "abac", true, false),
      ("abc", "ac", false, false),
    ])
  func `a text contains and begins with its parts and nothing else`(
    text: String, part: String, isContained: Bool, isBeginning: Bool
  ) throws {
    #expect(foldedText(text, contains: part) == isContained)
    let connection = try Connection(.memory)
    try connection.setUp()
    let begins = try connection.with("SELECT \(Connection.beginsFunction)(?1, ?2)") { row in
      try row.bind(1, text)
      try row.bind(2, part)
      return try row.step() && row.integer(0) == 1
    }
    #expect(begins == isBeginning)
  }
}
