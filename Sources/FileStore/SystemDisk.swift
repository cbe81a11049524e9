// Sources/store.md, "Files"

import FileFormat
import Platform
import Wire

/// A folder on the machine's disk. All files belong to this user alone (0600), and no link is followed.
package struct SystemDisk: FileDisk, Sendable {
  private let root: String

  /// - Parameter root: the path of the folder, which is created when it is needed.
  package init(_ root: String) { self.root = root }

  package func names(in folder: String) throws(FileStoreError) -> [String] {
    guard let directory = opendir(path(folder)) else {
      if errno == ENOENT { return [] }
      throw failure(errno)
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  package func size(of name: String) throws(FileStoreError) -> Int? {
    var status = stat()
    if lstat(path(name), &status) == 0 {
      return status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }
    guard errno == ENOENT else { throw failure(errno) }
    return nil
  }

  package func read(
    _ name: String, _ range: Range<Int>, after prefix: [UInt8]
  ) throws(FileStoreError) -> [UInt8] {
    let file = try open(name, O_RDONLY)
    defer { close(file) }
    return try readRange(range, of: file, after: prefix)
  }

  package func open(_ name: String) throws(FileStoreError) -> any OpenFile {
    let file = try open(name, O_RDONLY)
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(file)
      throw .notAFile
    }
    return OpenSystemFile(file, size: Int(status.st_size))
  }

  package func create(_ name: String) throws(FileStoreError) {
    close(try open(name, O_WRONLY | O_CREAT | O_TRUNC))
  }

  package func write(
    _ bytes: ArraySlice<UInt8>, to name: String, at offset: Int
  ) throws(FileStoreError) {
    let file = try open(name, O_WRONLY)
    defer { close(file) }
    let code = bytes.withUnsafeBytes { bytes -> Int32 in
      var written = 0
      while written < bytes.count, let base = bytes.baseAddress {
        // Safe: the bytes from `written` to the end belong to the buffer.
        let count = pwrite(file, base + written, bytes.count - written, off_t(offset + written))
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return count == 0 ? EIO : errno }
        written += count
      }
      return 0
    }
    if code != 0 { throw failure(code) }
  }

  package func sync(_ name: String) throws(FileStoreError) {
    let file = try open(name, O_RDONLY)
    defer { close(file) }
    if syncFile(file) != 0 { throw failure(errno) }
  }

  package func move(_ name: String, to target: String) throws(FileStoreError) {
    if rename(path(name), path(target)) != 0 { throw failure(errno) }
  }

  /// Makes a file of another folder a file of this one as well. Returns false if that is not possible, for example
  /// because the two are on different disks.
  func link(_ name: String, from other: SystemDisk) -> Bool {
    Platform.link(other.path(name), path(name)) == 0
  }

  package func remove(_ name: String) throws(FileStoreError) {
    if unlink(path(name)) != 0 && errno != ENOENT { throw failure(errno) }
  }

  package func makeFolder(_ folder: String) throws(FileStoreError) {
    if mkdir(path(folder), 0o700) == 0 { return try syncParent(of: folder) }
    switch errno {
    case EEXIST: break
    case ENOENT where !folder.isEmpty:
      try makeFolder("")
      try makeFolder(folder)
    default: throw failure(errno)
    }
  }

  private func syncParent(of folder: String) throws(FileStoreError) {
    guard folder.isEmpty else { return try syncNames(in: "") }
    let parent = root.lastIndex(of: "/").map { String(root[...$0]) } ?? "."
    try SystemDisk(parent).syncNames(in: "")
  }

  package func syncNames(in folder: String) throws(FileStoreError) {
    let directory = Self.open(path(folder), O_RDONLY | O_DIRECTORY)
    guard directory >= 0 else { throw failure(errno) }
    defer { close(directory) }
    if syncDirectory(directory) != 0 { throw failure(errno) }
  }

  package func room() throws(FileStoreError) -> Int {
    var status = statvfs()
    // The folder may not exist yet, so its parent is asked instead.
    let parent = root.lastIndex(of: "/").map { String(root[...$0]) } ?? "."
    guard statvfs(parent, &status) == 0 else { throw failure(errno) }
    return Int(
      clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
  }

  private func path(_ name: String) -> String { name.isEmpty ? root : "\(root)/\(name)" }

  private func open(_ name: String, _ flags: Int32) throws(FileStoreError) -> Int32 {
    let file = Self.open(path(name), flags)
    guard file >= 0 else { throw failure(errno) }
    return file
  }

  private static func open(_ path: String, _ flags: Int32) -> Int32 {
    Platform.open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
  }
}

/// A file on the machine's disk that is open for reading.
private final class OpenSystemFile: OpenFile {
  private let descriptor: Int32
  let size: Int

  init(_ descriptor: Int32, size: Int) {
    self.descriptor = descriptor
    self.size = size
  }

  deinit { close(descriptor) }

  func read(_ range: Range<Int>) throws(FileStoreError) -> [UInt8] { try readRange(range, of: descriptor) }
}

/// A file outside the store that is read once, from beginning to end.
package struct ForeignFile: ~Copyable {
  private let descriptor: Int32
  /// The size when the file was opened. It may change while the file is read.
  package let size: Int

  /// Opens a regular file. Pipes and devices are rejected, because reading them could block.
  package init(path: String) throws(FileStoreError) {
    let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { throw failure(errno) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(file)
      throw .notAFile
    }
    descriptor = file
    size = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Reads the next bytes into the buffer, and returns how many there were; 0 at the end.
  package func read(into buffer: inout [UInt8]) throws(FileStoreError) -> Int {
    let (count, code) = buffer.withUnsafeMutableBytes { buffer in
      readAll(into: buffer) { base, count, _ in Self.read(descriptor, base, count) }
    }
    if code != 0 { throw failure(code) }
    return count
  }

  private static func read(_ file: Int32, _ base: UnsafeMutableRawPointer, _ count: Int) -> Int {
    Platform.read(file, base, count)
  }
}

private func readRange(
  _ range: Range<Int>, of file: Int32, after prefix: [UInt8] = []
) throws(FileStoreError) -> [UInt8] {
  var code: Int32 = 0
  let bytes = [UInt8](unsafeUninitializedCapacity: prefix.count + range.count) { buffer, count in
    _ = buffer.update(fromContentsOf: prefix)
    let room = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[prefix.count...]))
    (count, code) = readAll(into: room) { pread(file, $0, $1, off_t(range.lowerBound + $2)) }
    count += prefix.count
  }
  // What the disk can't read back is fetched again like altered bytes.
  if code == EIO { throw .damaged }
  if code != 0 { throw failure(code) }
  return bytes
}

/// The number of this process.
func processNumber() -> Int32 { getpid() }

/// Reads until the buffer is full or the file ends.
///
/// - Parameter read: behaves like the system call; gets the address, the room, and the number of bytes read before.
/// - Returns: the number of bytes read, and the error number, or 0.
private func readAll(
  into buffer: UnsafeMutableRawBufferPointer, _ read: (UnsafeMutableRawPointer, Int, Int) -> Int
) -> (count: Int, code: Int32) {
  var filled = 0
  while filled < buffer.count, let base = buffer.baseAddress {
    // Safe: the room from `filled` on belongs to the buffer.
    let count = read(base + filled, buffer.count - filled, filled)
    if count < 0 && errno == EINTR { continue }
    guard count >= 0 else { return (filled, errno) }
    if count == 0 { break }
    filled += count
  }
  return (filled, 0)
}

private func failure(_ code: Int32) -> FileStoreError {
  switch code {
  case ENOSPC, EDQUOT: .full
  case ENOENT: .missing
  case EISDIR, ELOOP: .notAFile
  default: .failed(code)
  }
}
