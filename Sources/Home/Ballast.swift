package import Storage

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Room held back on the disk: on a disk that is full to the last byte not even SQLite's recovery has room, so
/// the node gives this up first and goes on reading, sending, and telling what is the matter.
///
/// A running node keeps a small rest of it, the reserve: before own sets that were withheld may be sent, a note of that
/// must be durable (`Replicator.release`), and without room for the note they would reach no peer.
package struct Ballast {
  private let path: String
  private let directory: String
  /// How large the disk is; the largest there could be if the system does not say.
  package let diskBytes: UInt64

  package init(_ home: Home) {
    path = home.path + "/ballast"
    directory = home.path
    diskBytes = Disk(directory)?.bytes ?? .max
  }

  /// Takes the room if there is enough beside it.
  package func hold() {
    guard let disk = Disk(directory), disk.hasRoom else { return }
    let bytes = Self.wholeBytes(disk)
    guard size < bytes else { return }
    unlink(path)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { return }
    defer { close(file) }
    #if canImport(Glibc)
      if posix_fallocate(file, 0, off_t(bytes)) != 0 { unlink(path) }
    #else
      let block = [UInt8](repeating: 0x5a, count: Int(bytes))
      if write(file, block, block.count) != block.count { unlink(path) }
    #endif
  }

  /// Whether `hold` has to be called again once the disk has room.
  package var isWaitingForRoom: Bool {
    guard let disk = Disk(directory), !disk.hasRoom else { return false }
    return size < Self.wholeBytes(disk)
  }

  private static func wholeBytes(_ disk: Disk) -> UInt64 { min(bytesMax, disk.bytes / 8) }

  package func release() { unlink(path) }

  /// Gives up all but the reserve.
  package func shrinkToReserve() { shrink(to: UInt64(Self.notesMax) * Self.noteBytes) }

  /// Frees the room of one note; false if no reserve is left.
  package func releaseReserve() -> Bool {
    let size = size
    guard size > 0 else { return false }
    shrink(to: size > Self.noteBytes ? min(size, UInt64(Self.notesMax) * Self.noteBytes) - Self.noteBytes : 0)
    return true
  }

  private func shrink(to bytes: UInt64) {
    if bytes == 0 { return release() }
    // Without the room that truncating may take, all of it goes.
    if size > bytes, truncate(path, off_t(bytes)) != 0 { release() }
  }

  private var size: UInt64 {
    var found = stat()
    return stat(path, &found) == 0 ? UInt64(found.st_size) : 0
  }

  /// One for each lane.
  private static let notesMax = 2
  /// A few pages of the write-ahead log.
  private static let noteBytes: UInt64 = 64 * 1024

  /// Whether the disk has room to write again without running full at once.
  package var hasRoom: Bool {
    Disk(directory)?.hasRoom ?? true
  }

  /// Twice the journal's limit; of a disk that is small an eighth, else there would never be a ballast on it.
  fileprivate static let bytesMax: UInt64 = 8 * 1024 * 1024
  /// Of a small disk a quarter: one of 24 MiB would stay full for ever, however empty it is.
  fileprivate static let roomBytesMax: UInt64 = 32 * 1024 * 1024
}

/// The disk that a file or folder is on.
package struct Disk {
  let bytes: UInt64
  /// Room for this user.
  package let free: UInt64

  /// Nil if the system does not say.
  package init?(_ path: String) {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    bytes = UInt64(status.f_blocks) * UInt64(status.f_frsize)
    free = UInt64(status.f_bavail) * UInt64(status.f_frsize)
  }

  var hasRoom: Bool { free > min(Ballast.roomBytesMax, bytes / 4) }
}

extension Home {
  /// Opens the store. On a disk that is full to the last byte that takes the room of the ballast.
  ///
  /// - Parameter isLocked: whether the caller has the lock of the home.
  /// - Throws: `WaymarkError` if there is no store: none is made where one was lost.
  package func openStore(isLocked: Bool = false) throws -> sending Store {
    guard hasStore else { throw WaymarkError.noStore(self) }
    do {
      return try Store(path: store, isLocked: isLocked)
    } catch  where isNoRoom(error) {
      Ballast(self).release()
      return try Store(path: store, isLocked: isLocked)
    }
  }
}
