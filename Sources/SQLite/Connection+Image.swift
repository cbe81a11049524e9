internal import CSQLite

extension Connection {
  /// Opens the bytes of a database file for reading. No file is opened or searched for.
  ///
  /// If the database was left in write-ahead mode, only the content of its main file is read.
  package convenience init(image: [UInt8]) throws(SQLiteError) {
    try self.init(.memory)
    // These two bytes of the header ask for a write-ahead log, which an image does not have.
    var image = image
    if image.count > 19 { (image[18], image[19]) = (1, 1) }
    guard let copy = sqlite3_malloc64(UInt64(max(image.count, 1))) else {
      throw SQLiteError(code: SQLITE_NOMEM, message: "out of memory", sql: nil)
    }
    image.withUnsafeBytes { source in
      if let base = source.baseAddress { copy.copyMemory(from: base, byteCount: source.count) }
    }
    // SQLite frees the copy, even if the call fails.
    let flags = UInt32(SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY)
    try check(
      sqlite3_deserialize(
        handle, "main", copy.assumingMemoryBound(to: UInt8.self), Int64(image.count), Int64(image.count),
        flags),
      "deserialize")
  }
}
