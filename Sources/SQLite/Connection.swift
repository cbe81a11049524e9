internal import CSQLite

/// A file system for SQLite to use instead of the machine's disk.
package protocol VirtualFileSystem: AnyObject {
  /// The name under which the file system is registered with SQLite for as long as this object exists.
  var name: String { get }
  /// Makes the entries of the directory that contains a file durable.
  func syncDirectory(of path: String) throws(SQLiteError)
}

/// A connection to a database. It is opened without SQLite's own mutexes, so only one thread may use it at a time.
///
/// Statements retain their connection, so no statement outlives it.
package final class Connection {
  /// The location of a database.
  package enum Location: Sendable {
    case memory
    case file(String)
    /// An existing file that is only read; no file is created.
    case existingFileReadOnly(String)
  }

  let handle: OpaquePointer
  /// The number of frames in the write-ahead log after the newest commit. SQLite's `wal_hook` updates it.
  private let walFrames: UnsafeMutablePointer<Int32>
  private var cache: [String: CachedStatement] = [:]
  /// The time limit for work. The connection outlives the progress handler that reads this.
  private let workLimit = WorkLimit()
  /// The file system of the database; nil if it is the machine's.
  private let files: (any VirtualFileSystem)?

  package convenience init(_ location: Location) throws(SQLiteError) {
    var opened: OpaquePointer?
    let code = Self.open(location, &opened)
    try self.init(opened, code, on: nil)
  }

  /// Opens a file that is not on the machine's disk.
  package convenience init(
    on files: any VirtualFileSystem, _ path: String, isReadOnly: Bool = false
  ) throws(SQLiteError) {
    var opened: OpaquePointer?
    let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    let code = sqlite3_open_v2(path, &opened, access | SQLITE_OPEN_NOMUTEX, files.name)
    try self.init(opened, code, on: files)
  }

  private init(_ opened: OpaquePointer?, _ code: Int32, on files: (any VirtualFileSystem)?)
    throws(SQLiteError)
  {
    guard code == SQLITE_OK, let opened else {
      // A failed open still returns a handle that must be closed (sqlite.org/c3ref/open.html).
      let error = SQLiteError(
        code: code, message: opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory", sql: nil)
      sqlite3_close_v2(opened)
      throw error
    }
    handle = opened
    self.files = files
    walFrames = .allocate(capacity: 1)
    walFrames.initialize(to: 0)
    sqlite3_wal_hook(
      handle,
      { context, _, _, frames in
        context?.assumingMemoryBound(to: Int32.self).pointee = frames
        return SQLITE_OK
      }, walFrames)
    sqlite3_extended_result_codes(handle, 1)
  }

  deinit {
    for statement in cache.values { sqlite3_finalize(statement.prepared.handle) }
    sqlite3_close_v2(handle)
    walFrames.deallocate()
  }

  private static func open(_ location: Location, _ opened: inout OpaquePointer?) -> Int32 {
    switch location {
    case .memory:
      return sqlite3_open_v2(
        ":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
    case .file(let path):
      return sqlite3_open_v2(
        path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
    case .existingFileReadOnly(let path):
      return sqlite3_open_v2(path, &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
    }
  }

  // MARK: Work

  /// Runs one or more SQL statements that return no rows.
  package func execute(_ sql: String) throws(SQLiteError) {
    try check(sqlite3_exec(handle, sql, nil, nil, nil), sql)
  }

  /// Prepares a statement for repeated use by the caller.
  package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
    Statement(try prepared(sql), connection: self)
  }

  /// Passes a cached prepared statement to `body`; a nested use of the same SQL gets a separate statement.
  package func with<Result>(
    _ sql: String, _ body: (borrowing Statement) throws -> Result
  ) throws -> Result {
    let cached = try cached(sql)
    guard !cached.isLent else { return try body(prepare(sql)) }
    cached.isLent = true
    let statement = Statement(cached.prepared, connection: self, isLent: true)
    defer {
      sqlite3_reset(cached.prepared.handle)
      sqlite3_clear_bindings(cached.prepared.handle)
      cached.isLent = false
    }
    return try body(statement)
  }

  private func cached(_ sql: String) throws(SQLiteError) -> CachedStatement {
    if let known = cache[sql] { return known }
    let new = CachedStatement(try prepared(sql))
    cache[sql] = new
    return new
  }

  /// Runs `body` in a write transaction: afterwards, either all of its changes are durable or none of them.
  package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try with("BEGIN IMMEDIATE") { try $0.run() }
    do {
      let result = try body()
      try with("COMMIT") { try $0.run() }
      return result
    } catch {
      // SQLite may have rolled back by itself, for example when the disk is full; then there is nothing left to undo.
      if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
      throw error
    }
  }

  /// Runs `body` within a transaction. If `body` throws, its changes are undone and the transaction goes on.
  ///
  /// Virtual tables write what they have in memory before this returns.
  package func savepoint(_ body: () throws -> Void) throws {
    try execute("SAVEPOINT part")
    do {
      try body()
      try execute("RELEASE part")
    } catch {
      // A failed RELEASE has ended the savepoint; its changes stay.
      if (try? execute("ROLLBACK TO part")) != nil { try execute("RELEASE part") }
      throw error
    }
  }

  /// Runs `body`, which reads one state of the database, whatever other connections write meanwhile.
  package func reading<Result>(_ body: () throws -> Result) throws -> Result {
    try execute("BEGIN")
    defer { try? execute("ROLLBACK") }
    return try body()
  }

  package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// The number of rows changed by the latest insert, update or delete.
  package var changes: Int { Int(sqlite3_changes(handle)) }

  /// The row id of the latest insert.
  package var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

  // MARK: Interruption

  /// From now on, interrupts the work on this connection once the task that does it is cancelled or `time` has passed.
  package func interrupt(after time: Duration? = nil) {
    workLimit.deadline = time.map { .now + $0 }
    sqlite3_progress_handler(
      handle, 4_000,
      { context in
        guard let context else { return 0 }
        let limit = Unmanaged<WorkLimit>.fromOpaque(context).takeUnretainedValue()
        return Task.isCancelled || limit.isOver ? 1 : 0
      }, Unmanaged.passUnretained(workLimit).toOpaque())
  }

  // MARK: Write-ahead log

  /// The number of pages in the write-ahead log that no checkpoint has moved into the database yet, as of the newest
  /// commit.
  package var walPages: Int { Int(walFrames.pointee) }

  /// Moves the pages in the write-ahead log into the database, without waiting for other readers.
  ///
  /// - Parameters:
  ///   - isShrinking: whether to truncate the file of the write-ahead log too.
  ///   - waits: whether a checkpoint that truncates waits for readers, for up to the busy timeout of a transaction.
  /// - Returns: false if a reader or writer prevented the truncation, or the checkpoint.
  @discardableResult
  package func checkpoint(isShrinking: Bool = false, waits: Bool = true) throws(SQLiteError) -> Bool {
    let mode = isShrinking ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
    if !waits { sqlite3_busy_timeout(handle, 0) }
    defer { if !waits { sqlite3_busy_timeout(handle, Self.busyMilliseconds) } }
    let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil)
    guard code != SQLITE_BUSY, code != SQLITE_LOCKED else { return false }
    try check(code, "checkpoint")
    walFrames.pointee = 0
    return true
  }

  /// How long a transaction waits for other connections.
  static let busyMilliseconds: Int32 = 5_000

  /// From now on, closing the connection writes nothing, so the write-ahead log stays next to the database unchanged.
  package func leaveLogOnClose() {
    _ = waymark_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
  }

  // MARK: Errors

  func check(_ code: Int32, _ sql: @autoclosure () -> String) throws(SQLiteError) {
    guard code == SQLITE_OK else { throw error(code, sql()) }
  }

  func error(_ code: Int32, _ sql: String) -> SQLiteError {
    SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)), sql: sql)
  }

  private func prepared(_ sql: String) throws(SQLiteError) -> Statement.Prepared {
    var statement: OpaquePointer?
    // A negative byte count (up to the NUL) spares SQLite a copy; the persistent flag keeps the statement out of
    // lookaside memory.
    let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else { throw error(code, sql) }
    return Statement.Prepared(handle: statement, sql: sql)
  }
}

/// A prepared statement in a connection's cache. An object, so that lending it needs only one search for its SQL.
private final class CachedStatement {
  let prepared: Statement.Prepared
  /// Whether the statement is in use.
  var isLent = false

  init(_ prepared: Statement.Prepared) { self.prepared = prepared }
}

/// The time limit for the work on a connection.
private final class WorkLimit {
  var deadline: SuspendingClock.Instant?

  var isOver: Bool { deadline.map { SuspendingClock.now >= $0 } ?? false }
}
