/// The content of a file, independent of its name.
final class DiskFile {
  private unowned let disk: Disk
  /// The content that programs see.
  var content: [UInt8] = []
  /// The content as of the last sync. A power loss leaves this content plus some of the changes since then.
  var durable: [UInt8] = []
  /// The changes since the last sync, in order.
  private(set) var changes: [FileChange] = []
  /// The bytes of all changes in one array, to avoid an allocation per write.
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

  /// Reads into the buffer and returns the number of bytes read, which may be less than the size of the buffer.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFault) -> Int {
    try disk.begin(.read)
    var count = min(buffer.count, max(0, content.count - offset))
    if count > 0, disk.readsShort() { count = disk.random.below(count) }
    guard count > 0 else { return 0 }
    content.withUnsafeBytes { bytes in
      // Safe: `count` bytes from `offset` are within the content, and the buffer has at least that size.
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

  /// Returns the bytes of a range, or fewer if the file ends sooner.
  func read(_ range: Range<Int>) throws(FileFault) -> [UInt8] {
    try disk.begin(.read)
    return Array(content[range.clamped(to: 0..<content.count)])
  }

  func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws(FileFault) {
    var fault: FileFault?
    bytes.withUnsafeBytes { buffer in
      do throws(FileFault) { try write(buffer, at: offset) } catch { fault = error }
    }
    if let fault { throw fault }
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
      // Linux marks pages that it failed to write as clean, so the next sync succeeds without them. Do the same.
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

  /// Replaces the whole content without making the change durable.
  func overwrite(_ bytes: [UInt8]) {
    content = bytes
    changes.append(FileChange(offset: 0, bytes: nil))
    changes.append(FileChange(offset: 0, bytes: written.count..<written.count + bytes.count))
    written += bytes
  }
}

/// An unsynced change to a file: bytes written at an offset, or a new size.
struct FileChange {
  /// The offset of the bytes; without bytes, the new size.
  let offset: Int
  /// The range of the written bytes within the file's `written`; nil for a change of size.
  let bytes: Range<Int>?
}

extension [UInt8] {
  mutating func apply(_ change: FileChange, of written: [UInt8]) {
    guard let range = change.bytes else { return resize(to: change.offset) }
    grow(to: change.offset + range.count)
    written.withUnsafeBytes { put(UnsafeRawBufferPointer(rebasing: $0[range]), at: change.offset) }
  }

  /// Overwrites bytes within the existing content.
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
