import Platform
import JSONDocument
package import Reasons

/// Reads and writes whole files of bounded size, with errors that a user can act on.
package enum Files {
  /// Reads a whole file; rejects files larger than `bytesMax`, and pipes and devices, which could block.
  package static func read(_ path: String, bytesMax: Int, what: String = "file") throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("read", path, errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("read", path, errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw notAFile(path) }
    guard status.st_size <= bytesMax else { throw tooLarge(path, what, bytesMax) }
    return try readAll(descriptor, path, bytesMax, what, expecting: Int(status.st_size))
  }

  /// Reads a pipe or a device to its end; `-` is standard input.
  static func readPipe(_ path: String, bytesMax: Int, what: String) throws -> [UInt8] {
    let descriptor =
      path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("read", path, errno) }
    defer { close(descriptor) }
    let beginning = path == "-" ? [] : try PipeWriter.wait(descriptor, path)
    return try readAll(descriptor, path, bytesMax, what, expecting: 0, after: beginning)
  }

  /// Returns the first bytes of a file; nil if it can't be opened, and none if it can't be read.
  static func beginning(of path: String, bytesMax: Int) -> ArraySlice<UInt8>? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: bytesMax)
    let count = uninterrupted { Platform.read(descriptor, &buffer, bytesMax) }
    return buffer[..<max(count, 0)]
  }

  private static func readAll(
    _ descriptor: Int32, _ path: String, _ bytesMax: Int, _ what: String, expecting size: Int,
    after beginning: [UInt8] = []
  ) throws -> [UInt8] {
    var bytes = beginning
    bytes.reserveCapacity(size)
    var buffer = [UInt8](repeating: 0, count: 256 * 1024)
    while true {
      let count = Platform.read(descriptor, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw failure("read", path, errno) }
      if count == 0 { return bytes }
      guard bytes.count + count <= bytesMax else { throw tooLarge(path, what, bytesMax) }
      bytes.append(contentsOf: buffer[..<count])
    }
  }

  /// Replaces a file atomically and durably: a reader sees the old content or the new, never a part.
  package static func replace(_ path: String, with bytes: [UInt8], mode: UInt16 = 0o600) throws {
    try write(path, bytes, mode_t(mode), .replacing)
  }

  /// Writes a file that must not exist yet.
  static func create(_ path: String, _ bytes: [UInt8], mode: mode_t) throws {
    try write(path, bytes, mode, .new)
  }

  /// Creates a folder that only this user can access, unless it exists.
  static func makeFolder(_ path: String) throws {
    if mkdir(path, 0o700) == 0 { return }
    let code = errno
    if code == EEXIST, isDirectory(path) { return }
    throw failure("write", path, code == EEXIST ? ENOTDIR : code)
  }

  /// Moves a file durably, replacing any file at the target.
  static func move(_ path: String, to target: String) throws {
    if rename(path, target) != 0 {
      guard errno == EXDEV else { throw failure("write", target, errno) }
      try FileManager.default.moveItem(atPath: path, toPath: target)
    }
    for place in [target, path] { try syncFolder(of: place) }
  }

  /// Syncs the folder of a file, so that files created, renamed or removed in it stay so after a power loss.
  package static func syncFolder(of path: String) throws {
    do {
      try DurableFile.syncDirectory(of: path)
    } catch {
      throw failure("write", path, error.code)
    }
  }

  private static func write(
    _ path: String, _ bytes: [UInt8], _ mode: mode_t, _ placement: DurableFile.Placement
  ) throws {
    do {
      try bytes.withUnsafeBytes { try DurableFile.put(path, mode: mode, placement, $0) }
    } catch let error as DurableFile.Trouble {
      throw failure("write", path, error.code)
    }
  }

  /// Writes a file piece by piece, atomically and durably; see `OutputFile.write`.
  static func write(
    _ path: String, _ placement: DurableFile.Placement,
    _ body: (_ write: ([UInt8]) throws -> Void) throws -> Void
  ) throws {
    do {
      try DurableFile.put(path, mode: 0o600, placement, failure: { $0 as any Error }) { file in
        try body { bytes in try bytes.withUnsafeBytes { try writeAll($0, to: file) } }
      }
    } catch let error as DurableFile.Trouble {
      throw failure("write", path, error.code)
    }
  }

  private static func writeAll(_ bytes: UnsafeRawBufferPointer, to file: Int32) throws(DurableFile.Trouble) {
    try DurableFile.writeAll(bytes) { Platform.write(file, $0, $1) }
  }

  /// Returns the next step after a failed access to a file: a command that shows the cause.
  package static func look(_ path: String, _ code: Int32 = errno) -> Step {
    switch code {
    case ENOSPC, EDQUOT: "free up space on the disk: df -h \(shellWord(parentFolder(of: path)))"
    case ENOENT, ENOTDIR: "check what is there: ls \(shellWord(parentFolder(of: path)))"
    case EIO: "check the disk (dmesg), or use a path on another one"
    default: "check its owner and mode: ls -ld \(shellWord(path))"
    }
  }

  package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Whether a name is taken, even by a dangling link.
  static func isTaken(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  package static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The last component of a path.
  package static func name(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// Returns a text as the name of a new file. A text from another device may contain slashes or control characters, or
  /// begin with a dot.
  package static func safeName(_ text: String) -> String {
    var name = ""
    for character in text {
      let isSafe = character != "/" && !character.unicodeScalars.contains(where: isControl)
      let next = isSafe ? String(character) : "_"
      guard name.utf8.count + next.utf8.count <= nameBytesMax else { break }
      name += next
    }
    if let first = name.first, ".- ~".contains(first) { name = "_" + name.dropFirst() }
    return name.isEmpty ? "file" : name
  }

  /// Shorter than file systems allow, because a temporary file has a longer name.
  private static let nameBytesMax = 200

  /// Writes to a device or a pipe directly.
  ///
  /// - Parameter waits: whether to wait for a reader of the pipe.
  static func send(_ bytes: [UInt8], to device: String, waits: Bool) throws {
    try send(to: device, waits: waits) { write in try write(bytes) }
  }

  /// Does the same with content that comes in pieces.
  static func send(
    to device: String, waits: Bool, _ body: (_ write: ([UInt8]) throws -> Void) throws -> Void
  ) throws {
    let descriptor = open(device, O_WRONLY | O_NOCTTY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
    guard descriptor >= 0 else { throw failure("write", device, errno) }
    defer { close(descriptor) }
    do {
      try body { bytes in try bytes.withUnsafeBytes { try writeAll($0, to: descriptor) } }
    } catch let error as DurableFile.Trouble {
      throw failure("write", device, error.code)
    }
  }

  package static func isRegular(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  package static func notAFile(_ path: String) -> WaymarkError {
    guard !isDirectory(path) else { return failure("read", path, EISDIR) }
    return .failed(
      .file, "Can't read \(path): it is a pipe or a device, not a regular file.",
      next: "write its output to a file, and use that")
  }

  package static func tooLarge(_ path: String, _ what: String, _ bytesMax: Int) -> WaymarkError {
    let size = bytesMax < 1024 * 1024 ? "\(bytesMax / 1024) KiB" : "\(bytesMax / (1024 * 1024)) MiB"
    let article = what.first.map("aeiou".contains) == true ? "an" : "a"
    return .failed(
      .tooLarge, "\(path) is too large for \(article) \(what): the limit is \(size).",
      next: "check whether it is the right one: ls -l \(shellWord(path))")
  }

  static func failure(_ verb: String, _ path: String, _ code: Int32) -> WaymarkError {
    .failed(
      .file, "Can't \(verb) \(path): \(String(cString: strerror(code)).lowercased()).",
      next: look(path, code))
  }
}

/// A regular file that is read piece by piece.
package final class ReadableFile {
  private let descriptor: Int32
  private let path: String

  /// - Throws: `WaymarkError` if the file can't be opened.
  package init(_ path: String) throws {
    self.path = path
    descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw Files.failure("read", path, errno) }
  }

  deinit { close(descriptor) }

  /// Returns the next bytes; none at the end.
  package func read() throws -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = Platform.read(descriptor, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw Files.failure("read", path, errno) }
      buffer.removeSubrange(count...)
      return buffer
    }
  }
}

