// Protocol/store.md

import Records
import Replication
package import SQLite
package import Wire

/// The store of one node: the log of change sets, the records folded from it, and the circle's statements.
///
/// Synchronous and not for sharing: the node's actor owns it. Whatever changes it is one transaction that is
/// durable when the call returns, or has left nothing behind.
package final class Store {
  let connection: Connection
  let logs: ChangeSetLogs
  let fold: Fold
  /// Whose store it is: own sets never wait for their time. Nil where that makes no difference.
  package var device: DeviceKey?
  /// What this log has declared to have seen; kept for the log that asked last.
  var declared: (branch: Int64, sequences: [Int64: Int64])?
  /// Of sets that came in lately.
  var seals = Seals()
  /// Sets that questions about the past have decoded.
  var setCache = SetCache()
  /// Stored sets that the disk has altered, as far as that is known.
  var damage: DamagedSets
  /// Of sets aside what they stand on and that is not here; nil until somebody asks.
  var lacking: [Set<ChangeSetID>]?
  /// Held as long as the store is open; nil in state.
  private let lock: StoreLock?

  /// Opens a store, or makes it where there is none. No other process can open it meanwhile.
  ///
  /// - Parameters:
  ///   - refolds: makes the tables that follow from the log anew, as damaged as they may be.
  ///   - isLocked: whether the caller has the store's lock, and keeps it longer than the store.
  package convenience init(path: String, refolds: Bool = false, isLocked: Bool = false) throws {
    let lock = try isLocked ? nil : StoreLock(store: path)
    let connection = try Connection(.file(path))
    try connection.setUp()
    // Before the log's first sync: SQLite syncs the directory with that and does not look at how it went, and an error
    // is told only once. Then a loss of power would take the log with its name, and all that is committed from now on.
    try Directory.syncNames(ofDatabase: path)
    try self.init(connection, lock: lock, refolds: refolds)
  }

  /// Opens a store, or makes it where there is none, on another file system than the machine's.
  package convenience init(on files: any VirtualFileSystem, path: String, refolds: Bool = false) throws {
    let connection = try Connection(on: files, path)
    try connection.setUp()
    try files.syncDirectory(of: path)
    try self.init(connection, lock: nil, refolds: refolds)
  }

  /// A store that is gone with the process: for tests and previews.
  package static func inMemory() throws -> Store {
    let connection = try Connection(.memory)
    try connection.setUp()
    return try Store(connection, lock: nil)
  }

  /// A store in a file that goes away with its use: fast, and nothing of it survives a crash.
  static func scratch(path: String) throws -> Store {
    let connection = try Connection(.file(path))
    try connection.setUpUnsafe()
    return try Store(connection, lock: nil)
  }

  private init(
    _ connection: Connection, lock: consuming StoreLock?, refolds: Bool = false
  ) throws {
    self.connection = connection
    self.lock = lock
    // Whatever this shows may be sent to others.
    try connection.syncLog()
    let isCurrent = try Self.migrate(connection, refolds: refolds)
    logs = try ChangeSetLogs(connection)
    var damage = try DamagedSets(connection)
    fold = try isCurrent ? Fold(connection, logs) : Self.newTables(connection, logs, &damage)
    self.damage = damage
  }

  // MARK: Schema

  /// Brings the tables to this version. False if the records must be folded again.
  private static func migrate(_ connection: Connection, refolds: Bool) throws -> Bool {
    try connection.transaction {
      try connection.execute(
        "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY NOT NULL, value NOT NULL) WITHOUT ROWID")
      let found = try metaInteger("schema", connection) ?? 0
      guard found <= Schema.version else {
        throw StoreError.newerSchema(found: found, known: Schema.version)
      }
      for version in found..<Schema.version {
        try connection.execute(Schema.migration(to: version + 1))
      }
      // A store that is as it should be is opened without a write: that works on a full disk, too.
      if found < Schema.version { try setMeta("schema", .integer(Schema.version), connection) }
      guard found > 0 else {
        try Derived.create(connection)
        return true
      }
      return try !refolds && Derived.isCurrent(connection)
    }
  }

  // MARK: Transactions

  /// Runs `body` as one transaction; if it throws, memory is as before too.
  func atomically<Result>(_ body: () throws -> Result) throws -> Result {
    let (logsBefore, foldBefore, damageBefore) = (logs.rollbackState, fold.rollbackState, damage)
    do {
      return try connection.transaction {
        let result = try body()
        try logs.expectAllRead()
        try damage.save(connection)
        return result
      }
    } catch {
      forgetPast()
      damage = damageBefore
      logs.restore(logsBefore)
      fold.restore(foldBefore)
      throw error
    }
  }

  /// Runs what keeps several things as one transaction.
  package func atOnce(_ body: () throws -> Void) throws { try atomically(body) }

  /// How often stored change sets were removed or numbered again: work in slices that remembers their numbers begins
  /// again when this differs.
  package private(set) var removals = 0

  /// Differs once records may have changed.
  package var recordsVersion: Int { fold.foldedSets &+ removals }

  /// Numbers of stored change sets are no longer what they were.
  func noteRemoval() { removals += 1 }

  /// Forgets what was kept in memory of sets and their past.
  func forgetPast() {
    noteRemoval()
    declared = nil
    setCache = SetCache()
    seals = Seals()
    lacking = nil
  }

  /// Pages in the write-ahead log that are not in the database yet.
  package var pendingPages: Int { connection.walPages }

  /// Does what was left for a quiet moment: indexes, and the write-ahead log.
  package func rest() throws {
    try fold.dayIndex.bringBack()
    try checkpoint()
  }

  /// Whether an index is away until the next quiet moment.
  package var lacksIndex: Bool { fold.dayIndex.isAway }

  /// Moves the write-ahead log into the database.
  ///
  /// - Parameter isShrinking: gives the room of the write-ahead log back to the disk, unless somebody is reading it.
  package func checkpoint(isShrinking: Bool = false) throws {
    try connection.checkpoint(isShrinking: isShrinking)
    try connection.fitCache()
  }

  /// Gives the write-ahead log its length before it is used, so that commits need not wait until it has grown.
  package func reserveLog(_ bytes: Int = ConnectionSettings().journalSizeLimitBytes) throws {
    try connection.reserveLog(bytes)
  }

  /// Makes sure that what the store shows is on the disk, after a sync that failed.
  package func rewriteLog() throws { try connection.rewriteLog() }

  /// From now on closing the store writes nothing.
  package func leaveLogOnClose() { connection.leaveLogOnClose() }

  // MARK: Meta

  /// Bytes that the node keeps beside the log, by name.
  package func meta(_ key: String) throws -> [UInt8]? { try Self.metaBytes("node." + key, connection) }

  /// Keeps bytes under a name; nil forgets them.
  package func setMeta(_ key: String, _ value: [UInt8]?) throws {
    guard let value else {
      try connection.with("DELETE FROM meta WHERE key = ?1") { row in
        try row.bind(1, "node." + key)
        try row.run()
      }
      return
    }
    try Self.setMeta("node." + key, .blob(value), connection)
  }

  package func metaLines(_ key: String) throws -> [String] {
    String(decoding: try meta(key) ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
  }

  package func setMetaLines(_ key: String, _ lines: [String]) throws {
    try setMeta(key, Array(lines.joined(separator: "\n").utf8))
  }

  static func metaBytes(_ key: String, _ connection: Connection) throws -> [UInt8]? {
    try connection.with("SELECT value FROM meta WHERE key = ?1") { row in
      try row.bind(1, key)
      return try row.step() ? row.bytes(0) : nil
    }
  }

  static func metaInteger(_ key: String, _ connection: Connection) throws -> Int64? {
    try connection.with("SELECT value FROM meta WHERE key = ?1") { row in
      try row.bind(1, key)
      return try row.step() ? row.integer(0) : nil
    }
  }

  static func setMeta(_ key: String, _ value: ColumnValue, _ connection: Connection) throws {
    try connection.with("INSERT OR REPLACE INTO meta(key, value) VALUES (?1, ?2)") { row in
      try row.bind(1, key)
      try row.bind(2, value)
      try row.run()
    }
  }

  // MARK: Statements

  /// The circle's signed statements as they were received, in order of their ids.
  package func statements() throws -> [[UInt8]] {
    try connection.with("SELECT bytes FROM statements ORDER BY id") { row in
      var result: [[UInt8]] = []
      while try row.step() { result.append(row.bytes(0)) }
      return result
    }
  }

  /// Adds and removes statements in one transaction; what is there already stays.
  package func saveStatements(
    _ added: [(id: StatementID, bytes: [UInt8])], removed: [StatementID] = []
  ) throws {
    try atomically {
      try addStatements(added)
      try connection.with("DELETE FROM statements WHERE id = ?1") { row in
        for id in removed {
          try row.bind(1, id.bytes)
          try row.run()
        }
      }
    }
  }

  /// Keeps these statements and no others, in one transaction.
  package func replaceStatements(_ all: [(id: StatementID, bytes: [UInt8])]) throws {
    let kept = Set(all.map(\.id))
    let held = try connection.with("SELECT id FROM statements") { row in
      var ids: [StatementID] = []
      while try row.step() { if let id = StatementID(bytes: row.bytes(0)) { ids.append(id) } }
      return ids
    }
    try saveStatements(all, removed: held.filter { !kept.contains($0) })
  }

  /// Adds statements in the transaction that is under way.
  package func addStatements(_ added: [(id: StatementID, bytes: [UInt8])]) throws {
    try connection.with("INSERT INTO statements(id, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING") { row in
      for statement in added {
        try row.bind(1, statement.id.bytes)
        try row.bind(2, statement.bytes)
        try row.run()
      }
    }
  }
}
