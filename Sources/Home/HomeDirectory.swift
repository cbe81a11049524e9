import Platform
package import Reasons

extension Home {
  /// Creates the directory if needed, and checks that it and its content are private to this user. An existing empty
  /// directory is set to mode 0700; one with content and another mode is rejected.
  package func prepare() throws {
    try Self.makePrivateDirectory(path)
    try Self.makePrivateDirectory(keys)
    for file in [store, store + "-wal", store + "-shm", store + ".lock", incarnation, settings] {
      try Self.checkFile(file)
    }
  }

  /// Rejects files of other users, and links: SQLite would follow a link and write to its target, whatever that is.
  private static func checkFile(_ path: String) throws {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFREG else {
      let isDirectory = status.st_mode & S_IFMT == S_IFDIR
      throw WaymarkError.home(
        .unwritable,
        "\(path) is \(isDirectory ? "a directory" : "a link or a device"); it must be a regular file.",
        next: "replace it with the file itself, or remove it")
    }
    guard status.st_uid == geteuid() else {
      throw WaymarkError.home(
        .wrongOwner, "The file \(path) belongs to another user.", next: "chown -R $USER \(shellWord(path))")
    }
    // Other users can't reach files in the directory, but a copy made elsewhere might keep the mode.
    if status.st_mode & 0o077 != 0 { chmod(path, 0o600) }
  }

  /// Creates a directory that is private to this user, or checks that an existing one is.
  package static func makePrivateDirectory(_ path: String) throws {
    var failed = mkdir(path, 0o700) == 0 ? 0 : errno
    if failed == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      try makeDirectories(String(path[..<slash]))
      failed = mkdir(path, 0o700) == 0 ? 0 : errno
    }
    let directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard directory >= 0 else {
      // If there is no directory, the reason is why it could not be created.
      throw unusable(path, errno == ENOENT && failed != 0 ? failed : errno)
    }
    defer { close(directory) }
    var status = stat()
    guard fstat(directory, &status) == 0 else { throw unusable(path, errno) }
    guard status.st_uid == geteuid() else {
      throw WaymarkError.home(
        .wrongOwner, "The directory \(path) belongs to another user.", next: "use another one with --home")
    }
    guard status.st_mode & 0o077 != 0 else { return }
    guard isEmpty(path), fchmod(directory, 0o700) == 0 else {
      throw WaymarkError.home(
        .wrongMode, "The directory \(path) is open to other users.", next: "chmod 700 \(shellWord(path))")
    }
  }

  /// The error if the directory is not accessible, so that it can't be determined whether there is a store; otherwise
  /// nil.
  var exclusion: WaymarkError? {
    guard access(store, F_OK) != 0, errno == EACCES else { return nil }
    return Self.unusable(path, EACCES)
  }

  private static func unusable(_ path: String, _ code: Int32) -> WaymarkError {
    var status = stat()
    let isThere = lstat(path, &status) == 0
    if isThere, status.st_mode & S_IFMT == S_IFLNK {
      return WaymarkError.home(
        .unwritable, "\(path) is a link; a home must be the directory itself.",
        next: "use the target with --home: readlink -f \(shellWord(path))")
    }
    return switch code {
    case ENOTDIR where isThere, ELOOP where isThere:
      WaymarkError.home(
        .unwritable, "\(path) is not a directory.", next: "use another one with --home")
    case EACCES where isThere:
      WaymarkError.home(
        .wrongOwner, "The directory \(path) is not accessible: \(systemReason(code).lowercased()).",
        next: "use another one with --home")
    default:
      WaymarkError.home(
        .unwritable, "The directory \(path) can't be created: \(systemReason(code).lowercased()).",
        next: "use another one with --home")
    }
  }

  /// Creates the parents of a home as ordinary directories.
  private static func makeDirectories(_ path: String) throws {
    guard mkdir(path, 0o755) != 0, errno != EEXIST else { return }
    if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      try makeDirectories(String(path[..<slash]))
      guard mkdir(path, 0o755) != 0, errno != EEXIST else { return }
    }
    throw WaymarkError.home(
      .unwritable, "The directory \(path) can't be created: \(systemReason().lowercased()).",
      next: "use another one with --home")
  }

  /// Removes files left by writers that were killed. The caller must hold the store, so that no other writer is active.
  package func sweep() {
    DurableFile.sweep(path)
    DurableFile.sweep(keys)
    // An interrupted join, restore or verification leaves copies of keys and of the log.
    try? Home(path: scratch).discard()
    if !isReplacing { try? Home(path: staging).discard() }
    for preview in abandonedPreviews { try? Home(path: preview).discard() }
    removePartialBackups()
  }

  /// Makes the store private to this user, like its directory; SQLite gives its side files the same mode.
  package func protectStore() { chmod(store, 0o600) }

  private static func isEmpty(_ path: String) -> Bool {
    guard let directory = opendir(path) else { return false }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count <= 2
  }
}

extension WaymarkError {
  package static func noStore(_ home: Home) -> WaymarkError {
    if let trouble = home.exclusion { return trouble }
    return WaymarkError(
      exitCode: ExitCode.noStore, code: .noStore, message: "There is no Waymark store in \(home.path).",
      next: "\(waymark: "init"), or \(waymark: "join TICKET")")
  }
}

// MARK: Suspect stores

extension Home {
  private var suspicion: String { path + "/verify-first" }

  package var isSuspect: Bool { access(suspicion, F_OK) == 0 }

  /// Marks the store for verification at the next start, if the disk still accepts the mark. A power loss may lose the
  /// mark, but then everything in doubt is lost too, and only durable data is left.
  package func markSuspect() {
    let file = open(suspicion, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { return }
    _ = syncFile(file)
    _ = close(file)
  }

  package func forgetSuspicion() { unlink(suspicion) }
}

/// Returns the system's message for an error number, by default for the last error.
package func systemReason(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
