import Foundation
import SQLite
import Testing

/// Transactions that fail late, reads of one state, and checkpoints next to readers.
@Suite struct TransactionTests {
  private struct Refusal: Error {}

  private let connection: Connection

  init() throws {
    connection = try Connection(.memory)
    try connection.setUp()
    try connection.execute("CREATE TABLE rows(value)")
  }

  private func values(_ connection: Connection) throws -> [Int64] {
    try connection.with("SELECT value FROM rows ORDER BY value") { row in
      var found: [Int64] = []
      while try row.step() { found.append(row.integer(0)) }
      return found
    }
  }

  private func insert(_ value: Int64, _ connection: Connection) throws {
    try connection.with("INSERT INTO rows VALUES (?1)") { row in
      try row.bind(1, value)
      try row.run()
    }
  }

  /// Inserts a value in a part that then fails, inside a transaction that goes on.
  private func insertRefused(_ value: Int64, _ connection: Connection) throws {
    #expect(throws: Refusal.self) {
      try connection.savepoint {
        try insert(value, connection)
        throw Refusal()
      }
    }
    #expect(connection.isInTransaction)
  }

  private func inTemporaryFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "sqlite-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }

  /// Not from a cached statement: SQLite reads many settings when it compiles the statement.
  private func number(_ sql: String, _ connection: Connection) throws -> Int64 {
    let row = try connection.prepare(sql)
    return try row.step() ? row.integer(0) : -1
  }

  // MARK: Transactions

  @Test func `a commit that fails is rolled back, and the next transaction works`() throws {
    try connection.execute(
      """
      PRAGMA foreign_keys = ON;
      CREATE TABLE owners(id INTEGER PRIMARY KEY);
      CREATE TABLE owned(owner INTEGER REFERENCES owners(id) DEFERRABLE INITIALLY DEFERRED)
      """)
    let error = #expect(throws: SQLiteError.self) {
      try connection.transaction {
        try insert(1, connection)
        // Noticed by the commit alone.
        try connection.execute("INSERT INTO owned VALUES (7)")
      }
    }
    #expect(error?.isConstraint == true)
    #expect(!connection.isInTransaction)
    #expect(try values(connection) == [])
    try connection.transaction { try insert(2, connection) }
    #expect(try values(connection) == [2])
  }

  @Test func `a transaction inside another is refused, and leaves the outer one to its owner`() throws {
    try connection.transaction {
      try insert(1, connection)
      #expect(throws: SQLiteError.self) { try connection.transaction { try insert(2, connection) } }
      #expect(connection.isInTransaction)
      try insert(3, connection)
    }
    #expect(try values(connection) == [1, 3])
  }

  @Test func `a part that fails takes its own changes back, as often as it is tried`() throws {
    try connection.transaction {
      try insert(1, connection)
      try [10, 11, 12].forEach { try insertRefused($0, connection) }
      try connection.savepoint { try insert(2, connection) }
    }
    #expect(try values(connection) == [1, 2])
  }

  // MARK: Reading one state

  @Test func `a snapshot shows one state however much is written meanwhile, and ends even if it fails`()
    throws
  {
    try inTemporaryFolder { folder in
      let writer = try Connection(.file(folder + "/store"))
      try writer.setUp()
      try writer.execute("CREATE TABLE rows(value); INSERT INTO rows VALUES (1)")
      let reader = try Connection(.existingFileReadOnly(folder + "/store"))
      try reader.setUpReader(isInterruptible: false)
      let read = try reader.snapshot { () -> [[Int64]] in
        let before = try values(reader)
        try insert(2, writer)
        return [before, try values(reader)]
      }
      #expect(read == [[1], [1]])
      #expect(!reader.isInTransaction)
      #expect(try values(reader) == [1, 2])
      #expect(throws: Refusal.self) {
        try reader.snapshot {
          _ = try values(reader)
          throw Refusal()
        }
      }
      #expect(!reader.isInTransaction)
      try insert(3, writer)
      #expect(try values(reader) == [1, 2, 3])
      let same = try reader.reading { () -> Bool in
        let before = try values(reader)
        try insert(4, writer)
        return try values(reader) == before
      }
      #expect(same && !reader.isInTransaction)
      #expect(throws: SQLiteError.self, "a reader can't write") { try insert(5, reader) }
    }
  }

  @Test func `a snapshot inside a transaction neither ends nor undoes it`() throws {
    try connection.transaction {
      try insert(1, connection)
      #expect(try connection.snapshot { try values(connection) } == [1])
      #expect(connection.isInTransaction)
      try insert(2, connection)
    }
    #expect(try values(connection) == [1, 2])
  }

  // MARK: Checkpoints

  @Test func `a log that is being read is not truncated, and without waiting that is known at once`() throws {
    try inTemporaryFolder { folder in
      func size() throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: folder + "/store-wal")[.size] as? Int
      }
      let writer = try Connection(.file(folder + "/store"))
      try writer.setUp()
      try writer.execute("CREATE TABLE rows(value)")
      let reader = try Connection(.existingFileReadOnly(folder + "/store"))
      try reader.setUpReader(isInterruptible: false)
      try reader.snapshot {
        _ = try values(reader)
        try insert(1, writer)
        #expect(try !writer.checkpoint(isShrinking: true, waits: false))
        #expect(try size() != 0)
        // The reader still sees its state, and the writer what it wrote.
        #expect(try values(reader) == [])
        #expect(try values(writer) == [1])
      }
      // A later transaction waits for other connections again.
      #expect(try number("PRAGMA busy_timeout", writer) == 5_000)
      #expect(try writer.checkpoint(isShrinking: true, waits: false))
      #expect(try size() == 0)
      #expect(writer.walPages == 0)
      #expect(try values(reader) == [1])
    }
  }

  @Test(arguments: [false, true]) func `closing removes the log only if it is not to be left`(
    isLeft: Bool
  ) throws {
    try inTemporaryFolder { folder in
      do {
        let writer = try Connection(.file(folder + "/store"))
        try writer.setUp()
        try writer.execute("CREATE TABLE rows(value); INSERT INTO rows VALUES (7)")
        if isLeft { writer.leaveLogOnClose() }
      }
      #expect(FileManager.default.fileExists(atPath: folder + "/store-wal") == isLeft)
      let next = try Connection(.file(folder + "/store"))
      try next.setUp()
      #expect(try values(next) == [7])
    }
  }

  // MARK: Databases in memory

  @Test func `an image of a database is read without its log, and can't be changed`() throws {
    try inTemporaryFolder { folder in
      let writer = try Connection(.file(folder + "/store"))
      try writer.setUp()
      try writer.execute("CREATE TABLE rows(value); INSERT INTO rows VALUES (1)")
      try writer.checkpoint()
      try insert(2, writer)
      let bytes = [UInt8](try Data(contentsOf: URL(filePath: folder + "/store")))
      let image = try Connection(image: bytes)
      try image.setUpReadOnly()
      #expect(try values(image) == [1])
      #expect(throws: SQLiteError.self) { try insert(3, image) }
    }
    let text = [UInt8](repeating: 0x41, count: 8_192)
    let error = #expect(throws: SQLiteError.self) { try Connection(image: text).setUpReadOnly() }
    #expect(error?.isNoDatabase == true)
  }

  @Test func `a database in memory has no log that could be synced, rewritten or extended`() throws {
    try connection.syncLog()
    try connection.rewriteLog()
    try connection.reserveLog(100_000)
    #expect(!connection.isInTransaction, "others are not locked out any more")
    #expect(try connection.checkpoint())
    try insert(1, connection)
    #expect(try values(connection) == [1])
  }

  @Test func `the page cache grows with the database, between its limits`() throws {
    var settings = ConnectionSettings()
    settings.cacheKibibytes = 64...128
    try connection.fitCache(settings)
    #expect(try number("PRAGMA cache_size", connection) == -64)
    // 2 MiB of rows: a fifth of that is more than the larger limit.
    try connection.execute(
      """
      WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 512)
        INSERT INTO rows SELECT zeroblob(4096) FROM n
      """)
    try connection.fitCache(settings)
    #expect(try number("PRAGMA cache_size", connection) == -128)
    settings.cacheKibibytes = 64...1_048_576
    try connection.fitCache(settings)
    let pages = try number(
      "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", connection)
    #expect(try number("PRAGMA cache_size", connection) == -(pages / 1_024 / 5))
  }

  @Test func `after a database was written again, nothing can be attached to it`() throws {
    try insert(1, connection)
    for _ in 1...2 { try connection.vacuum() }
    #expect(try values(connection) == [1])
    #expect(throws: SQLiteError.self) { try connection.execute("ATTACH ':memory:' AS other") }
    #expect(throws: Refusal.self) {
      try connection.sortingInFiles { throw Refusal() }
    }
    #expect(try number("PRAGMA temp_store", connection) == 2, "in memory")
    #expect(try number("PRAGMA cache_size", connection) == -8 * 1_024)
  }
}
