import LogStorage
import Platform
package import Wire

/// Reserves a store for one process: a lock on a file next to the store. The file names the holder.
///
/// The lock belongs to the open file, so it ends when the process ends, for whatever reason. The file stays.
package struct StoreLock: ~Copyable {
  private let descriptor: Int32

  /// Takes the lock of the store at a path, whether or not the store exists.
  package init(store: String) throws { try self.init(path: store + ".lock") }

  private init(path: String) throws {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw StoreError.lockFailed(errno: errno) }
    // If anything is thrown from here on, `deinit` closes the file. If this function closed it as well, it might close
    // another file that a different thread has opened under the same descriptor in between.
    let code = Self.take(descriptor)
    guard code == 0 else {
      let holder = Self.holder(descriptor)
      throw code == EWOULDBLOCK ? StoreError.storeIsHeld(by: holder) : StoreError.lockFailed(errno: code)
    }
    try writeHolder()
  }

  /// Replaces the process id in the lock file with that of this process. On a full disk an empty lock file may have no
  /// room for an id; the lock works without it.
  private borrowing func writeHolder() throws(StoreError) {
    let name = Array("\(getpid())\n".utf8)
    let isWritten = pwrite(descriptor, name, name.count, 0) == name.count
    guard isWritten || errno == ENOSPC || errno == EDQUOT else { throw .lockFailed(errno: errno) }
    guard ftruncate(descriptor, isWritten ? off_t(name.count) : 0) == 0 else {
      throw .lockFailed(errno: errno)
    }
  }

  deinit { close(descriptor) }

  /// Returns the id of the process named in the lock file of a store; nil if there is none.
  package static func holder(of store: String) -> Int32? {
    let descriptor = open(store + ".lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return holder(descriptor)
  }

  /// Takes the lock. Returns 0 or the error code.
  ///
  /// A child process inherits the open files of this process until it executes its program, a few milliseconds later.
  /// So if the lock appears to be held by this very process, taking it is retried.
  private static func take(_ descriptor: Int32) -> Int32 {
    var code: Int32 = 0
    for _ in 0..<100 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return 0 }
      code = errno
      guard code == EWOULDBLOCK, holder(descriptor) == getpid() else { return code }
      usleep(10_000)
    }
    return code
  }

  private static func holder(_ descriptor: Int32) -> Int32? {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    guard count > 0 else { return nil }
    return Int32(String(decoding: bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
  }
}

/// Ties an incarnation to one data directory, so that a copy of the directory starts an incarnation of its own.
package protocol IncarnationStorage {
  /// Returns whether this directory is the one that writes the logs of an incarnation.
  func names(_ incarnation: Incarnation) -> Bool
  /// Records, durably, that this directory writes the logs of an incarnation.
  func write(_ incarnation: Incarnation) throws
}
