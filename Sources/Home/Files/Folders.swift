import Platform
import Reasons

/// Writes several files as one folder.
package enum Folders {
  /// Creates a folder with all files or none; an existing folder must be empty and belong to this user.
  ///
  /// Everything is written to a new folder with a random name first, through its descriptor, so that no other user can
  /// have created it, open it, or replace it.
  ///
  /// - Parameters:
  ///   - files: the paths of the files, relative to the folder.
  ///   - body: passes the content of the file with an index to `write`, piece by piece.
  package static func create(
    _ named: String, with files: [String],
    _ body: @escaping (_ index: Int, _ write: ([UInt8]) throws -> Void) throws -> Void
  ) throws {
    let path = OutputFile.withoutTrailingSlashes(named)
    let name = Files.name(of: path)
    let parent = try OpenFolder(parentFolder(of: path))
    let target = try parent.emptyFolder(name)
    let place = target ?? parent
    let partName = ".\(name.prefix(100)).part-\(UUID().uuidString)"
    let partPath = "\(target == nil ? parentFolder(of: path) : path)/\(partName)"
    TemporaryFiles.add(partPath)
    defer { TemporaryFiles.forget(partPath) }
    let part = try place.makeFolder(partName)
    do {
      for (index, file) in files.enumerated() { try part.create(file) { try body(index, $0) } }
      try part.sync()
      if let target {
        try part.moveAll(to: target)
        try place.removeFolder(partName)
      } else {
        try parent.move(partName, to: name)
      }
      try place.sync()
    } catch {
      part.removeAll()
      try? place.removeFolder(partName)
      throw error
    }
  }
}

/// An open folder. Its content is accessed through a descriptor, so renaming or replacing the folder has no effect.
/// Links in the folder are never followed.
private final class OpenFolder {
  private let descriptor: Int32
  private let path: String
  /// The files and folders created through this object.
  private var files: [String] = []
  private var folders: [String: OpenFolder] = [:]

  init(_ path: String) throws {
    self.path = path
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Files.failure("write", path, errno) }
  }

  private init(_ name: String, in folder: OpenFolder) throws {
    path = "\(folder.path)/\(name)"
    descriptor = openat(folder.descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw Files.failure("write", path, errno) }
  }

  deinit { close(descriptor) }

  /// Opens a folder, which must be empty and belong to this user. Returns nil if the name does not exist.
  func emptyFolder(_ name: String) throws -> OpenFolder? {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    let path = "\(self.path)/\(name)"
    guard status.st_mode & S_IFMT == S_IFDIR else { throw Self.taken(path) }
    let folder = try OpenFolder(name, in: self)
    guard fstat(folder.descriptor, &status) == 0, status.st_uid == geteuid() else {
      throw WaymarkError.failed(
        .file, "\(path) belongs to another user; nothing was written.",
        next: "use a folder that does not exist yet: --output FOLDER")
    }
    guard try folder.isEmpty() else { throw Self.taken(path) }
    return folder
  }

  private func isEmpty() throws -> Bool {
    // The stream takes ownership of the descriptor.
    guard let stream = fdopendir(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) else {
      throw Files.failure("read", path, errno)
    }
    defer { closedir(stream) }
    var count = 0
    while readdir(stream) != nil { count += 1 }
    return count <= 2
  }

  private static func taken(_ path: String) -> WaymarkError {
    .failed(
      .file, "\(path) already exists and is not an empty folder.",
      next: "use a folder that does not exist yet: --output FOLDER")
  }

  /// Creates a folder that only this user can access; fails if the name is taken.
  func makeFolder(_ name: String) throws -> OpenFolder {
    guard mkdirat(descriptor, name, 0o700) == 0 else {
      throw Files.failure("write", "\(path)/\(name)", errno)
    }
    let folder = try OpenFolder(name, in: self)
    var status = stat()
    guard fstat(folder.descriptor, &status) == 0, status.st_uid == geteuid(),
      status.st_mode & 0o077 == 0
    else { throw Files.failure("write", folder.path, EPERM) }
    return folder
  }

  /// Creates a file that only this user can access, and the folders on its path; fails if the name is taken.
  func create(_ name: String, _ body: (_ write: ([UInt8]) throws -> Void) throws -> Void) throws {
    if let slash = name.firstIndex(of: "/") {
      let first = String(name[..<slash])
      let folder = try folders[first] ?? makeFolder(first)
      folders[first] = folder
      return try folder.create(String(name[name.index(after: slash)...]), body)
    }
    let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Files.failure("write", "\(path)/\(name)", errno) }
    defer { close(file) }
    files.append(name)
    do {
      try body { bytes in
        try bytes.withUnsafeBytes { try DurableFile.writeAll($0) { write(file, $0, $1) } }
      }
    } catch let error as DurableFile.Trouble {
      throw Files.failure("write", "\(path)/\(name)", error.code)
    }
    guard syncFile(file) == 0 else { throw Files.failure("write", "\(path)/\(name)", errno) }
  }

  /// Syncs this folder and the folders in it, so that the created names are durable.
  func sync() throws {
    for folder in folders.values { try folder.sync() }
    guard syncDirectory(descriptor) == 0 else { throw Files.failure("write", path, errno) }
  }

  func move(_ name: String, to other: String) throws {
    guard renameat(descriptor, name, descriptor, other) == 0 else {
      throw errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
        ? Self.taken("\(path)/\(other)") : Files.failure("write", "\(path)/\(other)", errno)
    }
  }

  /// Moves everything created here to an empty folder; moves it back if that fails.
  func moveAll(to target: OpenFolder) throws {
    var moved: [String] = []
    for name in files + folders.keys.sorted() {
      guard renameat(descriptor, name, target.descriptor, name) == 0 else {
        let code = errno
        for name in moved { renameat(target.descriptor, name, descriptor, name) }
        throw Files.failure("write", "\(target.path)/\(name)", code)
      }
      moved.append(name)
    }
  }

  /// Removes everything created through this object.
  func removeAll() {
    for name in files { unlinkat(descriptor, name, 0) }
    for (name, folder) in folders {
      folder.removeAll()
      unlinkat(descriptor, name, AT_REMOVEDIR)
    }
  }

  func removeFolder(_ name: String) throws {
    guard unlinkat(descriptor, name, AT_REMOVEDIR) == 0 else {
      throw Files.failure("write", "\(path)/\(name)", errno)
    }
  }
}
