internal import CSQLite

/// A prepared statement: bind its parameters (numbered from 1), step, read the columns (numbered from 0), and reset it.
package struct Statement: ~Copyable {
  /// The handle of a statement and its SQL, as the connection caches them.
  struct Prepared {
    let handle: OpaquePointer
    let sql: String
  }

  /// The type of a column's value.
  package enum ColumnType: Sendable {
    case integer, float, text, blob, null
  }

  let prepared: Prepared
  private let connection: Connection
  /// Whether the statement belongs to the connection's cache, which keeps it afterwards.
  private let isLent: Bool

  init(_ prepared: Prepared, connection: Connection, isLent: Bool = false) {
    self.prepared = prepared
    self.connection = connection
    self.isLent = isLent
  }

  deinit {
    if !isLent { sqlite3_finalize(prepared.handle) }
  }

  package var sql: String { prepared.sql }

  // MARK: Running

  /// Advances to the next row. Returns false if there are no more rows.
  package func step() throws(SQLiteError) -> Bool {
    switch sqlite3_step(prepared.handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let error = connection.error(code, prepared.sql)
      sqlite3_reset(prepared.handle)
      throw error
    }
  }

  /// Resets the statement so that it can run again. Its bindings are kept.
  package func reset() { sqlite3_reset(prepared.handle) }

  /// Runs the statement to its end and resets it.
  package func run() throws(SQLiteError) {
    while try step() {}
    reset()
  }

  /// Lets `bind` bind parts of `bytes` without copying them, and runs the statement if `bind` returns true. Returns the
  /// result of `bind`.
  ///
  /// The bindings point into `bytes` only during this call; they are cleared before it returns.
  package func run(
    borrowing bytes: [UInt8], _ bind: (borrowing Statement, BorrowedBytes) throws(SQLiteError) -> Bool
  ) throws(SQLiteError) -> Bool {
    let outcome = bytes.withUnsafeBufferPointer { buffer -> Result<Bool, SQLiteError> in
      // The buffer outlives the bindings, because they are cleared before the closure ends.
      defer { sqlite3_clear_bindings(prepared.handle) }
      do throws(SQLiteError) {
        guard try bind(self, BorrowedBytes(base: buffer.baseAddress, count: buffer.count)) else {
          return .success(false)
        }
        try run()
        return .success(true)
      } catch {
        sqlite3_reset(prepared.handle)
        return .failure(error)
      }
    }
    return try outcome.get()
  }

  // MARK: Binding

  package func bind(_ index: Int, _ value: Int64) throws(SQLiteError) {
    try check(sqlite3_bind_int64(prepared.handle, Int32(index), value))
  }

  package func bind(_ index: Int, _ value: Int) throws(SQLiteError) { try bind(index, Int64(value)) }

  package func bind(_ index: Int, _ value: Double) throws(SQLiteError) {
    try check(sqlite3_bind_double(prepared.handle, Int32(index), value))
  }

  package func bindNull(_ index: Int) throws(SQLiteError) {
    try check(sqlite3_bind_null(prepared.handle, Int32(index)))
  }

  /// Binds text with all its bytes, including NUL.
  package func bind(_ index: Int, _ value: String) throws(SQLiteError) {
    var value = value
    let code = value.withUTF8 { utf8 in
      bindText(index, utf8.baseAddress, utf8.count, waymark_sqlite3_transient())
    }
    try check(code)
  }

  package func bind(_ index: Int, _ value: [UInt8]) throws(SQLiteError) {
    let code = value.withUnsafeBufferPointer { buffer in
      bindBlob(index, buffer.baseAddress, buffer.count, waymark_sqlite3_transient())
    }
    try check(code)
  }

  /// Binds the 16 big-endian bytes of two words as a blob.
  package func bind(_ index: Int, bigEndian word0: UInt64, _ word1: UInt64) throws(SQLiteError) {
    let code = withUnsafeBytes(of: (word0.bigEndian, word1.bigEndian)) { bytes in
      sqlite3_bind_blob(prepared.handle, Int32(index), bytes.baseAddress, 16, waymark_sqlite3_transient())
    }
    try check(code)
  }

  /// Binds a range of borrowed bytes as text; they must be UTF-8.
  package func bindText(_ index: Int, _ bytes: BorrowedBytes, _ range: Range<Int>) throws(SQLiteError) {
    try check(bindText(index, bytes.pointer(range), range.count, nil))
  }

  package func bindBlob(_ index: Int, _ bytes: BorrowedBytes, _ range: Range<Int>) throws(SQLiteError) {
    try check(bindBlob(index, bytes.pointer(range), range.count, nil))
  }

  private func bindText(
    _ index: Int, _ base: UnsafePointer<UInt8>?, _ count: Int, _ destructor: sqlite3_destructor_type?
  ) -> Int32 {
    // A null pointer would bind NULL, and text with a negative count would end at its first NUL.
    guard count > 0, let base else {
      return sqlite3_bind_text(prepared.handle, Int32(index), "", 0, waymark_sqlite3_transient())
    }
    return base.withMemoryRebound(to: CChar.self, capacity: count) { characters in
      sqlite3_bind_text(prepared.handle, Int32(index), characters, Int32(clamping: count), destructor)
    }
  }

  private func bindBlob(
    _ index: Int, _ base: UnsafePointer<UInt8>?, _ count: Int, _ destructor: sqlite3_destructor_type?
  ) -> Int32 {
    guard count > 0, let base else { return sqlite3_bind_zeroblob(prepared.handle, Int32(index), 0) }
    return sqlite3_bind_blob(prepared.handle, Int32(index), base, Int32(clamping: count), destructor)
  }

  private func check(_ code: Int32) throws(SQLiteError) {
    try connection.check(code, prepared.sql)
  }

  // MARK: Reading

  package var columnCount: Int { Int(sqlite3_column_count(prepared.handle)) }

  package func type(_ column: Int) -> ColumnType {
    switch sqlite3_column_type(prepared.handle, Int32(column)) {
    case SQLITE_INTEGER: .integer
    case SQLITE_FLOAT: .float
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    default: .null
    }
  }

  package func isNull(_ column: Int) -> Bool {
    sqlite3_column_type(prepared.handle, Int32(column)) == SQLITE_NULL
  }

  package func integer(_ column: Int) -> Int64 { sqlite3_column_int64(prepared.handle, Int32(column)) }

  package func double(_ column: Int) -> Double { sqlite3_column_double(prepared.handle, Int32(column)) }

  package func text(_ column: Int) -> String {
    String(decoding: buffer(column, sqlite3_column_text(prepared.handle, Int32(column))), as: UTF8.self)
  }

  package func bytes(_ column: Int) -> [UInt8] {
    [UInt8](buffer(column, sqlite3_column_blob(prepared.handle, Int32(column))))
  }

  /// Returns a blob of exactly 16 bytes as two big-endian words; nil for any other value.
  package func words16(_ column: Int) -> (UInt64, UInt64)? {
    guard type(column) == .blob else { return nil }
    let bytes = buffer(column, sqlite3_column_blob(prepared.handle, Int32(column)))
    guard bytes.count == 16 else { return nil }
    return (
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    )
  }

  /// Returns a column's bytes. They stay valid only until the next step or conversion of the column, so callers copy
  /// them at once.
  private func buffer(_ column: Int, _ base: UnsafeRawPointer?) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: base, count: base == nil ? 0 : Int(sqlite3_column_bytes(prepared.handle, Int32(column))))
  }
}

/// Bytes that are lent to a statement for one run. Ranges are positions in the lent array.
package struct BorrowedBytes {
  fileprivate let base: UnsafePointer<UInt8>?
  fileprivate let count: Int

  fileprivate func pointer(_ range: Range<Int>) -> UnsafePointer<UInt8>? {
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "range outside the borrowed bytes")
    return base.map { $0 + range.lowerBound }
  }
}
