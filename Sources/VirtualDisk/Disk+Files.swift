// Sources/store.md, "Files"

/// The operations of a program that keeps files of its own next to those of SQLite.
extension Disk {
  /// Creates an empty file, or empties an existing one.
  package func create(_ name: String) throws(FileFault) {
    if let file = files[name] { return try file.truncate(to: 0) }
    _ = try open(name, creates: true)
  }

  /// Returns the bytes of a range, or fewer if the file ends sooner.
  package func read(_ name: String, _ range: Range<Int>) throws(FileFault) -> [UInt8] {
    guard let file = files[name] else { throw .missing }
    return try file.read(range)
  }

  /// Writes bytes to an existing file. If `offset` is after its end, the gap holds zeros.
  package func write(_ bytes: ArraySlice<UInt8>, to name: String, at offset: Int) throws(FileFault) {
    guard let file = files[name] else { throw .missing }
    try file.write(bytes, at: offset)
  }

  /// Makes the content of a file durable.
  package func sync(_ name: String) throws(FileFault) {
    guard let file = files[name] else { throw .missing }
    try file.sync()
  }

  /// Gives a file another name, replacing any file of that name. Until the names are synced, a power loss may leave
  /// both names, one of them or none, which is more than most file systems allow.
  package func rename(_ name: String, to target: String) throws(FileFault) {
    guard let file = files[name] else { throw .missing }
    try begin(.create)
    link(target, file)
    link(name, nil)
  }

  /// Gives a file a second name, replacing any file of that name.
  package func link(_ name: String, as target: String) throws(FileFault) {
    guard let file = files[name] else { throw .missing }
    try begin(.create)
    link(target, file)
  }

  /// Changes the size of a file. If it grows, the new bytes are zeros.
  package func truncate(_ name: String, to size: Int) throws(FileFault) {
    guard let file = files[name] else { throw .missing }
    try file.truncate(to: size)
  }

  /// The number of bytes that can be written before the disk is full; nil if there is no limit.
  package var room: Int? { faults.capacity.map { max($0 - used, 0) } }
}
