import CSQLite

/// The state that one process's connections to a database share: the file lock, and the WAL index in shared memory with
/// its own locks. See sqlite.org/walformat.html, section 2. The rules are the same as in SQLite's os_unix.c.
final class WALIndex {
  private var readers: Set<ObjectIdentifier> = []
  /// The handle that holds the write lock, and the level of that lock.
  private var writer: (handle: ObjectIdentifier, level: Int32)?
  private var regions: [UnsafeMutableRawBufferPointer] = []
  /// The handles that use the shared memory. When the last handle leaves, the memory is freed, so that the next
  /// connection runs recovery.
  private var sharers: Set<ObjectIdentifier> = []
  private var slots = [Slot](repeating: Slot(), count: Int(SQLITE_SHM_NLOCK))

  private struct Slot {
    var shared: Set<ObjectIdentifier> = []
    var exclusive: ObjectIdentifier?
  }

  deinit { for region in regions { region.deallocate() } }

  // MARK: File lock

  var isReserved: Bool { writer != nil }

  /// Raises a lock towards a level as far as the locks of other handles allow, and returns the level reached.
  func lock(_ handle: FileHandle, from held: Int32, to level: Int32) -> Int32 {
    let me = ObjectIdentifier(handle)
    let other = writer.flatMap { $0.handle == me ? nil : $0 }
    if level == SQLITE_LOCK_SHARED {
      guard (other?.level ?? SQLITE_LOCK_NONE) < SQLITE_LOCK_PENDING else { return held }
      readers.insert(me)
      return level
    }
    guard other == nil else { return held }
    guard level == SQLITE_LOCK_EXCLUSIVE, !readers.isSubset(of: [me]) else {
      writer = (me, level)
      return level
    }
    // A pending lock blocks new readers until the existing ones have finished.
    writer = (me, SQLITE_LOCK_PENDING)
    return SQLITE_LOCK_PENDING
  }

  func unlock(_ handle: FileHandle, to level: Int32) {
    let me = ObjectIdentifier(handle)
    if writer?.handle == me { writer = nil }
    if level == SQLITE_LOCK_NONE { readers.remove(me) }
  }

  // MARK: Shared memory

  func map(_ handle: FileHandle, _ region: Int, size: Int, extends: Bool) -> UnsafeMutableRawPointer? {
    sharers.insert(ObjectIdentifier(handle))
    guard region < regions.count || extends else { return nil }
    while regions.count <= region {
      let new = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8)
      new.initializeMemory(as: UInt8.self, repeating: 0)
      regions.append(new)
    }
    return regions[region].baseAddress
  }

  func take(_ handle: FileHandle, _ range: Range<Int>, isShared: Bool) -> Bool {
    let me = ObjectIdentifier(handle)
    sharers.insert(me)
    let isFree = slots[range].allSatisfy { slot in
      (slot.exclusive == nil || slot.exclusive == me) && (isShared || slot.shared.isSubset(of: [me]))
    }
    guard isFree else { return false }
    for index in range {
      if isShared { slots[index].shared.insert(me) } else { slots[index].exclusive = me }
    }
    return true
  }

  func release(_ handle: FileHandle, _ range: Range<Int>) {
    let me = ObjectIdentifier(handle)
    for index in range {
      slots[index].shared.remove(me)
      if slots[index].exclusive == me { slots[index].exclusive = nil }
    }
  }

  func leaveMemory(_ handle: FileHandle) {
    release(handle, slots.indices)
    sharers.remove(ObjectIdentifier(handle))
    guard sharers.isEmpty else { return }
    for region in regions { region.deallocate() }
    regions = []
  }

  func leave(_ handle: FileHandle) {
    leaveMemory(handle)
    unlock(handle, to: SQLITE_LOCK_NONE)
  }
}
