// Protocol/files.md, "What a device keeps"; Protocol/store.md, "Files"

package import FileFormat
import FileStore
package import Records
package import Replication
import SQLite
package import Wire

// Which files there are, and what names them.
//
// What names a file is never stored twice: it follows from the columns of blob fields, which are indexed by file id, and
// from the siblings of these fields. So it is always what the fold says, whatever is undone, erased or rebuilt. Tables of
// their own hold only what no record says: which files are complete here, and what other devices have said.

extension Store {
  // MARK: Content

  /// Stores the content of a field: returns short bytes as they are, and stores longer ones as a file, durably.
  ///
  /// - Throws: `FileStoreError`.
  package func keep(_ bytes: [UInt8], now: Moment = 0) throws -> Value {
    guard !Blob.isInline(byteCount: bytes.count) else { return .bytes(bytes) }
    var writing = try files.beginImport()
    do {
      try files.append(bytes[...], to: &writing)
      let file = try files.finish(&writing)
      try noteHere(file, usedAt: now)
      return file.value
    } catch {
      files.cancel(writing)
      throw error
    }
  }

  /// Stores the file at a path as the content of a field.
  ///
  /// - Throws: `FileStoreError`.
  package func keepFile(at path: String, now: Moment) throws -> (value: Value, byteCount: Int) {
    let file = try files.importFile(try ForeignFile(path: path))
    guard Blob.isInline(byteCount: file.size) else {
      try noteHere(file, usedAt: now)
      return (file.value, file.size)
    }
    let bytes = try files.read(file, 0..<file.size)
    if try naming(of: file) == .nothing { try files.remove(file) }
    return (.bytes(bytes), bytes.count)
  }

  /// Returns the bytes of a field; nil if its file is not here, or is damaged.
  package func bytes(of blob: Blob) throws -> [UInt8]? {
    switch blob {
    case .inline(let bytes): return bytes
    case .file(let file):
      guard try files.has(file) else { return nil }
      let bytes = try files.read(file, 0..<file.size)
      return FileHasher.list(of: bytes)?.reference == file ? bytes : nil
    }
  }

  // MARK: What names a file

  /// Returns all files that records or siblings name, in ascending order.
  package func namedFiles() throws -> [FileReference] { try Self.namedFiles(connection) }

  static func namedFiles(_ connection: Connection) throws -> [FileReference] {
    var found = try siblingFiles(connection)
    for kind in Registry.kinds {
      for column in kind.fileColumns {
        let sql =
          "SELECT DISTINCT \(column.id), \(column.size) FROM \(kind.table) WHERE \(column.id) IS NOT NULL"
        found.formUnion(try references(sql, connection))
      }
    }
    return found.sorted()
  }

  /// Returns what names a file.
  package func naming(of file: FileReference) throws -> FileNaming {
    try naming(of: file, siblings: Self.siblingFiles(connection))
  }

  /// - Parameter siblings: the result of `siblingFiles`.
  func naming(of file: FileReference, siblings: Set<FileReference>) throws -> FileNaming {
    if siblings.contains(file) { return .shown }
    var deletedAt: Moment?
    for kind in Registry.kinds {
      for column in kind.fileColumns {
        for id in try records(kind, column, naming: file) {
          guard let death = try hiddenAt(RecordKey(kind: kind.number, id: id)) else { return .shown }
          deletedAt = max(deletedAt ?? death, death)
        }
      }
    }
    return deletedAt.map { .trash(deletedAt: $0) } ?? .nothing
  }

  /// Whether a folded record or a sibling names a file.
  package func isNamed(_ file: FileReference) throws -> Bool { try naming(of: file) != .nothing }

  /// Returns the files that the given records name now.
  package func files(namedBy records: [RecordKey]) throws -> [FileReference] {
    var found: Set<FileReference> = []
    for key in records {
      guard let kind = Registry.kind(key.kind), !kind.fileColumns.isEmpty, let row = try record(key) else {
        continue
      }
      for column in kind.fileColumns {
        if case .file(let file)? = Blob(row[column.field]) { found.insert(file) }
      }
    }
    return found.sorted()
  }

  private static func references(_ sql: String, _ connection: Connection) throws -> [FileReference] {
    try connection.with(sql) { row in
      var found: [FileReference] = []
      while try row.step() {
        guard let id = FileID(bytes: row.bytes(0)) else { continue }
        if let file = FileReference(size: Int(row.integer(1)), id: id) { found.append(file) }
      }
      return found
    }
  }

  private func records(_ kind: Kind, _ column: FileColumn, naming file: FileReference) throws -> [RecordID] {
    let sql = "SELECT id FROM \(kind.table) WHERE \(column.id) = ?1 AND \(column.size) = ?2 ORDER BY id"
    return try connection.with(sql) { row in
      try row.bind(1, file.id.bytes)
      try row.bind(2, Int64(file.size))
      var found: [RecordID] = []
      while try row.step() { if let id = RecordID(bytes: row.bytes(0)) { found.append(id) } }
      return found
    }
  }

