#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

extension Home {
  /// Makes the directory if needed and checks that it and what is in it are this user's alone. An empty directory
  /// that was there already is set to mode 0700; one with content and another mode is refused.
  package func prepare() throws {
    try Self.makePrivateDirectory(path)
    try Self.makePrivateDirectory(keys)
    for file in [store, store + "-wal", store + "-shm", store + ".lock", incarnation, settings] {
      try Self.checkFile(file)
    }
  }

  /// SQLite and others would follow a link, and write wherever somebody has led it.
  private static func checkFile(_ path: String) throws {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw WaymarkError.home(
        .unwritable, "\(path) is a link, or no file at all.",
        next: "put the file itself there, or take it away")
    }
    guard status.st_uid == geteuid() else {
      throw WaymarkError.home(
        .wrongOwner, "The file \(path) belongs to another user.", next: "chown -R $USER \(shellWord(path))")
    }
    // What is in the directory nobody else can reach, but a copy of it might take its mode along.
    if status.st_mode & 0o077 != 0 { chmod(path, 0o600) }
  }

  /// A directory that is there afterwards, and this user's alone.
  package static func makePrivateDirectory(_ path: String) throws {
    if mkdir(path, 0o700) != 0, errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex
    {
      try makeDirectories(String(path[..<slash]))
      _ = mkdir(path, 0o700)
    }
    let directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard directory >= 0 else { throw unusable(path, errno) }
    defer { close(directory) }
    var status = stat()
    guard fstat(directory, &status) == 0 else { throw unusable(path, errno) }
    guard status.st_uid == geteuid() else {
      throw WaymarkError.home(
        .wrongOwner, "The directory \(path) belongs to another user.", next: "name another one with --home")
    }
    guard status.st_mode & 0o077 != 0 else { return }
    guard isEmpty(path), fchmod(directory, 0o700) == 0 else {
      throw WaymarkError.home(
        .wrongMode, "The directory \(path) is open to other users.", next: "chmod 700 \(shellWord(path))")
    }
  }

  /// Why nobody can tell whether there is a store: the directory is another user's.
  var exclusion: WaymarkError? {
    guard access(store, F_OK) != 0, errno == EACCES else { return nil }
    return Self.unusable(path, EACCES)
  }

  private static func unusable(_ path: String, _ code: Int32) -> WaymarkError {
    var status = stat()
    let isThere = lstat(path, &status) == 0
    if isThere, status.st_mode & S_IFMT == S_IFLNK {
      return WaymarkError.home(
        .unwritable, "\(path) is a link; a home is the directory itself.",
        next: "name the one that it leads to with --home: readlink -f \(shellWord(path))")
    }
    return switch code {
    case ENOTDIR where isThere, ELOOP where isThere:
      WaymarkError.home(
        .unwritable, "\(path) is not a directory.", next: "name another one with --home")
    case EACCES:
      WaymarkError.home(
        .wrongOwner, "The directory \(path) is not for you: \(reason(code).lowercased()).",
        next: "name another one with --home")
    default:
      WaymarkError.home(
        .unwritable, "The directory \(path) can't be made: \(reason(code).lowercased()).",
        next: "name another one with --home")
    }
  }

  /// The parents of a home are ordinary directories.
  private static func makeDirectories(_ path: String) throws {
    guard mkdir(path, 0o755) != 0, errno != EEXIST else { return }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
      throw WaymarkError.home(
        .unwritable, "The directory \(path) can't be made: \(reason().lowercased()).",
        next: "name another one with --home")
    }
    try makeDirectories(String(path[..<slash]))
    guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
      throw WaymarkError.home(
        .unwritable, "The directory \(path) can't be made: \(reason().lowercased()).",
        next: "name another one with --home")
    }
  }

  /// Removes what writers have left that were killed. Only for who holds the store: nobody else may be writing.
  package func sweep() {
    DurableFile.sweep(path)
    DurableFile.sweep(keys)
    // Copies of keys and of the log, where a join, a restore or a verification was interrupted.
    try? Home(path: scratch).discard()
    if !isReplacing { try? Home(path: staging).discard() }
  }

  /// The store is this user's alone, as its directory is; SQLite gives the same mode to its side files.
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

// MARK: A disk that failed

extension Home {
  private var suspicion: String { path + "/verify-first" }

  package var isSuspect: Bool { access(suspicion, F_OK) == 0 }

  /// As far as the disk still does anything; a start after a loss of power has only what is durable anyway.
  package func markSuspect() {
    let file = open(suspicion, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { return }
    _ = fsync(file)
    _ = close(file)
  }

  package func forgetSuspicion() { unlink(suspicion) }
}

/// What the last failed system call says.
package func reason(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
