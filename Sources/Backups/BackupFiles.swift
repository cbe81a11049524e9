// Sources/store.md, "Backups"

package import FileFormat
import FileStore
import SQLite
import Storage
import Wire

// The files in a backup.
//
// A backup is one SQLite file, so the files of a device are in it leaf by leaf: one row for each leaf of 64 KiB, numbered
// from 1 in the order of the table `files`. No file is ever in memory as a whole.
//
//     files    1: id, 150,000 bytes      leaves   1, 2, 3
//              2: id,  70,000 bytes               4, 5
//
// A backup without files has neither table.

extension BackupFormat {
  static let fileTables = """
    CREATE TABLE files(number INTEGER PRIMARY KEY, id BLOB NOT NULL, size INTEGER NOT NULL);
    CREATE TABLE leaves(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
    """
}

/// The files that a backup is to hold.
struct FilesToCopy {
  private let store: FileStore
  /// The files that are here, in ascending order.
  private let files: [FileReference]
  /// The files that the records name and that are not here.
  private(set) var missing: Int

  /// - Parameter source: the store that names the files.
  init(from store: FileStore, namedBy source: Connection) throws {
    self.store = store
    do {
      let named = try Store.namedFiles(source, try Store.schema(in: source))
      files = try named.filter { try store.has($0) }
      missing = named.count - files.count
    } catch is SQLiteError {
      // The derived tables are damaged or those of another version, so everything that is here may be named.
      files = try store.complete().sorted()
      missing = 0
    }
  }

  var leafCount: Int64 { files.reduce(0) { $0 + Int64($1.leafCount) } }
  var byteCount: Int { files.reduce(0) { $0 + $1.size } }

  /// What was copied.
  struct Copied {
    var files: Int64 = 0
    var leaves: Int64 = 0
    var bytes: Int64 = 0
    /// Files that are not here, or that are damaged.
    var missing = 0
  }

  /// Copies the files and verifies each. A file that is damaged, or was deleted in the meantime, is left out.
  ///
  /// - Parameter progress: called with the number of leaves read so far.
  func copy(to target: Connection, _ progress: (Int64) -> Void) throws -> Copied {
    // Of a file that is left out, no leaf may stay in the free space of the backup.
    try target.execute("PRAGMA secure_delete = ON")
    try target.execute(BackupFormat.fileTables)
    var copied = Copied(missing: missing)
    var read: Int64 = 0
    for file in files {
      let isWhole = try copyLeaves(of: file, after: copied.leaves, to: target)
      read += Int64(file.leafCount)
      progress(read)
      guard isWhole else {
        try target.execute("DELETE FROM leaves WHERE number > \(copied.leaves)")
        copied.missing += 1
        continue
      }
      copied.files += 1
      copied.leaves += Int64(file.leafCount)
      copied.bytes += Int64(file.size)
      try target.with("INSERT INTO files(number, id, size) VALUES (?1, ?2, ?3)") { row in
        try row.bind(1, copied.files)
        try row.bind(2, file.id.bytes)
        try row.bind(3, Int64(file.size))
        try row.run()
      }
    }
    return copied
  }

  /// Returns false if the file can't be read or does not match its id.
  private func copyLeaves(of file: FileReference, after last: Int64, to target: Connection) throws -> Bool {
    var hasher = FileHasher()
    return try target.with("INSERT INTO leaves(number, bytes) VALUES (?1, ?2)") { row in
      for index in 0..<file.leafCount {
        guard let bytes = try? store.read(file, file.range(ofLeaf: index)) else { return false }
        hasher.update(bytes)
        try row.bind(1, last + Int64(index) + 1)
        try row.bind(2, bytes)
        try row.run()
      }
      return hasher.finish()?.reference == file
    }
  }
}

/// A file in a backup.
package struct BackedUpFile: Sendable {
  package let file: FileReference
  /// The number of leaves in the table before those of this file.
  fileprivate let before: Int64
}

extension BackupFile {
  /// Returns the files in the backup, whose bytes are not verified yet.
  ///
  /// - Throws: `BackupError`
  package func files() throws -> [BackedUpFile] {
    guard holdsFiles else { return [] }
    return try reading {
      try connection.with("SELECT id, size FROM files ORDER BY number") { row in
        var files: [BackedUpFile] = []
        var leaves: Int64 = 0
        while try row.step() {
          guard let id = FileID(bytes: row.bytes(0)), let size = Int(exactly: row.integer(1)),
            let file = FileReference(size: size, id: id)
          else { throw BackupError.damaged("row \(files.count + 1) of its table files is not a file") }
          files.append(BackedUpFile(file: file, before: leaves))
          leaves += Int64(file.leafCount)
        }
        return files
      }
    }
  }

  /// Passes the leaves of a file to `body`, in order.
  ///
  /// - Throws: `BackupError.damagedFile` if the bytes do not match the file's id, which is known only after the last
  ///   call of `body`.
  package func read(_ backedUp: BackedUpFile, _ body: ([UInt8]) throws -> Void) throws {
    let file = backedUp.file
    var hasher = FileHasher()
    try reading {
      // In a crafted file a few pages can claim to be a value of any length, so longer ones are not read.
      let sql = """
        SELECT CASE WHEN length(bytes) <= \(Limits.leafBytes) THEN bytes END FROM leaves
        WHERE number > ?1 AND number <= ?2 ORDER BY number
        """
      try connection.with(sql) {
        row in
        try row.bind(1, backedUp.before)
        try row.bind(2, backedUp.before + Int64(file.leafCount))
        var index = 0
        while try row.step() {
          let bytes = row.bytes(0)
          guard index < file.leafCount, bytes.count == file.range(ofLeaf: index).count else {
            throw BackupError.damagedFile("\(file.id) (\(file.size) bytes)")
          }
          hasher.update(bytes)
          try body(bytes)
          index += 1
        }
      }
    }
    guard hasher.finish()?.reference == file else {
      throw BackupError.damagedFile("\(file.id) (\(file.size) bytes)")
    }
  }
}