  /// Returns the files that siblings name.
  static func siblingFiles(_ connection: Connection) throws -> Set<FileReference> {
    var found: Set<FileReference> = []
    for (kind, fields) in FileFields.byKind {
      let sql = "SELECT field, content FROM siblings WHERE kind = ?1"
      // The siblings of a whole record have all of its fields as their content.
      let condition = kind.mergeClass == .wholeRecord ? "" : " AND field IN (\(list(fields)))"
      try connection.with(sql + condition) { row in
        try row.bind(1, Int64(kind.rawValue))
        while try row.step() {
          let field = FieldNumber(truncatingIfNeeded: row.integer(0))
          found.formUnion(FileFields.files(in: row.bytes(1), of: kind, field))
        }
      }
    }
    return found
  }

  private static func list(_ fields: [FieldNumber]) -> String {
    fields.map(String.init).joined(separator: ", ")
  }

  /// Returns when a record, or the record that hides it, was deleted; nil if it is visible.
  private func hiddenAt(_ key: RecordKey) throws -> Moment? {
    guard let row = try record(key), !row.isVisible else { return nil }
    if row.life == true, let kind = Registry.kind(key.kind), let field = kind.parent {
      let parent = row[field].flatMap { kind.parentKey($0.encoded[...]) }
      if let parent { return try hiddenAt(parent) }
    }
    // A record without a parent, or one that was never alive, is hidden since its newest write.
    return try origins(of: row).values.map(\.clock.milliseconds).max() ?? 0
  }

  // MARK: What is here

  /// Records that a file is complete here, or was used.
  package func noteHere(_ file: FileReference, usedAt: Moment) throws {
    let sql = """
      INSERT INTO files(id, size, used_at) VALUES (?1, ?2, ?3)
      ON CONFLICT DO UPDATE SET used_at = max(used_at, excluded.used_at)
      """
    try change(sql, file, .integer(usedAt))
  }

  /// Records that files are not here any more.
  package func noteGone(_ files: [FileReference]) throws {
    try connection.transaction {
      for file in files { try change("DELETE FROM files WHERE id = ?1 AND size = ?2", file) }
    }
  }

  /// Records that files are not here any more which were deleted without this being recorded, because the process ended
  /// in between.
  package func forgetMissingFiles() throws {
    let missing = try filesHere().filter { try !files.has($0) }
    if !missing.isEmpty { try noteGone(missing) }
  }

  /// Returns the files that are complete here.
  package func filesHere() throws -> [FileReference] {
    try Self.references("SELECT id, size FROM files ORDER BY id, size", connection)
  }

  /// Returns the files that are complete here, with what matters for dropping them.
  ///
  /// - Parameter policySince: when this device last stopped keeping all files, by the wall clock.
  package func keptFiles(policySince: Moment) throws -> [KeptFile] {
    let sql = """
      SELECT id, size, used_at, EXISTS (
        SELECT 1 FROM file_holders AS h
        WHERE h.id = files.id AND h.size = files.size AND h.keeps = 1 AND h.said_at >= ?1)
      FROM files ORDER BY id, size
      """
    return try connection.with(sql) { row in
      try row.bind(1, policySince)
      var kept: [KeptFile] = []
      while try row.step() {
        guard let id = FileID(bytes: row.bytes(0)),
          let file = FileReference(size: Int(row.integer(1)), id: id)
        else { continue }
        kept.append(KeptFile(file: file, usedAt: row.integer(2), hasKeeper: row.integer(3) != 0))
      }
      return kept
    }
  }

  // MARK: What others have

  /// Records which of some files a device has.
  package func noteHolder(
    _ device: DeviceKey, asked: [FileReference], held: Set<FileReference>, keepsAll: Bool, now: Moment
  ) throws {
    let insert = """
      INSERT INTO file_holders(id, size, device, keeps, said_at) VALUES (?1, ?2, ?3, ?4, ?5)
      ON CONFLICT DO UPDATE SET keeps = excluded.keeps, said_at = excluded.said_at
      """
    let delete = "DELETE FROM file_holders WHERE id = ?1 AND size = ?2 AND device = ?3"
    try connection.transaction {
      for file in asked {
        if held.contains(file) {
          try change(insert, file, .blob(device.bytes), .integer(keepsAll ? 1 : 0), .integer(now))
        } else {
          try change(delete, file, .blob(device.bytes))
        }
      }
    }
  }

  /// Returns the devices that have said that they have a file.
  package func holders(of file: FileReference) throws -> [DeviceKey] {
    try connection.with("SELECT device FROM file_holders WHERE id = ?1 AND size = ?2 ORDER BY device") {
      row in
      try row.bind(1, file.id.bytes)
      try row.bind(2, Int64(file.size))
      var devices: [DeviceKey] = []
      while try row.step() { if let device = DeviceKey(bytes: row.bytes(0)) { devices.append(device) } }
      return devices
    }
  }

  private func change(_ sql: String, _ file: FileReference, _ more: ColumnValue...) throws {
    try connection.with(sql) { row in
      try row.bind(1, file.id.bytes)
      try row.bind(2, Int64(file.size))
      for (index, value) in more.enumerated() { try row.bind(3 + index, value) }
      try row.run()
    }
  }
}

/// The columns of a blob field that name a file.
struct FileColumn {
  let field: FieldNumber
  let id: String
  let size: String
}

extension Kind {
  /// The columns that name files.
  var fileColumns: [FileColumn] {
    fields.filter { $0.type == .blob }.map {
      FileColumn(field: $0.number, id: $0.columns[1].name, size: $0.columns[2].name)
    }
  }
}
