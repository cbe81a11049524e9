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

  /// Returns a reader of a field's content; nil if its file is not here.
  ///
  /// - Throws: `FileStoreError`.
  package func reader(of blob: Blob) throws -> BlobReader? {
    switch blob {
    case .inline(let bytes): return BlobReader(bytes: bytes)
    case .file(let file):
      do {
        return BlobReader(file: try files.open(file))
      } catch FileStoreError.missing {
        return nil
      }
    }
  }

  /// Removes files that were added for an operation that failed, or that did not need them, unless something names
  /// them.
  package func removeUnnamed(_ files: [FileReference]) throws {
    for file in Set(files).sorted() where try !isNamed(file) {
      try self.files.remove(file)
      try noteGone(file)
    }
  }

  // MARK: What names a file

  /// Returns all files that records or siblings name, in ascending order.
  package func namedFiles() throws -> [FileReference] {
    var found: Set<FileReference> = []
    for kind in Registry.kinds {
      for column in kind.fileColumns {
        let sql =
          "SELECT DISTINCT \(column.id), \(column.size) FROM \(kind.table) WHERE \(column.id) IS NOT NULL"
        found.formUnion(try references(sql))
        found.formUnion(try siblings(kind, column.field).compactMap { FileReference($0) })
      }
    }
    return found.sorted()
  }

  /// Returns what names a file.
  package func naming(of file: FileReference) throws -> FileNaming {
    var deletedAt: Moment?
    for kind in Registry.kinds {
      for column in kind.fileColumns {
        if try siblings(kind, column.field).contains(file.value) { return .shown }
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

  private func references(_ sql: String) throws -> [FileReference] {
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

  /// Returns the values of a field in all siblings.
  private func siblings(_ kind: Kind, _ field: FieldNumber) throws -> [Value] {
    let sql = "SELECT content FROM siblings WHERE kind = ?1 AND field = ?2 AND content IS NOT NULL"
    return try connection.with(sql) { row in
      try row.bind(1, Int64(kind.number.rawValue))
      try row.bind(2, Int64(field))
      var found: [Value] = []
      while try row.step() { if let value = try? Value(encoded: row.bytes(0)[...]) { found.append(value) } }
      return found
    }
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

  /// Records that several files are complete here, in one transaction.
  package func noteHere(_ files: [FileReference], usedAt: Moment) throws {
    guard !files.isEmpty else { return }
    try connection.transaction { for file in files { try noteHere(file, usedAt: usedAt) } }
  }

  /// Records that a file is not here any more.
  package func noteGone(_ file: FileReference) throws {
    try change("DELETE FROM files WHERE id = ?1 AND size = ?2", file)
  }

  /// Returns the files that are complete here.
  package func filesHere() throws -> [FileReference] {
    try references("SELECT id, size FROM files ORDER BY id, size")
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
