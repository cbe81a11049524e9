import CSQLite
package import SQLite

/// A disk as one process sees it: a virtual file system for SQLite, with the locks and memory that connections to the
/// same file share.
///
/// A volume is registered with SQLite under a unique name for as long as it exists, and connections keep it alive. It
/// reports the same device characteristics, and syncs directories at the same moments, as SQLite's own Unix code.
package final class Volume: VirtualFileSystem {
  let disk: Disk
  package let name: String
  /// Whether the process has ended. If so, nothing reaches the files any more, so closing a connection has no effect.
  package private(set) var isCut = false
  private let vfs: UnsafeMutablePointer<sqlite3_vfs>
  let methods: UnsafeMutablePointer<sqlite3_io_methods>
  private let nameBytes: UnsafeMutableBufferPointer<CChar>
  private var walIndexes: [String: WALIndex] = [:]
  private var randomState: UInt64 = 1

  package init(_ disk: Disk) throws(FileFault) {
    self.disk = disk
    vfs = .allocate(capacity: 1)
    methods = .allocate(capacity: 1)
    // The address is unique while the object exists, so the name is too.
    name = "waymark-\(UInt(bitPattern: vfs))"
    nameBytes = .allocate(capacity: name.utf8.count + 1)
    _ = nameBytes.initialize(from: name.utf8CString)
    methods.initialize(to: FileHandle.methods)
    vfs.initialize(to: Self.vfs())
    vfs.pointee.zName = UnsafePointer(nameBytes.baseAddress)
    vfs.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
    guard sqlite3_vfs_register(vfs, 0) == SQLITE_OK else { throw .inputOutput }
  }

  deinit {
    sqlite3_vfs_unregister(vfs)
    vfs.deallocate()
    methods.deallocate()
    nameBytes.deallocate()
  }

  /// Ends the process, as `kill -9` does.
  package func cut() { isCut = true }

  /// Makes all names in a file's directory durable.
  package func syncDirectory(of name: String) throws(SQLiteError) {
    let code = run(FailureCode.syncDirectory) { () throws(FileFault) in
      try disk.syncDirectory(of: name)
    }
    guard code == SQLITE_OK else { throw .directoryNotSynced("SQLite \(code)") }
  }

  // MARK: Files

  /// Runs an operation and returns an SQLite result code: `SQLITE_OK`, `SQLITE_FULL` if the disk is full, or `failure`
  /// if the operation failed for another reason.
  func run(_ failure: Int32, _ body: () throws(FileFault) -> Void) -> Int32 {
    guard !isCut else { return failure }
    do throws(FileFault) {
      try body()
      return SQLITE_OK
    } catch {
      switch error {
      case .noRoom: return SQLITE_FULL
      case .stopped:
        isCut = true
        return failure
      case .missing, .inputOutput: return failure
      }
    }
  }

  func open(_ name: String?, _ flags: Int32) -> (handle: FileHandle?, code: Int32) {
    var handle: FileHandle?
    let code = run(SQLITE_CANTOPEN) { () throws(FileFault) in
      let creates = flags & SQLITE_OPEN_CREATE != 0
      let file = try disk.open(name, creates: creates)
      let opened = FileHandle(file, name: name, volume: self)
      let isJournal = flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL) != 0
      // SQLite on Unix does this even for an existing file, because its name may not be durable yet.
      opened.syncsDirectory = creates && isJournal
      opened.deletes = flags & SQLITE_OPEN_DELETEONCLOSE != 0
      if flags & SQLITE_OPEN_MAIN_DB != 0, let name { opened.walIndex = walIndex(name) }
      handle = opened
    }
    return (handle, code)
  }

  private func walIndex(_ name: String) -> WALIndex {
    if let index = walIndexes[name] { return index }
    let index = WALIndex()
    walIndexes[name] = index
    return index
  }

  func delete(_ name: String, syncsDirectory: Bool) -> Int32 {
    guard isCut || disk.size(of: name) != nil else { return FailureCode.deleteMissing }
    let code = run(FailureCode.delete) { () throws(FileFault) in try disk.delete(name) }
    guard code == SQLITE_OK, syncsDirectory else { return code }
    return run(FailureCode.syncDirectory) { () throws(FileFault) in try disk.syncDirectory(of: name) }
  }

  /// Whether a file exists and is not empty. SQLite on Unix checks the same.
  func exists(_ name: String) -> Bool { (disk.size(of: name) ?? 0) > 0 }

  // MARK: Randomness

  /// Fills a buffer with pseudo-random bytes, the same in every run.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) {
    for index in buffer.indices {
      randomState = randomState &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      buffer[index] = UInt8(truncatingIfNeeded: randomState >> 56)
    }
  }
}
