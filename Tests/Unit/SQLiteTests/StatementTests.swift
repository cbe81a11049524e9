import Foundation
import SQLite
import Testing

@Suite struct StatementTests {
  let connection: Connection

  init() throws {
    connection = try Connection(.memory)
    try connection.setUp()
    try connection.execute("CREATE TABLE cells(id INTEGER PRIMARY KEY, value)")
  }

  private func stored<Value>(
    _ bind: (borrowing Statement) throws -> Void, _ read: (borrowing Statement) -> Value
  ) throws -> Value {
    let insert = try connection.prepare("INSERT INTO cells(value) VALUES (?1)")
    try bind(insert)
    try insert.run()
    let select = try connection.prepare("SELECT value, typeof(value) FROM cells ORDER BY id DESC")
    #expect(try select.step())
    return read(select)
  }

  @Test(arguments: ["", "é", "before\0after", "雪"])
  func `text keeps all its bytes`(_ text: String) throws {
    let (value, type) = try stored({ try $0.bind(1, text) }, { ($0.text(0), $0.text(1)) })
    #expect(Array(value.utf8) == Array(text.utf8))
    #expect(type == "text")
  }

  @Test(arguments: [[], [0], [1, 2, 3]] as [[UInt8]])
  func `an empty blob is not null`(_ bytes: [UInt8]) throws {
    let (value, type) = try stored({ try $0.bind(1, bytes) }, { ($0.bytes(0), $0.text(1)) })
    #expect(value == bytes)
    #expect(type == "blob")
  }

  @Test(arguments: [Int64.min, -1, 0, Int64.max])
  func `integers keep every bit`(_ number: Int64) throws {
    #expect(try stored({ try $0.bind(1, number) }, { $0.integer(0) }) == number)
  }

  @Test func `two words are sixteen bytes in big-endian order`() throws {
    let bytes = try stored({ try $0.bind(1, bigEndian: 1, .max) }, { $0.bytes(0) })
    #expect(bytes == [0, 0, 0, 0, 0, 0, 0, 1] + Array(repeating: 255, count: 8))
    let words = try stored({ try $0.bind(1, bigEndian: 7, 9) }, { $0.words16(0) })
    #expect(words?.0 == 7)
    #expect(words?.1 == 9)
  }

  @Test func `a blob of another length is not read as words`() throws {
    #expect(try stored({ try $0.bind(1, [1, 2, 3]) }, { $0.words16(0) == nil }))
    #expect(try stored({ try $0.bindNull(1) }, { $0.words16(0) == nil && $0.isNull(0) }))
  }

  @Test func `borrowed ranges are bound without copies, and released after the run`() throws {
    let buffer = Array("name-blob".utf8)
    let insert = try connection.prepare("INSERT INTO cells(value) VALUES (?1)")
    _ = try insert.run(borrowing: buffer) { statement, bytes throws(SQLiteError) in
      try statement.bindText(1, bytes, 0..<4)
      return true
    }
    _ = try insert.run(borrowing: buffer) { statement, bytes throws(SQLiteError) in
      try statement.bindBlob(1, bytes, 5..<5)
      return true
    }
    let ran = try insert.run(borrowing: buffer) { statement, bytes throws(SQLiteError) in
      try statement.bindBlob(1, bytes, 0..<9)
      return false
    }
    #expect(!ran)
    try insert.run()
    let select = try connection.prepare("SELECT quote(value) FROM cells ORDER BY id")
    var found: [String] = []
    while try select.step() { found.append(select.text(0)) }
    #expect(found == ["'name'", "X''", "NULL"])
  }

  @Test func `an error contains the SQL and not the arguments`() throws {
    try connection.execute("CREATE UNIQUE INDEX only ON cells(value)")
    let insert = try connection.prepare("INSERT INTO cells(value) VALUES (?1)")
    try insert.bind(1, "secret")
    try insert.run()
    let error = try #require(throws: SQLiteError.self) { try insert.run() }
    #expect(error.description.contains("INSERT INTO cells"))
    #expect(!error.description.contains("secret"))
  }

  @Test func `a cached statement can be used recursively`() throws {
    try connection.execute("INSERT INTO cells(value) VALUES (1), (2)")
    let sql = "SELECT value FROM cells ORDER BY id"
    var seen: [Int64] = []
    try connection.with(sql) { outer in
      while try outer.step() {
        try connection.with(sql) { inner in
          while try inner.step() { seen.append(outer.integer(0) * 10 + inner.integer(0)) }
        }
      }
    }
    #expect(seen == [11, 12, 21, 22])
  }

  @Test func `a cached statement is returned without its bindings`() throws {
    let sql = "SELECT ?1"
    try connection.with(sql) { try $0.bind(1, 5) }
    let isNull = try connection.with(sql) { try $0.step() && $0.isNull(0) }
    #expect(isNull)
  }
}
