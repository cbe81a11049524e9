import Foundation

/// Reading and writing whole files of a bounded size, with failures that a person can act on.
enum Files {
  /// The whole file; refuses what is larger than `bytesMax`.
  static func read(_ path: String, bytesMax: Int, what: String = "file") throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("read", path, errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("read", path, errno) }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw failure("read", path, EISDIR) }
    guard status.st_size <= bytesMax else { throw tooLarge(path, what, bytesMax) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(status.st_size))
    var buffer = [UInt8](repeating: 0, count: 256 * 1024)
    while true {
      let count = Foundation.read(descriptor, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw failure("read", path, errno) }
      if count == 0 { return bytes }
      guard bytes.count + count <= bytesMax else { throw tooLarge(path, what, bytesMax) }
      bytes.append(contentsOf: buffer[..<count])
    }
  }

  /// Writes a new file beside the old one, makes it durable and puts it in its place: a reader sees the old
  /// content or the new, never half of it.
  static func replace(_ path: String, with bytes: [UInt8], mode: mode_t = 0o644) throws {
    let temporary = path + ".new"
    unlink(temporary)
    try create(temporary, bytes, mode: mode, for: path)
    guard rename(temporary, path) == 0 else {
      let code = errno
      unlink(temporary)
      throw failure("write", path, code)
    }
  }

  /// Writes a file that must not exist yet.
  ///
  /// - Parameter target: the file that a person asked for, where this one is only on the way to it.
  static func create(_ path: String, _ bytes: [UInt8], mode: mode_t, for target: String? = nil) throws {
    let target = target ?? path
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw failure("write", target, errno) }
    defer { close(descriptor) }
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        Foundation.write(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw abandoned(path, target, errno) }
      written += count
    }
    guard fsync(descriptor) == 0 else { throw abandoned(path, target, errno) }
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The last part of a path.
  static func name(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  private static func abandoned(_ path: String, _ target: String, _ code: Int32) -> CommandFailure {
    unlink(path)
    return failure("write", target, code)
  }

  private static func tooLarge(_ path: String, _ what: String, _ bytesMax: Int) -> CommandFailure {
    .failed("too_large", "\(path) is too large for a \(what): at most \(bytesMax / (1024 * 1024)) MiB.")
  }

  private static func failure(_ verb: String, _ path: String, _ code: Int32) -> CommandFailure {
    .failed("file", "Can't \(verb) \(path): \(String(cString: strerror(code)).lowercased()).")
  }
}
