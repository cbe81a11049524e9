import Foundation
import SQLite
import Testing

@Suite struct ConnectionTests {
  private struct Refusal: Error {}

  private func inTemporaryFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "sqlite-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }

  private func pragma(_ name: String, _ connection: Connection) throws -> String {
    try connection.with("PRAGMA \(name)") { statement in try statement.step() ? statement.text(0) : "" }
  }

  @Test func `a file is durable at every commit`() throws {
    try inTemporaryFolder { folder in
      let connection = try Connection(.file(folder + "/store"))
      try connection.setUp()
      #expect(try pragma("journal_mode", connection) == "wal")
      #expect(try pragma("synchronous", connection) == "2")
      #expect(try pragma("fullfsync", connection) == "1")
      #expect(try pragma("checkpoint_fullfsync", connection) == "1")
      #expect(try pragma("trusted_schema", connection) == "0")
      #expect(try pragma("cell_size_check", connection) == "1")
      #expect(try pragma("journal_size_limit", connection) == "4194304")
    }
  }

  @Test func `a write-ahead log of any size is rewritten with the same content`() throws {
    try inTemporaryFolder { folder in
      let connection = try Connection(.file(folder + "/store"))
      try connection.setUp()
      try connection.execute("CREATE TABLE t(x)")
      for _ in 1...100 { try connection.execute("INSERT INTO t VALUES (randomblob(8192))") }
      let log = URL(filePath: folder + "/store-wal")
      let before = try Data(contentsOf: log)
      #expect(before.count > 2 << 18, "more than SQLite writes at once")
      try connection.rewriteLog()
      #expect(try Data(contentsOf: log) == before)
    }
  }

  @Test func `a file that is not a database is refused on opening`() throws {
    try inTemporaryFolder { folder in
      try Data(repeating: 0x41, count: 8_192).write(to: URL(filePath: folder + "/store"))
      let connection = try Connection(.file(folder + "/store"))
      let error = try #require(throws: SQLiteError.self) { try connection.setUp() }
      #expect(error.isDamage)
    }
  }

  @Test func `a missing folder is an error`() {
    #expect(throws: SQLiteError.self) { try Connection(.file("/nowhere/at/all/store")) }
  }

  @Test func `a transaction that throws changes nothing`() throws {
    let connection = try Connection(.memory)
    try connection.setUp()
    try connection.execute("CREATE TABLE rows(value)")
    #expect(throws: Refusal.self) {
      try connection.transaction {
        try connection.execute("INSERT INTO rows VALUES (1)")
        throw Refusal()
      }
    }
    #expect(!connection.isInTransaction)
    let count = try connection.with("SELECT count(*) FROM rows") { try $0.step() ? $0.integer(0) : -1 }
    #expect(count == 0)
  }

  @Test func `the write-ahead log grows until its checkpoint`() throws {
    try inTemporaryFolder { folder in
      let connection = try Connection(.file(folder + "/store"))
      try connection.setUp()
      try connection.execute("CREATE TABLE rows(value)")
      #expect(connection.walPages > 0)
      try connection.checkpoint()
      #expect(connection.walPages == 0)
    }
  }

  @Test func `a log of fixed length is overwritten, and read as if it were short`() throws {
    try inTemporaryFolder { folder in
      func size() throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: folder + "/store-wal")[.size] as? Int)
      }
      let connection = try Connection(.file(folder + "/store"))
      try connection.setUp()
      try connection.execute("CREATE TABLE rows(value)")
      try connection.checkpoint()
      try connection.reserveLog(300_000)
      #expect(try size() == 300_000)
      for value in 1...3 { try connection.execute("INSERT INTO rows VALUES (\(value))") }
      #expect(try size() == 300_000)
      // Reserving less never shortens the log.
      try connection.reserveLog(1_000)
      #expect(try size() == 300_000)
      // As if the process had been killed here.
      for end in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: "\(folder)/store\(end)", toPath: "\(folder)/copy\(end)")
      }
      let copy = try Connection(.file(folder + "/copy"))
      try copy.setUp()
      #expect(try copy.with("SELECT sum(value) FROM rows") { try $0.step() ? $0.integer(0) : -1 } == 6)
      #expect(!connection.isInTransaction)
    }
  }

  @Test func `a reader sees changes and cannot write`() throws {
    try inTemporaryFolder { folder in
      let writer = try Connection(.file(folder + "/store"))
      try writer.setUp()
      try writer.execute("CREATE TABLE rows(value); INSERT INTO rows VALUES (7)")
      let reader = try Connection(.existingFileReadOnly(folder + "/store"))
      try reader.setUpReadOnly()
      #expect(try reader.with("SELECT value FROM rows") { try $0.step() ? $0.integer(0) : -1 } == 7)
      #expect(throws: SQLiteError.self) { try reader.execute("DELETE FROM rows") }
    }
  }
}
