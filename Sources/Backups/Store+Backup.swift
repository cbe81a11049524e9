// Sources/store.md, "Backups"

import FileStore
package import LogStorage
import Platform
import RecordTables
import Records
import Replication
import SQLite
import Sodium
import Storage
import Wire

/// A summary of a finished backup.
package struct BackupSummary: Hashable, Sendable {
  package let bytes: Int64
  package let changeSets: Int64
  /// Change sets that the disk has altered. The backup contains their altered bytes, to preserve their positions.
  package let damaged: [DamagedSet]
  /// The files that the backup holds; nil if it was written without files.
  package let files: Int?
  /// Files that records name and that are not in the backup, because they are not on this device or are damaged.
  package let missingFiles: Int
}

/// The store holds damaged change sets, and the caller did not allow a backup of them. Nothing was written.
package struct BackupDamageError: Error, Hashable, Sendable {
  package let damaged: [DamagedSet]
}

/// The backup could not be written to its target; `errno` is the error number of the operating system.
package struct BackupTargetError: Error, Hashable, Sendable {
  package let errno: Int32
  package var isThereAlready: Bool { errno == EEXIST }
  package var isFull: Bool { errno == ENOSPC || errno == EDQUOT }
}

extension Store {
  /// Writes a backup of everything committed so far, and verifies each of its change sets.
  ///
  /// - Parameters:
  ///   - allowsDamage: whether to write the backup even if the disk has altered some of the change sets.
  ///   - holdsFiles: whether to include the files that the records name and that are here.
  /// - Throws: `BackupTargetError` if the file can't be written; `BackupDamageError`, which names the damaged sets, if
  ///   there are any and `allowsDamage` is false.
  package func backup(
    to path: String, about: BackupAbout, overwrites: Bool = false, allowsDamage: Bool = true,
    holdsFiles: Bool = false, progress: (_ done: Int64, _ total: Int64) -> Void = { _, _ in }
  ) throws -> BackupSummary {
    try Self.backup(
      connection, holdsFiles ? files : nil, to: path, about, overwrites, allowsDamage, progress)
  }

  /// Writes a backup of a store file that may be open elsewhere. The process that has it open is not disturbed, so a
  /// node can continue to work meanwhile. Changes that are committed after the backup has begun are not included.
  ///
  /// - Throws: `StoreError.damaged` or `StoreError.formerFormat` if the store can't be read, `BackupTargetError`,
  ///   `BackupDamageError`.
  package static func backup(
    storeAt store: String, to path: String, about: BackupAbout, overwrites: Bool = false,
    allowsDamage: Bool = true, holdsFiles: Bool = false,
    progress: (_ done: Int64, _ total: Int64) -> Void = { _, _ in }
  ) throws -> BackupSummary {
    let connection = try Connection(.existingFileReadOnly(store))
    try connection.setUpReadOnly()
    do {
      _ = try schemaVersion(connection)
      let files = holdsFiles ? Self.files(nextTo: store) : nil
      return try backup(connection, files, to: path, about, overwrites, allowsDamage, progress)
    } catch let error as SQLiteError where error.isDamage {
      throw StoreError.damaged(error.message)
    }
  }

  /// Returns the temporary path of a backup while this process writes it. No other user can have created a file there,
  /// because the name contains random digits.
  package static func partialBackup(of path: String) -> String { "\(path).\(partialMark).new" }

