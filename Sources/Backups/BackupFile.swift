// Sources/store.md, "Backups"

import LogStorage
import RecordTables
import Records
package import Replication
import SQLite
package import Wire

/// The backup format: a small SQLite database with the statements and change sets as they were signed.
enum BackupFormat {
  /// "WMBK"
  static let application: Int64 = 0x574d_424b
  /// Version 1 held change sets of format 1, which are no longer read.
  static let version: Int64 = 2
  /// The key, in the table `about`, of the ids of the sets whose erases were held.
  static let heldErases = "held_erases"

  static let tables = """
    CREATE TABLE about(key TEXT PRIMARY KEY NOT NULL, value NOT NULL) WITHOUT ROWID;
    CREATE TABLE statements(id BLOB PRIMARY KEY NOT NULL, bytes BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE change_sets(
      number INTEGER PRIMARY KEY, header BLOB NOT NULL, signature BLOB NOT NULL, plan BLOB NOT NULL,
      field_values BLOB NOT NULL
    );
    """
}

/// Why a file can't be used as a backup.
package enum BackupError: Error, Hashable, Sendable {
  /// The file is not a Waymark backup.
  case notABackup
  /// The file was written by a newer version of the program.
  case newerFormat(found: Int64, known: Int64)
  /// The file was written by a version of the program that used format 1 of change sets, which is no longer read.
  case formerFormat
  /// The content of the file is incomplete or unreadable.
  case damaged(String)
  /// A change set does not match its signature, or the backup lacks a set that it depends on. The other change sets can
  /// be restored.
  case damagedSet(String)
  /// The bytes of a file do not match its id. Everything else can be restored.
  case damagedFile(String)
}

/// The description of a backup. It is not signed, unlike the statements and change sets.
package struct BackupAbout: Hashable, Sendable {
  /// When the backup was made, in milliseconds since 1970 by the clock of the machine that made it.
  package var created: Moment
  /// The version of the program that made the backup.
  package var program: String
  /// The device that made the backup; `name` is the name of that device.
  package var device: DeviceKey
  package var name: String
  /// Preferences of that device, by the keys under which its node stores them.
  package var kept: [String: [UInt8]]

  package init(
    created: Moment, program: String, device: DeviceKey, name: String, kept: [String: [UInt8]]
  ) {
    self.created = created
    self.program = program
    self.device = device
    self.name = name
    self.kept = kept
  }
}

