import Platform
import Reasons

/// An output file that the user has specified, with the same rules for every command.
///
/// An existing file is replaced only with confirmation. Directories, links and pipes are rejected, and files that a
/// node depends on are never overwritten. The whole content appears under the name, or nothing does.
package struct OutputFile: Sendable {
  /// The path to write to, with its folder resolved.
  package let path: String
  private let named: String
  private let isDevice: Bool
  private let overwrites: Bool

  /// - Parameters:
  ///   - home: the home whose files must not be overwritten; nil if no home is known.
  ///   - folder: the folder in the home that is meant for such files.
  ///   - overwrites: whether the user has agreed to replace an existing file.
  /// - Throws: `WaymarkError` if the file must not be written; with code `needs_yes` if confirmation is enough.
  package init(_ named: String, in home: Home?, except folder: String? = nil, overwrites: Bool) throws {
    self.named = named
    self.overwrites = overwrites
    try Self.checkName(named)
    path = Self.destination(of: named)
    var status = stat()
    let isThere = stat(named, &status) == 0
    let kind = status.st_mode & S_IFMT
    isDevice = isThere && kind == S_IFCHR
    if let home { try Self.checkIsOutside(path, named, home, folder) }
    guard isThere, !isDevice else { return }
    guard kind == S_IFREG else { throw Self.noFile(named) }
    try Self.checkIsDispensable(path, named)
    guard overwrites else { throw Self.isThere(named) }
  }

  /// Writes the content: to a device directly, otherwise as a whole file.
  ///
  /// - Parameter mode: the mode of the file; by default, only this user can read and write it.
  package func write(_ bytes: [UInt8], mode: UInt16 = 0o600) throws {
    if isDevice { return try Files.send(bytes, to: path, waits: false) }
    if overwrites { return try Files.replace(path, with: bytes, mode: mode) }
    do {
      try Files.create(path, bytes, mode: mode_t(mode))
    } catch {
      // Another process may have created the file since the check.
      throw Files.isTaken(path) ? Self.isThere(named) : error
    }
  }

  /// Writes content that is too long for memory, with the same rules.
  ///
  /// - Parameter body: passes the content to `write`, piece by piece. If it throws, nothing is written, except to a
  ///   device.
  package func write(_ body: (_ write: ([UInt8]) throws -> Void) throws -> Void) throws {
    if isDevice { return try Files.send(to: path, waits: false, body) }
    do {
      try Files.write(path, overwrites ? .replacing : .new, body)
    } catch {
      // Another process may have created the file since the check.
      throw !overwrites && Files.isTaken(path) ? Self.isThere(named) : error
    }
  }

  /// Returns the path of the file that the user means. A directory, or a path that ends with a slash, means a file with
  /// the natural name in that directory.
  ///
  /// - Parameter name: the natural name, which may come from another device.
  /// - Throws: `WaymarkError` if the directory does not exist.
  package static func path(_ named: String, naturally name: String) throws -> String {
    guard named.hasSuffix("/") || Files.isDirectory(named) else { return named }
    let folder = withoutTrailingSlashes(named)
    guard Files.isDirectory(folder) else {
      throw WaymarkError.failed(
        .file, "There is no directory \(folder); nothing was written.", next: "mkdir -p \(shellWord(folder))")
    }
    return (folder == "/" ? "" : folder) + "/" + Files.safeName(name)
  }

  /// Rejects directories, and links, because the target of a link could be anything.
  package static func checkName(_ named: String) throws {
    if named.hasSuffix("/") || Files.isDirectory(named) {
      throw WaymarkError.failed(
        .file, "\(named) is a directory, but the output is one file; nothing was written.",
        next: "use a file in it: \(shellWord(withoutTrailingSlashes(named) + "/NAME"))")
    }
    try checkIsNoLink(named)
  }

  /// Rejects a folder that a home uses itself, and a link to a folder.
  package static func checkFolder(_ named: String, in home: Home) throws {
    let named = withoutTrailingSlashes(named)
    try checkIsNoLink(named)
    try checkIsOutside(destination(of: named), named, home, nil)
  }

  static func withoutTrailingSlashes(_ path: String) -> String {
    var path = path[...]
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return String(path)
  }

  private static func checkIsNoLink(_ named: String) throws {
    var status = stat()
    guard lstat(named, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return }
    // A link to a device, such as /dev/stdout, is accepted.
    if stat(named, &status) == 0, status.st_mode & S_IFMT == S_IFCHR { return }
    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: named)
    throw WaymarkError.failed(
      .file,
      "\(named) is a link\(target.map { " to \($0)" } ?? ""), and output is not written through links; nothing was written.",
      next: "use the file itself, or another name")
  }

  private static func isThere(_ named: String) -> WaymarkError {
    .needsYes(
      "Overwrite \(named)? It already exists.", next: "repeat the command with --yes, or use another name")
  }

  /// The path with its folder resolved.
  private static func destination(of named: String) -> String {
    "\(realPath(parentFolder(of: named)))/\(Files.name(of: named))"
  }

  private static func checkIsOutside(
    _ path: String, _ named: String, _ home: Home, _ folder: String?
  ) throws {
    guard home.keeps(path) else { return }
    if let folder, path.hasPrefix(realPath(folder) + "/") { return }
    throw WaymarkError.failed(
      .inHome, "\(named) belongs to the node in \(home.path); nothing was written.",
      next: "use a path elsewhere")
  }

  private static func checkIsDispensable(_ path: String, _ named: String) throws {
    guard let head = Files.beginning(of: path, bytesMax: 64) else { return }
    let titles = KeyPurpose.allCases.flatMap { [$0.title, $0.sealedTitle] }
    if titles.contains(where: { head.starts(with: "\($0)\n".utf8) }) {
      throw WaymarkError.failed(
        .isKey, "\(named) holds a key, which will not be overwritten; nothing was written.",
        next: "use another file")
    }
    // A store that is or was in use has a lock file next to it; a backup has none.
    if head.starts(with: "SQLite format 3\0".utf8), Files.exists(path + ".lock") {
      throw WaymarkError.failed(
        .isStore, "\(named) is a node's store, which will not be overwritten; nothing was written.",
        next: "use another file")
    }
  }

  private static func noFile(_ named: String) -> WaymarkError {
    .failed(
      .file, "Can't write \(named): it is a pipe, a socket or a disk, not a regular file.",
      next: "use a regular file")
  }
}