  /// Whether a file name is the temporary one of a backup: `before-mirror-….waymark.0123456789abcdef.new`.
  package static func isPartialBackup(_ name: String) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count >= 4 && parts.last == "new" && parts[parts.count - 3] == "waymark"
      && parts[parts.count - 2].utf8.count == 16 && parts[parts.count - 2].allSatisfy(\.isHexDigit)
  }

  private static let partialMark = hexadecimal(randomBytes(8))

  private static func backup(
    _ source: Connection, _ files: FileStore?, to path: String, _ about: BackupAbout, _ overwrites: Bool,
    _ allowsDamage: Bool, _ progress: (Int64, Int64) -> Void
  ) throws -> BackupSummary {
    let temporary = partialBackup(of: path)
    try makeFile(temporary)
    defer { unlink(temporary) }
    let copied: CopiedSets
    let copiedFiles: FilesToCopy.Copied?
    do {
      (copied, copiedFiles) = try source.snapshot {
        let files = try files.map { try FilesToCopy(from: $0, namedBy: source) }
        if let files { try checkRoom(for: files, at: path) }
        return try write(source, files, to: temporary, about, progress)
      }
    } catch let error as SQLiteError where error.isFull {
      throw BackupTargetError(errno: ENOSPC)
    }
    guard allowsDamage || copied.damaged.isEmpty else {
      throw BackupDamageError(damaged: copied.damaged)
    }
    let bytes = try settle(temporary)
    if overwrites {
      guard rename(temporary, path) == 0 else { throw BackupTargetError(errno: errno) }
    } else {
      // A link fails if the name is taken; a rename would overwrite the existing file.
      guard link(temporary, path) == 0 else { throw BackupTargetError(errno: errno) }
    }
    try syncDirectory(of: path)
    return BackupSummary(
      bytes: bytes, changeSets: copied.count, damaged: copied.damaged,
      files: copiedFiles.map { Int(clamping: $0.files) }, missingFiles: copiedFiles?.missing ?? 0)
  }

  // MARK: Content

  private struct CopiedSets {
    var count: Int64 = 0
    var damaged: [DamagedSet] = []
  }

  private static func write(
    _ source: Connection, _ files: FilesToCopy?, to path: String, _ about: BackupAbout,
    _ progress: (Int64, Int64) -> Void
  ) throws -> (CopiedSets, FilesToCopy.Copied?) {
    let target = try Connection(.file(path))
    try target.setUpUnsafe()
    return try target.transaction {
      try target.execute(BackupFormat.tables)
      try target.execute("PRAGMA application_id = \(BackupFormat.application)")
      try target.execute("PRAGMA user_version = \(BackupFormat.version)")
      let statements = try copyStatements(source, target)
      let leaves = files?.leafCount ?? 0
      let changeSets = try copyChangeSets(source, target) { progress($0, $1 + leaves) }
      let copied = try files?.copy(to: target) { progress(changeSets.count + $0, changeSets.count + leaves) }
      var values = about.values
      values["statements"] = .integer(statements)
      values["change_sets"] = .integer(changeSets.count)
      values["damaged"] = .integer(Int64(changeSets.damaged.count))
      if let copied {
        values["files"] = .integer(copied.files)
        values["leaves"] = .integer(copied.leaves)
      }
      let held = try HeldErases.sets(source)
      if !held.isEmpty { values[BackupFormat.heldErases] = .blob(held.flatMap(\.id.bytes)) }
      try target.with("INSERT INTO about(key, value) VALUES (?1, ?2)") { row in
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
          try row.bind(1, key)
          try row.bind(2, value)
          try row.run()
        }
      }
      return (changeSets, copied)
    }
  }

  private static func copyStatements(_ source: Connection, _ target: Connection) throws -> Int64 {
    try target.with("INSERT INTO statements(id, bytes) VALUES (?1, ?2)") { insert in
      try source.with("SELECT id, bytes FROM statements ORDER BY id") { row in
        var count: Int64 = 0
        while try row.step() {
          try insert.bind(1, row.bytes(0))
          try insert.bind(2, row.bytes(1))
          try insert.run()
          count += 1
        }
        return count
      }
    }
  }

  /// Copies and verifies every set. A damaged set is copied too, to preserve its position, and is reported.
  private static func copyChangeSets(
    _ source: Connection, _ target: Connection, _ progress: (Int64, Int64) -> Void
  ) throws -> CopiedSets {
    let total = try source.with("SELECT count(*) FROM change_sets") { try $0.step() ? $0.integer(0) : 0 }
    let sql = "INSERT INTO change_sets(number, \(RawChangeSet.columns)) VALUES (?1, ?2, ?3, ?4, ?5)"
    return try target.with(sql) { insert in
      let selection = """
        SELECT \(RawChangeSet.columns), c.id, c.sequence, b.device, b.incarnation, b.lane
        FROM change_sets c LEFT JOIN branches b ON b.branch = c.branch ORDER BY c.number
        """
      return try source.with(selection) { row in
        var copied = CopiedSets()
        while try row.step() {
          copied.count += 1
          let raw = RawChangeSet(row, at: 0)
          if let damaged = damagedSet(raw, row) { copied.damaged.append(damaged) }
          try insert.bind(1, copied.count)
          try raw.bind(to: insert, at: 2)
          try insert.run()
          if copied.count.isMultiple(of: 2_000) { progress(copied.count, total) }
        }
        progress(copied.count, total)
        return copied
      }
    }
  }

  /// Returns a description, read from the tables, of a set whose bytes do not match its signature; nil for an intact
  /// set. The id is compared too, because a restore computes it from the header.
  private static func damagedSet(_ raw: RawChangeSet, _ row: borrowing Statement) -> DamagedSet? {
    let id = ChangeSetID(bytes: row.bytes(4))
    if let id, raw.isIntact(as: id) { return nil }
    let log = LogKey(
      device: DeviceKey(bytes: row.bytes(6)) ?? DeviceKey(.zero),
      incarnation: Incarnation(bytes: row.bytes(7)) ?? Incarnation(.zero),
      lane: Lane(rawValue: UInt8(truncatingIfNeeded: row.integer(8))) ?? .records)
    return DamagedSet(
      id: id ?? ChangeSetID(.zero), log: log, sequence: UInt64(bitPattern: row.integer(5)))
  }

  // MARK: Files

  private static func makeFile(_ path: String) throws {
    unlink(path)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw BackupTargetError(errno: errno) }
    close(file)
  }

  /// Makes a complete file durable and returns its size.
  private static func settle(_ path: String) throws -> Int64 {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw BackupTargetError(errno: errno) }
    defer { close(file) }
    var status = stat()
    guard syncFile(file) == 0, fstat(file, &status) == 0 else { throw BackupTargetError(errno: errno) }
    return Int64(status.st_size)
  }

  /// Checks that the files fit on the disk, before any of them is copied.
  private static func checkRoom(for files: FilesToCopy, at path: String) throws {
    // SQLite needs about a hundredth more than the bytes.
    let needed = files.byteCount + files.byteCount / 64
    guard (try? SystemDisk(path).room()) ?? .max >= needed else { throw BackupTargetError(errno: ENOSPC) }
  }

  private static func syncDirectory(of path: String) throws(BackupTargetError) {
    let code = Directory.sync(of: path)
    guard code == 0 else { throw BackupTargetError(errno: code) }
  }
}