/// A backup opened for reading. Nothing in it is trusted: the reader must verify every signature.
package final class BackupFile {
  package let about: BackupAbout
  package let changeSetCount: Int64
  /// Whether the backup was written with the files that its records name.
  package let holdsFiles: Bool
  /// The sets whose erases were held when the backup was made, so that it has the erased values.
  package let heldErases: [ChangeSetID]
  let connection: Connection
  private let statementCount: Int64

  /// - Throws: `BackupError`
  package init(path: String) throws {
    do {
      connection = try Connection(.existingFileReadOnly(path))
      try connection.setUpReadOnly()
      guard try Self.integer("PRAGMA application_id", connection) == BackupFormat.application else {
        throw BackupError.notABackup
      }
      let version = try Self.integer("PRAGMA user_version", connection)
      guard version <= BackupFormat.version else {
        throw BackupError.newerFormat(found: version, known: BackupFormat.version)
      }
      guard version == BackupFormat.version else { throw BackupError.formerFormat }
      try Self.checkTables(["about", "statements", "change_sets"], connection)
      let values = try Self.values(connection)
      about = try BackupAbout(values)
      changeSetCount = values["change_sets"]?.integer ?? -1
      heldErases = Self.ids(values[BackupFormat.heldErases])
      statementCount = values["statements"]?.integer ?? -1
      try Self.checkCount("change_sets", changeSetCount, connection)
      try Self.checkCount("statements", statementCount, connection)
      holdsFiles = values["files"] != nil
      if holdsFiles {
        try Self.checkTables(["files", "leaves"], connection)
        try Self.checkCount("files", values["files"]?.integer ?? -1, connection, leastRowBytes: 32)
        try Self.checkCount("leaves", values["leaves"]?.integer ?? -1, connection, leastRowBytes: 1)
      }
    } catch let error as SQLiteError {
      throw Self.readable(error)
    }
  }

  /// Returns the circle's statements without verifying them.
  package func statements() throws -> [[UInt8]] {
    try reading {
      try connection.with("SELECT bytes FROM statements ORDER BY id") { row in
        var result: [[UInt8]] = []
        while try row.step() { result.append(row.bytes(0)) }
        return result
      }
    }
  }

  /// Returns the ids of the change sets, computed from their headers. Nothing is verified.
  package func changeSetIDs() throws -> Set<ChangeSetID> {
    try reading {
      try connection.with("SELECT header FROM change_sets") { row in
        var ids: Set<ChangeSetID> = []
        while try row.step() { ids.insert(ChangeSetID(header: row.bytes(0))) }
        return ids
      }
    }
  }

  /// Passes the change sets to `body` in causal order, in parts of at most `count`. Nothing is verified.
  package func forEachPart(of count: Int, _ body: ([RawChangeSet]) throws -> Void) throws {
    var part: [RawChangeSet] = []
    try reading {
      try connection.with("SELECT \(RawChangeSet.columns) FROM change_sets ORDER BY number") { row in
        while try row.step() {
          part.append(RawChangeSet(row, at: 0))
          guard part.count == count else { continue }
          try body(part)
          part.removeAll(keepingCapacity: true)
        }
      }
    }
    if !part.isEmpty { try body(part) }
  }

  // MARK: Reading

  func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError {
      throw Self.readable(error)
    }
  }

  /// Translates an SQLite error: a file that is not a database is not a backup, and a database that can't be read is
  /// damaged.
  private static func readable(_ error: SQLiteError) -> any Error {
    if error.isInterrupted { return CancellationError() }
    if error.isNoDatabase { return BackupError.notABackup }
    return error.isDamage || error.isMissing ? BackupError.damaged(error.message) : error
  }

  private static func integer(_ sql: String, _ connection: Connection) throws -> Int64 {
    try connection.with(sql) { try $0.step() ? $0.integer(0) : 0 }
  }

  /// Checks that the tables are ordinary ones. Reading a view or a computed column would evaluate expressions from the
  /// file, which might never end.
  private static func checkTables(_ tables: [String], _ connection: Connection) throws {
    for table in tables {
      guard try connection.unplainness(of: table) == nil else {
        throw BackupError.damaged("it has no ordinary table \(table)")
      }
    }
  }

  /// Checks that a table has as many rows as the file declares. In a damaged B-tree, a few pages may be reached again
  /// and again. So counting stops one row after the declared number, and that number itself is limited by the size of
  /// the file.
  ///
  /// - Parameter leastRowBytes: the smallest possible size of a row. Each statement or change set has a signature of 64
  ///   bytes and further fields.
  private static func checkCount(
    _ table: String, _ declared: Int64, _ connection: Connection, leastRowBytes: Int64 = 100
  ) throws {
    let bytes = try integer(
      "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", connection)
    guard (0...bytes / leastRowBytes).contains(declared) else {
      throw BackupError.damaged("it declares \(declared) rows in \(table), more than its size allows")
    }
    let found = try integer("SELECT count(*) FROM (SELECT 1 FROM \(table) LIMIT \(declared + 1))", connection)
    guard found == declared else {
      let more = found > declared ? "more than \(declared)" : "\(found)"
      throw BackupError.damaged("it declares \(declared) rows in \(table) but holds \(more)")
    }
  }

  private static func ids(_ value: ColumnValue?) -> [ChangeSetID] {
    guard case .blob(let bytes)? = value else { return [] }
    return stride(from: 0, to: bytes.count, by: Bytes32.count).compactMap { start in
      ChangeSetID(bytes: Array(bytes[start...].prefix(Bytes32.count)))
    }
  }

  private static let aboutMax = 1_000

  private static func values(_ connection: Connection) throws -> [String: ColumnValue] {
    try connection.with("SELECT key, value FROM about LIMIT \(aboutMax + 1)") { row in
      var result: [String: ColumnValue] = [:]
      var count = 0
      while try row.step() {
        count += 1
        guard count <= aboutMax else { throw BackupError.damaged("its table about has too many rows") }
        result[row.text(0)] = row.value(1)
      }
      return result
    }
  }
}

// MARK: Description

extension BackupAbout {
  private static let keptPrefix = "node."

  var values: [String: ColumnValue] {
    var values: [String: ColumnValue] = [
      "created": .integer(created), "program": .text(program), "device": .blob(device.bytes),
      "name": .text(name),
    ]
    for (key, bytes) in kept { values[Self.keptPrefix + key] = .blob(bytes) }
    return values
  }

  fileprivate init(_ values: [String: ColumnValue]) throws {
    guard let created = values["created"]?.integer, case .text(let program)? = values["program"],
      case .blob(let bytes)? = values["device"], let device = DeviceKey(bytes: bytes),
      case .text(let name)? = values["name"]
    else { throw BackupError.damaged("its description (table about) is incomplete") }
    var kept: [String: [UInt8]] = [:]
    for (key, value) in values where key.hasPrefix(Self.keptPrefix) {
      if case .blob(let bytes) = value { kept[String(key.dropFirst(Self.keptPrefix.count))] = bytes }
    }
    self.init(created: created, program: program, device: device, name: name, kept: kept)
  }
}

extension ColumnValue {
  fileprivate var integer: Int64? {
    if case .integer(let number) = self { return number }
    return nil
  }
}
