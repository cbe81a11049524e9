// Protocol/store.md, "Backups"

import Records
package import Replication
import SQLite
package import Wire

/// The format of a backup: a small SQLite database of statements and change sets, as they are signed.
enum BackupFormat {
  /// "WMBK"
  static let application: Int64 = 0x574d_424b
  static let version: Int64 = 1

  static let tables = """
    CREATE TABLE about(key TEXT PRIMARY KEY NOT NULL, value NOT NULL) WITHOUT ROWID;
    CREATE TABLE statements(id BLOB PRIMARY KEY NOT NULL, bytes BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE change_sets(
      number INTEGER PRIMARY KEY, header BLOB NOT NULL, signature BLOB NOT NULL, body BLOB NOT NULL
    );
    """
}

/// Why a file can't be restored from.
package enum BackupError: Error, Hashable, Sendable {
  /// It is something else.
  case notABackup
  /// A newer version of the program wrote it.
  case newerFormat(found: Int64, known: Int64)
  /// What it says is not all there, or cannot be read.
  case damaged(String)
  /// A change set is not what was signed, or lacks one that it builds on; the rest may be restored.
  case damagedSet(String)
}

/// What a backup says of itself, beside what is signed.
package struct BackupAbout: Hashable, Sendable {
  /// When it was made, in milliseconds since 1970 of the machine that made it.
  package var created: Moment
  /// The version of the program that made it.
  package var program: String
  /// The device that made it, and what it is called.
  package var device: DeviceKey
  package var name: String
  /// Choices of that device, by the names under which its node keeps them.
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

/// A backup that is there to be read. Nothing of it is trusted: the reader verifies every signature.
package final class BackupFile {
  package let about: BackupAbout
  package let changeSetCount: Int64
  private let connection: Connection
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
      try Self.checkTables(connection)
      let values = try Self.values(connection)
      about = try BackupAbout(values)
      changeSetCount = values["change_sets"]?.integer ?? -1
      statementCount = values["statements"]?.integer ?? -1
      try Self.checkCount("change_sets", changeSetCount, connection)
      try Self.checkCount("statements", statementCount, connection)
    } catch let error as SQLiteError {
      throw Self.readable(error)
    }
  }

  /// The circle's statements, not verified.
  package func statements() throws -> [[UInt8]] {
    try reading {
      try connection.with("SELECT bytes FROM statements ORDER BY id") { row in
        var result: [[UInt8]] = []
        while try row.step() { result.append(row.bytes(0)) }
        return result
      }
    }
  }

  /// The ids of the change sets, as the headers have it; nothing is verified.
  package func changeSetIDs() throws -> Set<ChangeSetID> {
    try reading {
      try connection.with("SELECT header FROM change_sets") { row in
        var ids: Set<ChangeSetID> = []
        while try row.step() { ids.insert(ChangeSetID(header: row.bytes(0))) }
        return ids
      }
    }
  }

  /// Hands over the change sets, not verified, in causal order and in parts of `count`.
  package func forEachPart(of count: Int, _ body: ([RawChangeSet]) throws -> Void) throws {
    var part: [RawChangeSet] = []
    try reading {
      try connection.with("SELECT header, signature, body FROM change_sets ORDER BY number") { row in
        while try row.step() {
          part.append(RawChangeSet(header: row.bytes(0), signature: row.bytes(1), body: row.bytes(2)))
          guard part.count == count else { continue }
          try body(part)
          part.removeAll(keepingCapacity: true)
        }
      }
    }
    if !part.isEmpty { try body(part) }
  }

  // MARK: Reading

  private func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError {
      throw Self.readable(error)
    }
  }

  /// A file that is no database at all is something else; one that is and can't be read is damaged.
  private static func readable(_ error: SQLiteError) -> any Error {
    if error.isInterrupted { return CancellationError() }
    if error.isNoDatabase { return BackupError.notABackup }
    return error.isDamage || error.isMissing ? BackupError.damaged(error.message) : error
  }

  private static func integer(_ sql: String, _ connection: Connection) throws -> Int64 {
    try connection.with(sql) { try $0.step() ? $0.integer(0) : 0 }
  }

  /// Reading a view or a computed column would run what the file says, perhaps without end.
  private static func checkTables(_ connection: Connection) throws {
    for table in ["about", "statements", "change_sets"] {
      guard try connection.unplainness(of: table) == nil else {
        throw BackupError.damaged("it has no plain table \(table)")
      }
    }
  }

  /// Counts no further than the file says, and that no further than its bytes have room for: in a damaged tree of pages
  /// a few may be found again and again.
  private static func checkCount(_ table: String, _ said: Int64, _ connection: Connection) throws {
    let bytes = try integer(
      "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", connection)
    guard (0...bytes / leastRowBytes).contains(said) else {
      throw BackupError.damaged("it says that it holds \(said) rows of \(table), and has no room for them")
    }
    let found = try integer("SELECT count(*) FROM (SELECT 1 FROM \(table) LIMIT \(said + 1))", connection)
    guard found == said else {
      let more = found > said ? "more than \(said)" : "\(found)"
      throw BackupError.damaged("it holds \(more) rows of \(table) where it says \(said)")
    }
  }

  /// A statement or a change set has a signature of 64 bytes, and says more than that.
  private static let leastRowBytes: Int64 = 100

  private static let aboutMax = 1_000

  private static func values(_ connection: Connection) throws -> [String: ColumnValue] {
    try connection.with("SELECT key, value FROM about LIMIT \(aboutMax + 1)") { row in
      var result: [String: ColumnValue] = [:]
      var count = 0
      while try row.step() {
        count += 1
        guard count <= aboutMax else { throw BackupError.damaged("it says too much of itself") }
        result[row.text(0)] = row.value(1)
      }
      return result
    }
  }
}

// MARK: What it says of itself

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
    else { throw BackupError.damaged("it does not say what it is a backup of") }
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
