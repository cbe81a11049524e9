// Sources/store.md

package import FileStore
package import LogStorage
package import RecordTables
package import Records
package import SQLite
package import Wire

/// The store of one node: the log of change sets, the records folded from it, and the circle's statements.
///
/// Synchronous, owned by the node's actor, and not thread-safe. Each modification is one transaction: once the call
/// returns, the modification is durable; if the call throws, nothing has changed.
package final class Store: RecordSource {
  // `Backups` and `Verification` use the following three. All others use the methods of the store, which keep what is
  // in memory equal to the tables.
  package let connection: Connection
  package let logs: ChangeSetLogs
  package let fold: Fold
  /// The bytes of attachments and pictures, which are not in the database.
  package let files: FileStore
  /// The file of the store, which a `RecordReader` can read at the same time; nil if the store is not a file on the
  /// machine's disk.
  package let path: String?
  /// The kinds of records that the store knows.
  package var schema: Schema { fold.schema }
  /// The device that owns the store; sets that it wrote are never parked. Nil if the store has no owner, as in
  /// verification and some tests.
  package var device: DeviceKey?
  /// What the most recently queried branch has declared as seen: the newest sequence of each other branch. A cache.
  var declared: (branch: Int64, sequences: [Int64: Int64])?
  /// Hashes of the signatures of recently stored sets; see `Seals`.
  var seals = Seals()
  /// A cache of decoded sets, for queries about earlier changes.
  var setCache = SetCache()
  /// The known damaged sets.
  var damage: DamagedSets
  /// For each quarantined set, its missing ancestors; nil until they are computed.
  var lacking: [Set<ChangeSetID>]?
  /// The lock on the store's file, held while the store is open. Nil if the caller holds the lock, or if the store is
  /// not a file on the machine's disk.
  private let lock: StoreLock?

  /// Opens a store, or creates one if none exists. While it is open, no other process can open it.
  ///
  /// - Parameters:
  ///   - apps: schemas of apps that the store is to know from now on, besides those that it knows already.
  ///   - refolds: whether to rebuild the tables derived from the log, even if they are damaged.
  ///   - isLocked: whether the caller already holds the store's lock and keeps it until the store is closed.
  package convenience init(
    path: String, adding apps: [KnownApp] = [], refolds: Bool = false, isLocked: Bool = false
  ) throws {
    let lock = try isLocked ? nil : StoreLock(store: path)
    let connection = try Connection(.file(path))
    try connection.setUp()
    // The directory must be synced before the first sync of the write-ahead log. In that first sync, SQLite also syncs
    // the directory, but it ignores errors, and the system reports an error only once. A power loss could then remove
    // the name of the write-ahead log, and with it everything committed from now on.
    try Directory.syncNames(ofDatabase: path)
    try self.init(
      connection, path: path, lock: lock, files: Self.files(nextTo: path), adding: apps, refolds: refolds)
  }

  /// The folder `files` next to the database.
  package static func files(nextTo path: String) -> FileStore {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    return FileStore(SystemDisk("\(folder)files"))
  }

  /// Opens a store on a virtual file system instead of the machine's, or creates one if none exists.
  ///
  /// - Parameters:
  ///   - files: where the bytes of attachments and pictures are.
  ///   - apps: as above.
  package convenience init(
    on system: any VirtualFileSystem, path: String, files: FileStore = FileStore(MemoryDisk()),
    adding apps: [KnownApp] = [], refolds: Bool = false
  ) throws {
    let connection = try Connection(on: system, path)
    try connection.setUp()
    try system.syncDirectory(of: path)
    try self.init(connection, lock: nil, files: files, adding: apps, refolds: refolds)
  }

  /// Creates a store that exists only in memory, for tests and previews.
  package static func inMemory(adding apps: [KnownApp] = []) throws -> Store {
    let connection = try Connection(.memory)
    try connection.setUp()
    return try Store(connection, lock: nil, adding: apps)
  }

  /// Opens a temporary store in a file. It is fast, but not crash-safe.
  package static func scratch(path: String, adding apps: [KnownApp] = []) throws -> Store {
    let connection = try Connection(.file(path))
    try connection.setUpUnsafe()
    return try Store(connection, lock: nil, adding: apps)
  }

  private init(
    _ connection: Connection, path: String? = nil, lock: consuming StoreLock?,
    files: FileStore = FileStore(MemoryDisk()), adding apps: [KnownApp] = [], refolds: Bool = false
  ) throws {
    self.connection = connection
    self.path = path
    self.files = files
    self.lock = lock
    // Anything that can be read from the store may be sent to other devices, so it must be durable first.
    try connection.syncLog()
    let (apps, isCurrent) = try Self.migrate(connection, adding: apps, refolds: refolds)
    logs = try ChangeSetLogs(connection)
    var damage = try DamagedSets(connection)
    var fold =
      try isCurrent
      ? Fold(connection, logs, Schema(apps)) : Self.newTables(connection, logs, apps, &damage)
    // If there is no room to rebuild the tables now, the store learns the kinds when it is opened next.
    let learned = try Self.learning(apps, connection)
    if learned != apps, let rebuilt = Self.rebuilt(connection, logs, learned, damage) {
      (fold, damage) = rebuilt
    }
    self.fold = fold
    self.damage = damage
  }

  /// Creates a store over tables that are only read.
  init(reading connection: Connection, _ schema: Schema, files: FileStore) throws {
    self.connection = connection
    path = nil
    self.files = files
    lock = nil
    logs = try ChangeSetLogs(connection)
    fold = try Fold(connection, logs, schema)
    damage = try DamagedSets(connection)
  }

  // MARK: Schema

  /// Migrates the tables to this version, and adds the schemas of apps.
  ///
  /// - Returns: the schemas that the store knows from now on, and false if the record tables must be rebuilt by folding the
  ///   log again.
  private static func migrate(
    _ connection: Connection, adding added: [KnownApp], refolds: Bool
  ) throws -> (apps: [KnownApp], isCurrent: Bool) {
    try connection.transaction {
      try connection.execute(MetaTable.sql)
      let found = try schemaVersion(connection)
      guard found <= StoreLayout.version else {
        throw StoreError.newerSchema(found: found, known: StoreLayout.version)
      }
      for version in max(found, StoreLayout.firstVersion - 1)..<StoreLayout.version {
        try connection.execute(StoreLayout.migration(to: version + 1))
      }
      // A store that already has this version is opened without writing, so that it can be opened even on a full disk.
      if found < StoreLayout.version { try MetaTable.set("schema", StoreLayout.version, connection) }
      let apps = try adding(added, to: try apps(in: connection))
      let schema = Schema(apps)
      if found == 0 { try Derived.create(connection, schema, keeping: StoreLayout.keptTables) }
      let isCurrent = try found == 0 || !refolds && Derived.isCurrent(connection, schema)
      if isCurrent { try keep(apps, connection) }
      return (apps, isCurrent)
    }
  }

  private static func rebuilt(
    _ connection: Connection, _ logs: ChangeSetLogs, _ apps: [KnownApp], _ damage: DamagedSets
  ) -> (Fold, DamagedSets)? {
    var damage = damage
    guard let fold = try? newTables(connection, logs, apps, &damage) else { return nil }
    return (fold, damage)
  }

  /// Returns the version of a store's schema; 0 for a new store.
  ///
  /// - Throws: `StoreError.formerFormat` if the store holds change sets of format 1.
  package static func schemaVersion(_ connection: Connection) throws -> Int64 {
    let found = try MetaTable.integer("schema", connection) ?? 0
    guard found == 0 || found >= StoreLayout.firstVersion else { throw StoreError.formerFormat }
    return found
  }

  // MARK: Transactions

  /// Runs `body` as one transaction. If `body` throws, the database and the in-memory state are both rolled back.
  ///
  /// - Parameter holding: decides which erases that `body` folds are held; nil to apply all at once.
  func atomically<Result>(_ holding: EraseHolding? = nil, _ body: () throws -> Result) throws -> Result {
    fold.holding = holding
    defer { fold.holding = nil }
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

  /// Runs several modifications as one transaction.
  package func atOnce(_ body: () throws -> Void) throws { try atomically(nil, body) }

  /// The number of times that stored change sets were removed or renumbered. Work that is done in slices and remembers
  /// set numbers must start over when this number has changed.
  package private(set) var removals = 0

  /// A number that changes whenever records may have changed.
  package var recordsVersion: Int { fold.foldedSets &+ removals &+ heldErasesApplied }

  /// The number of times that held erases were applied: records change then without another set being folded.
  var heldErasesApplied = 0

  /// Notes that stored change sets were removed or renumbered, so that remembered set numbers are no longer valid.
  func noteRemoval() { removals += 1 }

  /// Clears all caches that refer to stored sets by number.
  func forgetPast() {
    noteRemoval()
    declared = nil
    setCache = SetCache()
    seals = Seals()
    lacking = nil
  }

  /// The number of pages in the write-ahead log that are not in the database yet.
  package var pendingPages: Int { connection.walPages }

  /// Does the work deferred until the store is idle: rebuilds a dropped, stale or damaged index, and checkpoints.
  package func rest() throws {
    try fold.dayIndex.bringBack()
    try fold.textIndex.rebuild()
    try checkpoint()
  }

  /// Whether an index has been dropped, is stale or is damaged, and will be rebuilt when the store is next idle.
  package var lacksIndex: Bool { fold.dayIndex.isAway || fold.textIndex.needsRebuild }

  package func noteTextIndexDamage(_ error: SQLiteError) { fold.textIndex.noteDamage() }

  /// Moves the content of the write-ahead log into the database file.
  ///
  /// - Parameter isShrinking: whether to truncate the write-ahead log too, unless someone is reading it. It is always
  ///   truncated while an erase is pending.
  package func checkpoint(isShrinking: Bool = false) throws {
    let isErasing = try isErasePending && removesErased()
    let isShrunk = try connection.checkpoint(isShrinking: isShrinking || isErasing, waits: isShrinking)
    if isErasing, isShrunk {
      try connection.transaction { try MetaTable.remove(MetaKey.erasePending, connection) }
    }
    try connection.fitCache()
  }

  /// Removes what is left of erased values in the database.
  ///
  /// - Returns: false if a reader, a full disk or a damaged text index prevented that.
  private func removesErased() throws -> Bool {
    do {
      guard try fold.textIndex.removeDeleted() else { return false }
      try connection.vacuum()
      return true
    } catch let error as SQLiteError where error.isBusy || error.isFull {
      return false
    }
  }

  /// Whether values were erased that may still be in free space of the database or in the write-ahead log. They are
  /// gone once the database was written again and the log truncated, which a reader, such as a backup, can delay.
  package var isErasePending: Bool {
    get throws { try MetaTable.integer(MetaKey.erasePending, connection) != nil }
  }

  /// Notes, in the transaction that erases values, that the database must be written again and the log truncated.
  static func noteErase(_ connection: Connection) throws {
    try MetaTable.set(MetaKey.erasePending, 1, connection)
  }

  /// Extends the write-ahead log in advance, so that commits need not wait for the file to grow.
  package func reserveLog(_ bytes: Int = ConnectionSettings().journalSizeLimitBytes) throws {
    try connection.reserveLog(bytes)
  }

  /// After a failed sync, makes everything that can be read from the store durable.
  package func rewriteLog() throws { try connection.rewriteLog() }

  /// Leaves the write-ahead log as it is when the store is closed, so that closing writes nothing.
  package func leaveLogOnClose() { connection.leaveLogOnClose() }

  // MARK: Meta

  /// Returns the value that the node stored under a key; nil if there is none.
  package func meta(_ key: String) throws -> [UInt8]? { try MetaTable.bytes("node." + key, connection) }

  /// Stores a value for the node under a key. A nil value deletes the key.
  package func setMeta(_ key: String, _ value: [UInt8]?) throws {
    guard let value else { return try MetaTable.remove("node." + key, connection) }
    try MetaTable.set("node." + key, value, connection)
  }

  package func metaLines(_ key: String) throws -> [String] {
    String(decoding: try meta(key) ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
  }

  package func setMetaLines(_ key: String, _ lines: [String]) throws {
    try setMeta(key, Array(lines.joined(separator: "\n").utf8))
  }

  // MARK: Statements

  /// Returns the circle's signed statements, byte for byte as received, sorted by id.
  package func statements() throws -> [[UInt8]] {
    try connection.with("SELECT bytes FROM statements ORDER BY id") { row in
      var result: [[UInt8]] = []
      while try row.step() { result.append(row.bytes(0)) }
      return result
    }
  }

  /// Adds and removes statements in one transaction. Statements that are already stored stay unchanged.
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

  /// Replaces all statements, in one transaction.
  package func replaceStatements(_ all: [(id: StatementID, bytes: [UInt8])]) throws {
    let kept = Set(all.map(\.id))
    let held = try connection.with("SELECT id FROM statements") { row in
      var ids: [StatementID] = []
      while try row.step() { if let id = StatementID(bytes: row.bytes(0)) { ids.append(id) } }
      return ids
    }
    try saveStatements(all, removed: held.filter { !kept.contains($0) })
  }

  /// Adds statements in the current transaction.
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
