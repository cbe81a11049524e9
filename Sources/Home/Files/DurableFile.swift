import Platform
import Storage

/// Writes whole files atomically and durably: to a temporary file in the same folder, which is synced and then moved
/// into place. A process that is killed at any moment leaves the old file or the new one, never a part.
enum DurableFile {
  /// A failed system call, with its error number.
  struct Trouble: Error, Hashable { let code: Int32 }

  enum Placement {
    /// Fails if the file exists.
    case new
    /// Replaces an existing file.
    case replacing
  }

  /// - Throws: `Trouble`. The file at `path` is then unchanged, unless it was the final sync of the folder that failed.
  static func put(
    _ path: String, mode: mode_t, _ placement: Placement, _ bytes: UnsafeRawBufferPointer
  ) throws(Trouble) {
    try put(path, mode: mode, placement, failure: { $0 }) { file throws(Trouble) in
      try writeAll(bytes) { write(file, $0, $1) }
    }
  }

  /// Writes a file piece by piece. If the process is ended by a signal in the meantime, the temporary file is removed.
  ///
  /// - Parameters:
  ///   - failure: converts the error of a system call.
  ///   - body: writes the content to an open file.
  static func put<Failure: Error>(
    _ path: String, mode: mode_t, _ placement: Placement, failure: (Trouble) -> Failure,
    _ body: (_ file: Int32) throws(Failure) -> Void
  ) throws(Failure) {
    let temporary = path + temporaryMark + hexadecimalNumber(UInt64.random(in: .min ... .max))
    TemporaryFiles.add(temporary)
    defer { TemporaryFiles.forget(temporary) }
    let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure(Trouble(code: errno)) }
    defer { close(file) }
    do throws(Failure) {
      try body(file)
      // `open` would apply this process's strict umask, and files for other users must be readable by them.
      try check(fchmod(file, mode & ~ProcessGuard.userMask), failure)
      try check(syncFile(file), failure)
      do throws(Trouble) { try place(temporary, path, placement) } catch { throw failure(error) }
    } catch {
      unlink(temporary)
      throw error
    }
    do throws(Trouble) { try syncDirectory(of: path) } catch { throw failure(error) }
  }

  private static func place(
    _ temporary: String, _ path: String, _ placement: Placement
  ) throws(Trouble) {
    switch placement {
    case .replacing: try check(rename(temporary, path))
    case .new:
      // A link fails if the name is taken; a rename would overwrite.
      try check(link(temporary, path))
      unlink(temporary)
    }
  }

  /// Writes all bytes, in as many calls as needed.
  ///
  /// - Parameter write: behaves like the system call: returns the number of bytes written, or returns a negative number
  ///   and sets `errno`.
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

  /// Reads to the end of the file, or until the buffer is full.
  ///
  /// - Parameter read: behaves like the system call.
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

  /// Syncs the folder of `path`, so that files created, renamed or removed in it stay so after a power loss.
  static func syncDirectory(of path: String) throws(Trouble) {
    let code = Directory.sync(of: path)
    guard code == 0 else { throw Trouble(code: code) }
  }

  // MARK: Leftovers of killed writers

  private static let temporaryMark = ".new-"

  /// Removes temporary files that killed writers left in a folder. No writer may be active there.
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

  /// Whether a name is one of a temporary file: `device.key.new-0123456789abcdef`.
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

  private static func check(_ code: Int32) throws(Trouble) { try check(code) { $0 } }

  private static func check<Failure: Error>(
    _ code: Int32, _ failure: (Trouble) -> Failure
  ) throws(Failure) {
    guard code == 0 else { throw failure(Trouble(code: errno)) }
  }
}

extension Sequence where Element: Equatable {
  fileprivate func elementsSuffix(_ ending: some Collection<Element>) -> Bool {
    Array(self).suffix(ending.count).elementsEqual(ending)
  }
}
