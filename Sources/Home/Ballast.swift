import Platform
import Reasons
package import Records
package import Storage

/// A file that reserves disk space for the moment when the disk is full. Without a free byte, not even SQLite's
/// recovery works. The node then frees the ballast, and can continue to read, send, and report the problem.
///
/// If the disk fills up while the node is running, the node keeps a small part of the ballast, the reserve. Before
/// withheld sets may be sent, a note that they are released must be durable (`Replicator.release`). Without room for
/// this note, the sets would reach no peer.
package struct Ballast {
  private let path: String
  private let directory: String
  /// The size of the disk; the maximum value if the system does not report it.
  package let diskBytes: UInt64

  package init(_ home: Home) {
    path = home.path + "/ballast"
    directory = home.path
    diskBytes = Disk(directory)?.bytes ?? .max
  }

  /// Allocates the ballast in full if the disk has enough room.
  package func hold() {
    guard let disk = Disk(directory), disk.hasRoom else { return }
    let bytes = Self.wholeBytes(disk)
    guard size < bytes else { return }
    unlink(path)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { return }
    defer { close(file) }
    if !reserveRoom(file, bytes: Int(bytes)) { unlink(path) }
  }

  /// Whether `hold` must be called again once the disk has room.
  package var isWaitingForRoom: Bool {
    guard let disk = Disk(directory), !disk.hasRoom else { return false }
    return size < Self.wholeBytes(disk)
  }

  private static func wholeBytes(_ disk: Disk) -> UInt64 { min(bytesMax, disk.bytes / 8) }

  package func release() { unlink(path) }

  /// Frees all but the reserve.
  package func shrinkToReserve() { shrink(to: UInt64(Self.notesMax) * Self.noteBytes) }

  /// Frees the space for one note. Returns false if no reserve is left.
  package func releaseReserve() -> Bool {
    let size = size
    guard size > 0 else { return false }
    shrink(to: size > Self.noteBytes ? min(size, UInt64(Self.notesMax) * Self.noteBytes) - Self.noteBytes : 0)
    return true
  }

  private func shrink(to bytes: UInt64) {
    if bytes == 0 { return release() }
    // Truncating may itself need room; if it fails, all of the ballast is freed.
    if size > bytes, truncate(path, off_t(bytes)) != 0 { release() }
  }

  private var size: UInt64 {
    var found = stat()
    return stat(path, &found) == 0 ? UInt64(found.st_size) : 0
  }

  /// One note for each lane.
  private static let notesMax = 2
  /// A few pages of the write-ahead log.
  private static let noteBytes: UInt64 = 64 * 1024

  /// Whether the disk has enough room to write without filling up again immediately.
  package var hasRoom: Bool {
    Disk(directory)?.hasRoom ?? true
  }

  /// Twice the journal's limit. A small disk might never have room for that much, so there the ballast is an eighth
  /// of the disk.
  fileprivate static let bytesMax: UInt64 = 8 * 1024 * 1024
  /// The free space above which the disk has room. On a small disk a quarter of the disk is enough; otherwise a disk of
  /// 24 MiB would count as full even when empty.
  fileprivate static let roomBytesMax: UInt64 = 32 * 1024 * 1024
}

/// The size and free space of the disk that a file or folder is on.
package struct Disk {
  let bytes: UInt64
  /// Space available to this user.
  package let free: UInt64

  /// Reads the size and free space; nil if the system does not report them.
  package init?(_ path: String) {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    bytes = UInt64(status.f_blocks) * UInt64(status.f_frsize)
    free = UInt64(status.f_bavail) * UInt64(status.f_frsize)
  }

  var hasRoom: Bool { free > min(Ballast.roomBytesMax, bytes / 4) }
}

extension Home {
  /// Opens the store. If the disk is completely full, this frees the ballast.
  ///
  /// - Parameters:
  ///   - apps: apps whose kinds of records the store is to know from now on.
  ///   - isLocked: whether the caller holds the lock of the home.
  /// - Throws: `WaymarkError` if there is no store: a missing one is never replaced by an empty one.
  package func openStore(
    adding apps: [KnownApp] = [], isLocked: Bool = false
  ) throws -> sending Store {
    guard hasStore else { throw WaymarkError.noStore(self) }
    do {
      return try Store(path: store, adding: apps, isLocked: isLocked)
    } catch  where isNoRoom(error) {
      Ballast(self).release()
      return try Store(path: store, adding: apps, isLocked: isLocked)
    }
  }
}
