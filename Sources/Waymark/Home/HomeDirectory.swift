#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What is wrong with the files of a node.
public struct HomeError: Error, Hashable, Sendable {
  public enum Code: String, Sendable {
    case unwritable
    case wrongOwner
    case wrongMode
    case keyMissing
    case keyDamaged
    /// Others than its owner could read or write it.
    case keyExposed
    case alreadyThere
  }

  public let code: Code
  /// A sentence for people: what, and where.
  public let message: String
  /// What to type next, if that helps.
  public let next: String?

  init(_ code: Code, _ message: String, next: String? = nil) {
    self.code = code
    self.message = message
    self.next = next
  }
}

extension Home {
  /// Makes the directory if needed and checks that it is this user's alone. An empty directory that was there
  /// already is set to mode 0700; one with content and another mode is refused.
  func prepare() throws {
    try makeDirectory(path)
    try makeDirectory(keys)
  }

  private func makeDirectory(_ path: String) throws {
    if mkdir(path, 0o700) != 0, errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex
    {
      try makeDirectories(String(path[..<slash]))
      _ = mkdir(path, 0o700)
    }
    var status = stat()
    guard lstat(path, &status) == 0 else {
      throw HomeError(.unwritable, "The directory \(path) can't be made: \(reason()).")
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw HomeError(.unwritable, "\(path) is not a directory.")
    }
    guard status.st_uid == geteuid() else {
      throw HomeError(.wrongOwner, "The directory \(path) belongs to another user.")
    }
    guard status.st_mode & 0o077 != 0 else { return }
    guard isEmpty(path), chmod(path, 0o700) == 0 else {
      throw HomeError(
        .wrongMode, "The directory \(path) is open to other users.", next: "chmod 700 \(path)")
    }
  }

  /// The parents of a home are ordinary directories.
  private func makeDirectories(_ path: String) throws {
    guard mkdir(path, 0o755) != 0, errno != EEXIST else { return }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
      throw HomeError(.unwritable, "The directory \(path) can't be made: \(reason()).")
    }
    try makeDirectories(String(path[..<slash]))
    guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
      throw HomeError(.unwritable, "The directory \(path) can't be made: \(reason()).")
    }
  }

  /// Removes the device key of an `init` that did not get as far as a store.
  func discardKeys() throws {
    guard !hasStore else { return }
    unlink(deviceKey)
    unlink(rootKey)
  }

  /// The store is this user's alone, as its directory is; SQLite gives the same mode to its side files.
  func protectStore() { chmod(store, 0o600) }

  private func isEmpty(_ path: String) -> Bool {
    guard let directory = opendir(path) else { return false }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count <= 2
  }
}

/// What the last failed system call says.
func reason(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
