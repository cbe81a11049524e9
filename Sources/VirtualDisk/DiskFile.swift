/// The bytes of a file, wherever its name has gone.
final class DiskFile {
  private unowned let disk: Disk
  /// What programs read.
  var content: [UInt8] = []
  /// What is there for certain after a power loss, but for the changes since.
  var durable: [UInt8] = []
  private(set) var changes: [FileChange] = []
  /// The bytes of the changes, one after the other: no memory is asked for at each write.
  private(set) var written: [UInt8] = []

  init(on disk: Disk) { self.disk = disk }

  func copy(on other: Disk) -> DiskFile {
    let file = DiskFile(on: other)
    file.content = content
    file.durable = durable
    file.changes = changes
    file.written = written
    return file
  }

  var size: Int { content.count }

  /// Fills as much of the buffer as there are bytes, and says how many.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFault) -> Int {
    try disk.begin(.read)
    var count = min(buffer.count, max(0, content.count - offset))
    if count > 0, disk.readsShort() { count = disk.random.below(count) }
    guard count > 0 else { return 0 }
    content.withUnsafeBytes { bytes in
      // `count` bytes from `offset` lie within the content, and the buffer is as long at least.
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
    }
    return count
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(FileFault) {
    try disk.begin(.write)
    let growth = offset + bytes.count - content.count
    if growth > 0 {
      try disk.reserve(growth)
      content.grow(to: offset + bytes.count)
    }
    content.put(bytes, at: offset)
    changes.append(FileChange(offset: offset, bytes: written.count..<written.count + bytes.count))
    written.append(contentsOf: bytes)
    disk.counters.bytesWritten += bytes.count
  }

  func truncate(to size: Int) throws(FileFault) {
    try disk.begin(.truncate)
    if size > content.count { try disk.reserve(size - content.count) }
    content.resize(to: size)
    changes.append(FileChange(offset: size, bytes: nil))
  }

  func sync() throws(FileFault) {
    do throws(FileFault) {
      try disk.begin(.sync)
    } catch {
      // Linux takes what it could not write for written: the next sync succeeds without it.
      if error != .stopped, disk.faults.syncErrorsLoseChanges { forgetChanges() }
      throw error
    }
    guard !disk.lies() else { return }
    for change in changes { durable.apply(change, of: written) }
    forgetChanges()
  }

  func forgetChanges() {
    changes.removeAll(keepingCapacity: true)
    written.removeAll(keepingCapacity: true)
  }

  /// Replaces all of the content, without a word on when it is durable.
  func overwrite(_ bytes: [UInt8]) {
    content = bytes
    changes.append(FileChange(offset: 0, bytes: nil))
    changes.append(FileChange(offset: 0, bytes: written.count..<written.count + bytes.count))
    written += bytes
  }
}

/// A change of a file that has not been synced: bytes from an offset on, or a new size.
struct FileChange {
  /// Where the bytes go; without bytes, the size.
  let offset: Int
  /// Which of the file's written bytes.
  let bytes: Range<Int>?
}

extension [UInt8] {
  mutating func apply(_ change: FileChange, of written: [UInt8]) {
    guard let range = change.bytes else { return resize(to: change.offset) }
    grow(to: change.offset + range.count)
    written.withUnsafeBytes { put(UnsafeRawBufferPointer(rebasing: $0[range]), at: change.offset) }
  }

  /// Copies bytes over those that are there.
  mutating func put(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    precondition(
      offset >= 0 && offset + bytes.count <= count, "\(bytes.count) bytes at \(offset) of \(count)")
    withUnsafeMutableBytes { own in
      UnsafeMutableRawBufferPointer(rebasing: own[offset..<offset + bytes.count]).copyMemory(from: bytes)
    }
  }

  mutating func grow(to size: Int) {
    if size > count { append(contentsOf: repeatElement(0, count: size - count)) }
  }

  mutating func resize(to size: Int) {
    if size < count { removeLast(count - size) } else { grow(to: size) }
  }
}