extension Home {
  /// Whether a resolved path is a file or folder that a node keeps, or may create, in its home.
  fileprivate func keeps(_ path: String) -> Bool {
    let inside = realPath(self.path) + "/"
    guard path.hasPrefix(inside), let name = path.dropFirst(inside.count).split(separator: "/").first else {
      return false
    }
    return name.hasPrefix("store.db") || name.hasPrefix(Files.name(of: previewStaging))
      || Self.names.contains(String(name))
  }

  private static let names: Set<String> = [
    "files", "keys", "settings.json", "config.json", "incarnation", "backups", "joining", "join-pending",
    "verifying", "verify-first", "ballast", "control.sock",
  ]
}

/// Returns the path with all links resolved, or the path as given if it does not exist.
package func realPath(_ path: String) -> String {
  guard let resolved = realpath(path, nil) else { return path }
  defer { free(resolved) }
  return String(cString: resolved)
}

/// Returns the current directory.
///
/// - Throws: `WaymarkError` if the directory was removed, because relative paths would then be resolved in `/`.
package func workingDirectory() throws -> String {
  guard let path = getcwd(nil, 0) else {
    throw WaymarkError.failed(
      .noDirectory, "The current directory no longer exists.",
      next: "cd to one that exists, then try again")
  }
  defer { free(path) }
  return String(cString: path)
}
