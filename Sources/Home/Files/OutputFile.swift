import Foundation

/// A file that a person named for output, by one rule for every command.
///
/// A file that is there is replaced only with a yes; a directory, a link and a pipe are refused; what a node depends on is
/// never written over. The content appears whole under the name, or not at all.
package struct OutputFile: Sendable {
  /// Where the content goes, with its folder by its one name.
  package let path: String
  private let named: String
  private let isDevice: Bool
  private let overwrites: Bool

  /// - Parameters:
  ///   - home: nothing that it keeps is written over; nil where none is known.
  ///   - folder: the one in the home that is meant for such files.
  ///   - overwrites: whether the person has agreed to replace a file that is there.
  /// - Throws: `WaymarkError` if what is there must not be written to, with the code `needs_yes` if it may be with a yes.
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

  /// Puts the content in place of a file in one step; a device takes it as it is.
  ///
  /// - Parameter mode: what others may do with the file; by default nothing.
  package func write(_ bytes: [UInt8], mode: UInt16 = 0o600) throws {
    if isDevice { return try Files.send(bytes, to: path, waits: false) }
    if overwrites { return try Files.replace(path, with: bytes, mode: mode) }
    do {
      try Files.create(path, bytes, mode: mode_t(mode))
    } catch {
      // Another process has made it since.
      throw Files.isTaken(path) ? Self.isThere(named) : error
    }
  }

  /// Refuses a name that can't be one of a file: of a directory, or of a link, which could lead anywhere.
  package static func checkName(_ named: String) throws {
    if named.hasSuffix("/") || Files.isDirectory(named) {
      throw WaymarkError.failed(
        .file, "\(named) is a directory, and this writes one file; nothing was written.",
        next: "name a file in it: \(shellWord(withoutTrailingSlashes(named) + "/NAME"))")
    }
    try checkIsNoLink(named)
  }

  /// Refuses a folder that would be made where a home keeps what is its own, and one behind a link.
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
    // As /dev/stdout: it is only another name of a device.
    if stat(named, &status) == 0, status.st_mode & S_IFMT == S_IFCHR { return }
    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: named)
    throw WaymarkError.failed(
      .file,
      "\(named) is a link\(target.map { " to \($0)" } ?? ""), and output is not written through links; nothing was written.",
      next: "name the file itself, or another one")
  }

  private static func isThere(_ named: String) -> WaymarkError {
    .needsYes(
      "Overwrite \(named)? It is there already.", next: "the same command with --yes, or another name")
  }

  /// The path in a folder by its one name.
  private static func destination(of named: String) -> String {
    "\(realPath(parentFolder(of: named)))/\(Files.name(of: named))"
  }

  private static func checkIsOutside(
    _ path: String, _ named: String, _ home: Home, _ folder: String?
  ) throws {
    guard home.keeps(path) else { return }
    if let folder, path.hasPrefix(realPath(folder) + "/") { return }
    throw WaymarkError.failed(
      .inHome, "\(named) is what the node in \(home.path) lives by; nothing was written.",
      next: "name a file elsewhere")
  }

  private static func checkIsDispensable(_ path: String, _ named: String) throws {
    guard let file = FileHandle(forReadingAtPath: path) else { return }
    defer { try? file.close() }
    let head = (try? file.read(upToCount: 64)) ?? Data()
    let titles = KeyPurpose.allCases.flatMap { [$0.title, $0.sealedTitle] }
    if titles.contains(where: { head.starts(with: Data("\($0)\n".utf8)) }) {
      throw WaymarkError.failed(
        .isKey, "\(named) holds a key, which is never written over; nothing was written.",
        next: "name another file")
    }
    // A store that is, or was, in use has its lock next to it; a backup has none.
    if head.starts(with: Data("SQLite format 3\0".utf8)), Files.exists(path + ".lock") {
      throw WaymarkError.failed(
        .isStore, "\(named) is the store of a node, which is never written over; nothing was written.",
        next: "name another file")
    }
  }

  private static func noFile(_ named: String) -> WaymarkError {
    .failed(
      .file, "Can't write \(named): it is a pipe, a socket or a disk, and no file.", next: "name a file")
  }
}

extension Home {
  /// Whether a path without links is of what a node keeps in its home, or would be.
  fileprivate func keeps(_ path: String) -> Bool {
    let inside = realPath(self.path) + "/"
    guard path.hasPrefix(inside), let name = path.dropFirst(inside.count).split(separator: "/").first else {
      return false
    }
    return name.hasPrefix("store.db") || Self.names.contains(String(name))
  }

  private static let names: Set<String> = [
    "keys", "settings.json", "config.json", "incarnation", "backups", "joining", "join-pending", "verifying",
    "verify-first", "ballast", "control.sock",
  ]
}

/// The one name of a file or folder that is there, without links; else what was given.
package func realPath(_ path: String) -> String {
  guard let resolved = realpath(path, nil) else { return path }
  defer { free(resolved) }
  return String(cString: resolved)
}

/// The directory that relative paths begin in.
///
/// - Throws: `WaymarkError` if it was removed: a relative path would then mean one in the root directory.
package func workingDirectory() throws -> String {
  guard let path = getcwd(nil, 0) else {
    throw WaymarkError.failed(
      .noDirectory, "The current directory is gone.", next: "cd to one that exists, then try again")
  }
  defer { free(path) }
  return String(cString: path)
}
