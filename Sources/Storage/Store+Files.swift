// Protocol/files.md, "What a device keeps"; Sources/store.md, "Files"

package import FileFormat
import FileStore
import LogStorage
import RecordTables
package import Records
package import Replication
package import SQLite
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
  /// them. Returns those that it removed.
  package func removeUnnamed(_ files: [FileReference]) throws -> [FileReference] {
    let unnamed = try Set(files).sorted().filter { try !isNamed($0) }
    guard !unnamed.isEmpty, !damagedSets.contains(where: \.isUnfolded) else { return [] }
    let kept = try unfoldedFiles()
    let removed = unnamed.filter { !kept.contains($0) }
    for file in removed {
      try self.files.remove(file)
      try noteGone([file])
    }
    return removed
  }

  // MARK: What names a file

  /// Returns all files that records or siblings name, in ascending order.
  package func namedFiles() throws -> [FileReference] { try Self.namedFiles(connection, schema) }

  /// Returns all files that records or siblings of a store name, in ascending order.
  package static func namedFiles(_ connection: Connection, _ schema: Schema) throws -> [FileReference] {
    var found = try siblingFiles(connection, schema)
    for kind in schema.kinds {
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
    try naming(of: file, siblings: siblingFiles())
  }

  /// - Parameter siblings: the result of `siblingFiles`.
  func naming(
    of file: FileReference, siblings: @autoclosure () throws -> Set<FileReference>
  ) throws -> FileNaming {
    var deletedAt: Moment?
    for kind in schema.kinds {
      for column in kind.fileColumns {
        for id in try records(kind, column, naming: file) {
          guard let death = try hiddenAt(RecordKey(kind: kind.number, id: id)) else { return .shown }
          deletedAt = max(deletedAt ?? death, death)
        }
      }
    }
    // Siblings have no index by file, so they come last.
    if try siblings().contains(file) { return .shown }
    return deletedAt.map { .trash(deletedAt: $0) } ?? .nothing
  }

  /// Whether a folded record or a sibling names a file.
  package func isNamed(_ file: FileReference) throws -> Bool {
    for kind in schema.kinds {
      for column in kind.fileColumns where try !records(kind, column, naming: file).isEmpty { return true }
    }
    return try siblingFiles().contains(file)
  }

  /// Returns the files that the given records name now.
  package func files(namedBy records: [RecordKey]) throws -> [FileReference] {
    var found: Set<FileReference> = []
    for key in records {
      guard let kind = schema.kind(key.kind), !kind.fileColumns.isEmpty, let row = try record(key) else {
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
  func siblingFiles() throws -> Set<FileReference> { try Self.siblingFiles(connection, schema) }

  private static func siblingFiles(
    _ connection: Connection, _ schema: Schema
  ) throws -> Set<FileReference> {
    var found: Set<FileReference> = []
    for (kind, fields) in schema.fileFields {
      let sql = "SELECT field, content FROM siblings WHERE kind = ?1"
      // The siblings of a whole record have all of its fields as their content.
      let condition = kind.mergeClass == .wholeRecord ? "" : " AND field IN (\(list(fields)))"
      try connection.with(sql + condition) { row in
        try row.bind(1, Int64(kind.rawValue))
        while try row.step() {
          let field = FieldNumber(truncatingIfNeeded: row.integer(0))
          found.formUnion(schema.files(in: row.bytes(1), of: kind, field))
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
    if row.life == true, let kind = schema.kind(key.kind), let field = kind.parent {
      let parent = row[field].flatMap { kind.parentKey($0.encoded[...]) }
      if let parent { return try hiddenAt(parent) }
    }
    // A record without a parent, or one that was never alive, is hidden since its newest write.
    // While its erase is held, its files are kept whatever clock the deletion states, so that a cut brings them back.
    let newest = try origins(of: row).values.map(\.clock.milliseconds).max() ?? 0
    return max(newest, try heldErase(of: key)?.due ?? 0)
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

  /// Records that files are not here any more.
  package func noteGone(_ files: [FileReference]) throws {
    guard !files.isEmpty else { return }
    try connection.transaction {
      for file in files { try change("DELETE FROM files WHERE id = ?1 AND size = ?2", file) }
    }
  }

  /// Returns the files that are complete here.
  package func filesHere() throws -> [FileReference] {
    try Self.references("SELECT id, size FROM files ORDER BY id, size", connection)
  }

  /// Records that a person has used a file that is here. Uses within an hour are recorded as one, because each costs a
  /// write.
  package func noteUsed(_ file: FileReference, now: Moment) throws {
    let sql = "UPDATE files SET used_at = ?3 WHERE id = ?1 AND size = ?2 AND used_at < ?4"
    try change(sql, file, .integer(now), .integer(now - Self.useMilliseconds))
  }

  private static let useMilliseconds: Moment = 3_600_000

  /// Brings the table of files into line with the disk. They differ if the process ended between two steps.
  package func reconcileFiles(named: [FileReference], now: Moment) throws {
    let noted = Set(try filesHere())
    try noteGone(noted.sorted().filter { (try? files.has($0)) == false })
    try noteHere(named.filter { !noted.contains($0) && (try? files.has($0)) == true }, usedAt: now)
  }

  /// Deletes the local copies of files. What names them stays.
  package func drop(_ dropped: [FileReference]) throws {
    for file in dropped {
      _ = try? files.remove(file)
      if (try? files.has(file)) == false { try noteGone([file]) }
    }
  }

  /// Returns the number and the size of all files that are complete here.
  package func filesHereTotal() throws -> FileTotal {
    try total("SELECT count(*), coalesce(sum(size), 0) FROM files")
  }

  /// Returns the number and the size of the files that visible records name and that are not here.
  package func filesMissingTotal() throws -> FileTotal {
    try total("SELECT count(*), coalesce(sum(size), 0) FROM (\(missing))")
  }

  /// Returns files that visible records name and that are not here, in ascending order.
  package func filesMissing(limit: Int) throws -> [FileReference] {
    try Self.references("SELECT id, size FROM (\(missing)) ORDER BY id, size LIMIT \(limit)", connection)
  }

  private var missing: String {
    let parts = schema.kinds.flatMap { kind in
      kind.fileColumns.map { column in
        """
        SELECT r.\(column.id) AS id, r.\(column.size) AS size FROM \(kind.table) r
        WHERE r.\(column.id) IS NOT NULL AND \(schema.isVisible(kind, "r")) AND NOT EXISTS (
          SELECT 1 FROM files AS f WHERE f.id = r.\(column.id) AND f.size = r.\(column.size))
        """
      }
    }
    return parts.joined(separator: " UNION ")
  }

  /// Returns the number and the size of the files here that no other device is known to hold.
  package func lastCopiesTotal() throws -> FileTotal {
    try total(
      "SELECT count(*), coalesce(sum(size), 0) FROM files WHERE \(Self.lacksHolder("1 = 1"))")
  }

  /// Returns files that are here and that no other device is known to keep, in ascending order.
  package func filesWithoutKeeper(limit: Int) throws -> [FileReference] {
    try Self.references(
      "SELECT id, size FROM files WHERE \(Self.lacksHolder("h.keeps = 1")) ORDER BY id, size LIMIT \(limit)",
      connection)
  }

  private static func lacksHolder(_ condition: String) -> String {
    """
    NOT EXISTS (
      SELECT 1 FROM file_holders AS h WHERE h.id = files.id AND h.size = files.size AND \(condition))
    """
  }

  private func total(_ sql: String) throws -> FileTotal {
    try connection.with(sql) { row in
      guard try row.step() else { return FileTotal(count: 0, bytes: 0) }
      return FileTotal(count: Int(row.integer(0)), bytes: Int(row.integer(1)))
    }
  }

  /// Returns the largest files that records name, the largest first.
  package func largestNamedFiles(limit: Int) throws -> [FileReference] {
    Array(try namedFiles().sorted { ($1.size, $0) < ($0.size, $1) }.prefix(limit))
  }

  /// Returns the records that name a file, the visible ones first.
  package func records(naming file: FileReference) throws -> [RecordKey] {
    var found: [(key: RecordKey, isHidden: Bool)] = []
    for kind in schema.kinds {
      for column in kind.fileColumns {
        for id in try records(kind, column, naming: file) {
          let key = RecordKey(kind: kind.number, id: id)
          found.append((key, try record(key)?.isVisible != true))
        }
      }
    }
    return found.filter { !$0.isHidden }.map(\.key) + found.filter(\.isHidden).map(\.key)
  }

  /// Returns when a file that is here was last used; nil if it is not here.
  package func usedAt(_ file: FileReference) throws -> Moment? {
    try connection.with("SELECT used_at FROM files WHERE id = ?1 AND size = ?2") { row in
      try row.bind(1, file.id.bytes)
      try row.bind(2, Int64(file.size))
      return try row.step() ? row.integer(0) : nil
    }
  }

  /// Returns the files that are complete here, with what matters for dropping them.
  package func keptFiles() throws -> [KeptFile] {
    let sql = """
      SELECT id, size, used_at, NOT \(Self.lacksHolder("h.keeps = 1"))
      FROM files ORDER BY id, size
      """
    return try connection.with(sql) { row in
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

  // MARK: Policy

  /// Returns which files this device keeps.
  package func keepPolicy() throws -> FileKeepPolicy {
    try meta(MetaKey.keepPolicy).flatMap { FileKeepPolicy(String(decoding: $0, as: UTF8.self)) } ?? .all
  }

  /// Sets which files this device keeps.
  ///
  /// A device that stops keeping all files forgets which others keep them, and asks again. Otherwise two devices that
  /// stop at the same time could each rely on the other's copy.
  package func setKeepPolicy(_ policy: FileKeepPolicy) throws {
    let stops = try keepPolicy().keepsAll && !policy.keepsAll
    try connection.transaction {
      try setMeta(MetaKey.keepPolicy, Array(policy.text.utf8))
      if stops { try connection.with("UPDATE file_holders SET keeps = 0 WHERE keeps = 1") { try $0.run() } }
    }
  }

  // MARK: What others have

  /// Records that a device does not keep all files, so that none of its copies lasts for certain.
  package func noteKeepsNothing(_ device: DeviceKey) throws {
    try connection.with("UPDATE file_holders SET keeps = 0 WHERE device = ?1 AND keeps = 1") { row in
      try row.bind(1, device.bytes)
      try row.run()
    }
  }

  /// Forgets what devices that are no longer members have said.
  package func forgetHolders(except members: Set<DeviceKey>) throws {
    let known = try connection.with("SELECT DISTINCT device FROM file_holders") { row in
      var devices: [DeviceKey] = []
      while try row.step() { if let device = DeviceKey(bytes: row.bytes(0)) { devices.append(device) } }
      return devices
    }
    for device in known where !members.contains(device) {
      try connection.with("DELETE FROM file_holders WHERE device = ?1") { row in
        try row.bind(1, device.bytes)
        try row.run()
      }
    }
  }

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
          // A device may claim to have any number of files that don't exist.
          guard try isNamed(file) else { continue }
          try change(insert, file, .blob(device.bytes), .integer(keepsAll ? 1 : 0), .integer(now))
        } else {
          try change(delete, file, .blob(device.bytes))
        }
      }
    }
  }

  /// Forgets what devices have said about files that are needed no more.
  package func forgetHolders(of files: [FileReference]) throws {
    try connection.transaction {
      for file in files { try change("DELETE FROM file_holders WHERE id = ?1 AND size = ?2", file) }
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

/// The number and the size of some files.
package struct FileTotal: Hashable, Sendable {
  package let count: Int
  package let bytes: Int

  package init(count: Int, bytes: Int) { (self.count, self.bytes) = (count, bytes) }
}

/// What is known about where a file is.
package struct FileLocation: Hashable, Sendable {
  package let isHere: Bool
  /// How many bytes of it have arrived, if it is not here completely.
  package let receivedBytes: Int
  /// The connected devices from which it can be fetched now.
  package let sources: [DeviceKey]
  /// The devices that have said that they have it, in ascending order.
  package let holders: [DeviceKey]

  package init(isHere: Bool, receivedBytes: Int, sources: [DeviceKey], holders: [DeviceKey]) {
    self.isHere = isHere
    self.receivedBytes = receivedBytes
    self.sources = sources
    self.holders = holders
  }
}
