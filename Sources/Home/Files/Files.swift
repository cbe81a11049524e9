import Foundation

/// Reading and writing whole files of a bounded size, with failures that a person can act on.
package enum Files {
  /// The whole file; refuses what is larger than `bytesMax`, and what is no file: a pipe would be waited for.
  package static func read(_ path: String, bytesMax: Int, what: String = "file") throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("read", path, errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("read", path, errno) }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw failure("read", path, EISDIR) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw notAFile(path) }
    guard status.st_size <= bytesMax else { throw tooLarge(path, what, bytesMax) }
    return try readAll(descriptor, path, bytesMax, what, expecting: Int(status.st_size))
  }

  /// What comes out of a pipe or a device until it ends; `-` is standard input.
  static func readPipe(_ path: String, bytesMax: Int, what: String) throws -> [UInt8] {
    let descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("read", path, errno) }
    defer { close(descriptor) }
    return try readAll(descriptor, path, bytesMax, what, expecting: 0)
  }

  private static func readAll(
    _ descriptor: Int32, _ path: String, _ bytesMax: Int, _ what: String, expecting size: Int
  ) throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size)
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
  package static func replace(_ path: String, with bytes: [UInt8], mode: UInt16 = 0o600) throws {
    try write(path, bytes, mode_t(mode), .replacing)
  }

  /// Writes a file that must not exist yet.
  static func create(_ path: String, _ bytes: [UInt8], mode: mode_t) throws {
    try write(path, bytes, mode, .new)
  }

  /// Makes a folder that nobody else can look into, unless there is one.
  static func makeFolder(_ path: String) throws {
    if mkdir(path, 0o700) == 0 { return }
    let code = errno
    if code == EEXIST, isDirectory(path) { return }
    throw failure("write", path, code == EEXIST ? ENOTDIR : code)
  }

  /// Moves a file, over what is there, and makes that durable.
  static func move(_ path: String, to target: String) throws {
    if rename(path, target) != 0 {
      guard errno == EXDEV else { throw failure("write", target, errno) }
      try FileManager.default.moveItem(atPath: path, toPath: target)
    }
    for place in [target, path] { try syncFolder(of: place) }
  }

  /// Makes durable that a name in a folder has come or gone.
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

  /// What shows why a file can't be had: the folder, where it is not there at all.
  package static func look(_ path: String, _ code: Int32 = errno) -> Step {
    switch code {
    case ENOSPC, EDQUOT: "make room on the disk: df -h \(shellWord(parentFolder(of: path)))"
    case ENOENT, ENOTDIR: "see what is there: ls \(shellWord(parentFolder(of: path)))"
    case EIO: "see what is wrong with the disk (dmesg), or name a place on another one"
    default: "see whose it is: ls -ld \(shellWord(path))"
    }
  }

  package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Whether a name is taken, if only by a link that leads nowhere.
  static func isTaken(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  package static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The last part of a path.
  package static func name(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// Writes to a device or a pipe as it is.
  ///
  /// - Parameter waits: whether the process may wait for whoever reads it.
  static func send(_ bytes: [UInt8], to device: String, waits: Bool) throws {
    let descriptor = open(device, O_WRONLY | O_NOCTTY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
    guard descriptor >= 0 else { throw failure("write", device, errno) }
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw failure("write", device, count == 0 ? EIO : errno) }
      rest = rest.dropFirst(count)
    }
  }

  package static func isRegular(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  package static func notAFile(_ path: String) -> WaymarkError {
    .failed(
      .file, "Can't read \(path): it is a pipe or a device, and no file.",
      next: "put what comes out of it into a file, and name that")
  }

  private static func tooLarge(_ path: String, _ what: String, _ bytesMax: Int) -> WaymarkError {
    let size = bytesMax < 1024 * 1024 ? "\(bytesMax / 1024) KiB" : "\(bytesMax / (1024 * 1024)) MiB"
    return .failed(
      .tooLarge, "\(path) is too large for a \(what): at most \(size).",
      next: "see whether it is the right one: ls -l \(shellWord(path))")
  }

  static func failure(_ verb: String, _ path: String, _ code: Int32) -> WaymarkError {
    .failed(
      .file, "Can't \(verb) \(path): \(String(cString: strerror(code)).lowercased()).",
      next: look(path, code))
  }
}

extension Files {
  /// The size of a file; nil if there is none.
  package static func size(_ path: String) -> Int64? {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : nil
  }
}

/// The folder that a file is in, or would be.
package func parentFolder(of path: String) -> String {
  guard let slash = path.lastIndex(of: "/") else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// Text for other programs to read.
package enum TextFile {
  /// Puts the text in place of what is there, in one step.
  ///
  /// - Throws: `WaymarkError` if that is not possible.
  package static func replace(_ path: String, _ text: String) throws {
    try Files.replace(path, with: Array(text.utf8), mode: 0o644)
  }

  /// Writes the text to a device or a pipe, and waits for whoever reads it.
  package static func send(_ text: String, to path: String) throws {
    try Files.send(Array(text.utf8), to: path, waits: true)
  }

  /// Replaces a file that a person named for collectors, which others may read; it may be none that the node of a home
  /// depends on.
  package static func write(_ text: String, to path: String, besides home: Home) throws {
    try OutputFile(path, in: home, overwrites: true).write(Array(text.utf8), mode: 0o644)
  }
}
