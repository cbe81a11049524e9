import CSQLite

/// A file opened by SQLite.
final class FileHandle {
  private let file: DiskFile
  private let name: String?
  private let volume: Volume
  /// The locks and memory that connections to the same database share; nil for files other than databases.
  var walIndex: WALIndex?
  /// Whether the first sync also syncs the directory, to make the file's name durable.
  var syncsDirectory = false
  var deletes = false
  /// The level of the file lock that this handle holds.
  private var lock = SQLITE_LOCK_NONE

  init(_ file: DiskFile, name: String?, volume: Volume) {
    self.file = file
    self.name = name
    self.volume = volume
  }

  // MARK: Content

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
    var count = 0
    let code = volume.run(FailureCode.read) { () throws(FileFault) in
      count = try file.read(into: buffer, at: offset)
    }
    guard code == SQLITE_OK, count < buffer.count else { return code }
    // SQLite requires that the rest of the buffer be zeroed after a short read.
    UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).initializeMemory(as: UInt8.self, repeating: 0)
    return FailureCode.shortRead
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
    volume.run(FailureCode.write) { () throws(FileFault) in try file.write(bytes, at: offset) }
  }

  func truncate(to size: Int) -> Int32 {
    volume.run(FailureCode.truncate) { () throws(FileFault) in try file.truncate(to: size) }
  }

  func sync() -> Int32 {
    let code = volume.run(FailureCode.sync) { () throws(FileFault) in try file.sync() }
    guard code == SQLITE_OK, syncsDirectory, let name else { return code }
    // Ignore the result of this sync, as SQLite does on Unix.
    _ = volume.run(FailureCode.syncDirectory) { () throws(FileFault) in
      try volume.disk.syncDirectory(of: name)
    }
    syncsDirectory = false
    return SQLITE_OK
  }

  var size: Int { file.size }

  func close() {
    unlock(to: SQLITE_LOCK_NONE)
    walIndex?.leave(self)
    if deletes, let name { _ = volume.delete(name, syncsDirectory: false) }
  }

  // MARK: File lock

  func lock(to level: Int32) -> Int32 {
    guard let walIndex, level > lock else { return SQLITE_OK }
    lock = walIndex.lock(self, from: lock, to: level)
    return lock == level ? SQLITE_OK : SQLITE_BUSY
  }

  func unlock(to level: Int32) {
    guard let walIndex, level < lock else { return }
    walIndex.unlock(self, to: level)
    lock = level
  }

  // MARK: SQLite callbacks

  /// Retains this handle for as long as SQLite has the file open.
  func attach(to file: UnsafeMutablePointer<sqlite3_file>, _ methods: UnsafePointer<sqlite3_io_methods>) {
    Self.slot(file).pointee.handle = Unmanaged.passRetained(self).toOpaque()
    file.pointee.pMethods = methods
  }

  /// SQLite allocates `szOsFile` bytes for each file, so the memory is a `waymark_file`.
  private static func slot(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<waymark_file> {
    UnsafeMutableRawPointer(file).assumingMemoryBound(to: waymark_file.self)
  }

  private static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> FileHandle? {
    guard let file, let handle = slot(file).pointee.handle else { return nil }
    return Unmanaged<FileHandle>.fromOpaque(handle).takeUnretainedValue()
  }

  static var methods: sqlite3_io_methods {
    var methods = sqlite3_io_methods()
    methods.iVersion = 2
    addContent(to: &methods)
    addLocks(to: &methods)
    addSharedMemory(to: &methods)
    methods.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
    methods.xSectorSize = { _ in 4096 }
    methods.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
    return methods
  }

  private static func addContent(to methods: inout sqlite3_io_methods) {
    methods.xClose = { file in
      guard let file, let handle = FileHandle.slot(file).pointee.handle else { return SQLITE_OK }
      FileHandle.slot(file).pointee.handle = nil
      Unmanaged<FileHandle>.fromOpaque(handle).takeRetainedValue().close()
      return SQLITE_OK
    }
    methods.xRead = { file, bytes, count, offset in
      FileHandle.of(file)?.read(
        into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
        ?? FailureCode.read
    }
    methods.xWrite = { file, bytes, count, offset in
      FileHandle.of(file)?.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
        ?? FailureCode.write
    }
    methods.xTruncate = { file, size in FileHandle.of(file)?.truncate(to: Int(size)) ?? FailureCode.truncate }
    methods.xSync = { file, _ in FileHandle.of(file)?.sync() ?? FailureCode.sync }
    methods.xFileSize = { file, size in
      guard let handle = FileHandle.of(file) else { return FailureCode.size }
      size?.pointee = sqlite3_int64(handle.size)
      return SQLITE_OK
    }
  }

  private static func addLocks(to methods: inout sqlite3_io_methods) {
    methods.xLock = { file, level in FileHandle.of(file)?.lock(to: level) ?? FailureCode.lock }
    methods.xUnlock = { file, level in
      FileHandle.of(file)?.unlock(to: level)
      return SQLITE_OK
    }
    methods.xCheckReservedLock = { file, result in
      result?.pointee = FileHandle.of(file)?.walIndex?.isReserved ?? false ? 1 : 0
      return SQLITE_OK
    }
  }

  private static func addSharedMemory(to methods: inout sqlite3_io_methods) {
    methods.xShmMap = { file, region, size, extends, address in
      guard let handle = FileHandle.of(file), let index = handle.walIndex else {
        return FailureCode.mapMemory
      }
      address?.pointee = index.map(handle, Int(region), size: Int(size), extends: extends != 0)
      return SQLITE_OK
    }
    methods.xShmLock = { file, first, count, flags in
      guard let handle = FileHandle.of(file), let index = handle.walIndex else {
        return FailureCode.lockMemory
      }
      let slots = Int(first)..<Int(first + count)
      if flags & SQLITE_SHM_UNLOCK != 0 {
        index.release(handle, slots)
        return SQLITE_OK
      }
      return index.take(handle, slots, isShared: flags & SQLITE_SHM_SHARED != 0) ? SQLITE_OK : SQLITE_BUSY
    }
    // No barrier is needed: all connections are used on one thread.
    methods.xShmBarrier = { _ in }
    methods.xShmUnmap = { file, _ in
      if let handle = FileHandle.of(file) { handle.walIndex?.leaveMemory(handle) }
      return SQLITE_OK
    }
  }
}
