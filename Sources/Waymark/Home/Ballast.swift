#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Room held back on the disk: on a disk that is full to the last byte not even SQLite's recovery has room, so
/// the node gives this up first and goes on reading, sending, and telling what is the matter.
struct Ballast {
  private let path: String
  private let directory: String

  init(_ home: Home) {
    path = home.path + "/ballast"
    directory = home.path
  }

  /// Takes the room if there is enough beside it.
  func hold() {
    guard access(path, F_OK) != 0, hasRoom else { return }
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { return }
    defer { close(file) }
    #if canImport(Glibc)
      if posix_fallocate(file, 0, off_t(Self.bytes)) != 0 { unlink(path) }
    #else
      let block = [UInt8](repeating: 0x5a, count: Self.bytes)
      if write(file, block, block.count) != block.count { unlink(path) }
    #endif
  }

  func release() { unlink(path) }

  /// Whether the disk has room to write again without running full at once.
  var hasRoom: Bool {
    var status = statvfs()
    guard statvfs(directory, &status) == 0 else { return true }
    return UInt64(status.f_bavail) * UInt64(status.f_frsize) > UInt64(Self.roomBytes)
  }

  /// Twice the journal's limit.
  private static let bytes = 8 * 1024 * 1024
  private static let roomBytes = 32 * 1024 * 1024
}
