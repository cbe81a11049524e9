import Storage

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Puts whole files in their places: written beside it first, made durable, then moved there in one step. A process
/// that is killed at any moment leaves the old file or the new one, never half of one.
enum DurableFile {
  /// The system's error number.
  struct Trouble: Error, Hashable { let code: Int32 }

  enum Placement {
    /// Nothing may be there yet.
    case new
    /// Takes the place of what is there.
    case replacing
  }

  /// - Throws: `Trouble`; then what was at `path` is as it was.
  static func put(
    _ path: String, mode: mode_t, _ placement: Placement, _ bytes: UnsafeRawBufferPointer
  ) throws(Trouble) {
    let temporary = path + temporaryMark + hexadecimalNumber(UInt64.random(in: .min ... .max))
    let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Trouble(code: errno) }
    defer { close(file) }
    do throws(Trouble) {
      try writeAll(bytes) { write(file, $0, $1) }
      // Not by way of `open`: the umask of this program is strict, and what is for others has to be readable.
      try check(fchmod(file, mode & ~ProcessGuard.userMask))
      try check(fsync(file))
      try place(temporary, path, placement)
    } catch {
      unlink(temporary)
      throw error
    }
    try syncDirectory(of: path)
  }

  private static func place(
    _ temporary: String, _ path: String, _ placement: Placement
  ) throws(Trouble) {
    switch placement {
    case .replacing: try check(rename(temporary, path))
    case .new:
      // A link fails where the name is taken; a rename would overwrite.
      try check(link(temporary, path))
      unlink(temporary)
    }
  }

  /// Writes everything, however little the system takes at a time.
  ///
  /// - Parameter write: as the system's: gives how much it took, or a negative number and sets `errno`.
  static func writeAll(
    _ bytes: UnsafeRawBufferPointer, with write: (UnsafeRawPointer, Int) -> Int
  ) throws(Trouble) {
    var written = 0
    while written < bytes.count, let base = bytes.baseAddress {
      let count = write(base + written, bytes.count - written)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw Trouble(code: count == 0 ? EIO : errno) }
      written += count
    }
  }

  /// Reads to the end of the file, or until the room is full.
  ///
  /// - Parameter read: as the system's.
  static func readAll(
    _ room: UnsafeMutableRawBufferPointer, with read: (UnsafeMutableRawPointer, Int) -> Int
  ) throws(Trouble) -> Int {
    var filled = 0
    while filled < room.count, let base = room.baseAddress {
      let count = read(base + filled, room.count - filled)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw Trouble(code: errno) }
      if count == 0 { break }
      filled += count
    }
    return filled
  }

  /// Makes durable that a name in the folder of `path` has come or gone.
  static func syncDirectory(of path: String) throws(Trouble) {
    let code = Directory.sync(of: path)
    guard code == 0 else { throw Trouble(code: code) }
  }

  // MARK: What an end in between leaves

  private static let temporaryMark = ".new-"

  /// Removes what writers that were killed have left in a folder. Nobody may be writing there.
  static func sweep(_ folder: String) {
    guard let directory = opendir(folder) else { return }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if isTemporary(name) { unlink(folder + "/" + name) }
    }
  }

  /// `device.key.new-0123456789abcdef`
  static func isTemporary(_ name: String) -> Bool {
    let digits = name.utf8.suffix(16)
    return name.utf8.dropLast(16).elementsSuffix(temporaryMark.utf8)
      && digits.allSatisfy {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
      }
  }

  private static func hexadecimalNumber(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static func check(_ code: Int32) throws(Trouble) {
    guard code == 0 else { throw Trouble(code: errno) }
  }
}

extension Sequence where Element: Equatable {
  fileprivate func elementsSuffix(_ ending: some Collection<Element>) -> Bool {
    Array(self).suffix(ending.count).elementsEqual(ending)
  }
}