extension Files {
  /// The size of a file; nil if there is none.
  package static func size(_ path: String) -> Int64? {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : nil
  }
}

/// The folder of a path, whether or not the file exists.
package func parentFolder(of path: String) -> String {
  guard let slash = path.lastIndex(of: "/") else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// Writes text files for other programs.
package enum TextFile {
  /// Replaces the file with the text, atomically.
  ///
  /// - Throws: `WaymarkError` if the file can't be written.
  package static func replace(_ path: String, _ text: String) throws {
    try Files.replace(path, with: Array(text.utf8), mode: 0o644)
  }

  /// Writes the text to a device or a pipe, and waits for a reader.
  package static func send(_ text: [UInt8], to path: String) throws {
    try Files.send(text, to: path, waits: true)
  }

  /// Writes a file that the user has specified. Rejects files that the node of a home depends on.
  ///
  /// - Parameters:
  ///   - mark: how such a file begins. A file with another content is replaced only if `overwrites` is true.
  ///   - mode: the mode of the file; by default, programs of other users, such as monitoring, may read it.
  package static func write(
    _ text: [UInt8], to path: String, besides home: Home, replacingOwn mark: String, overwrites: Bool,
    mode: UInt16 = 0o644
  ) throws {
    let isOwn = begins(path, with: mark)
    try OutputFile(path, in: home, overwrites: overwrites || isOwn).write(text, mode: mode)
  }

  /// Whether a file is empty or begins with a mark.
  private static func begins(_ path: String, with mark: String) -> Bool {
    guard Files.isRegular(path), let head = Files.beginning(of: path, bytesMax: mark.utf8.count) else {
      return false
    }
    return head.isEmpty || head.elementsEqual(mark.utf8)
  }
}
