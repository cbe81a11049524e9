import Foundation

/// A file that a person named for something to be written to: never one that a node lives by.
struct OutputFile {
  /// Where the content goes: what was named, or what links there lead to.
  let path: String
  private let named: String
  private let isDevice: Bool

  /// - Parameters:
  ///   - home: nothing that it keeps is written over; nil where none is known.
  ///   - folder: the one in the home that is meant for such files.
  /// - Throws: `WaymarkError` if what is there must not be written to.
  init(_ named: String, in home: Home?, except folder: String? = nil) throws {
    self.named = named
    path = Self.destination(of: named)
    var status = stat()
    let isThere = stat(path, &status) == 0
    let kind = status.st_mode & S_IFMT
    isDevice = isThere && kind == S_IFCHR
    if let home { try Self.checkIsOutside(path, named, home, folder) }
    guard isThere, kind != S_IFCHR, kind != S_IFDIR else { return }
    guard kind == S_IFREG else { throw Self.noFile(named) }
    try Self.checkIsDispensable(path, named)
  }

  /// Puts the content in place of a file in one step; a device takes it as it is.
  func write(_ bytes: [UInt8], mode: mode_t = 0o644) throws {
    guard isDevice else { return try Files.replace(path, with: bytes, mode: mode) }
    try Files.send(bytes, to: path, waits: false)
  }

  /// Refuses a folder that would be made where a home keeps what is its own.
  static func checkFolder(_ named: String, in home: Home) throws {
    try checkIsOutside(destination(of: named), named, home, nil)
  }

  /// The path behind links, in a folder by its one name.
  private static func destination(of named: String) -> String {
    var path = named
    for _ in 0..<linksMax {
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
      path = target.hasPrefix("/") ? target : "\(parentFolder(of: path))/\(target)"
    }
    return "\(realPath(parentFolder(of: path)))/\(Files.name(of: path))"
  }

  private static let linksMax = 40

  private static func checkIsOutside(
    _ path: String, _ named: String, _ home: Home, _ folder: String?
  ) throws {
    guard home.keeps(path) else { return }
    if let folder, path.hasPrefix(realPath(folder) + "/") { return }
    throw WaymarkError.failed(
      "in_home", "\(named) is what the node in \(home.path) lives by; nothing was written.",
      next: "name a file elsewhere")
  }

  private static func checkIsDispensable(_ path: String, _ named: String) throws {
    guard let file = FileHandle(forReadingAtPath: path) else { return }
    defer { try? file.close() }
    let head = (try? file.read(upToCount: 64)) ?? Data()
    let titles = KeyPurpose.allCases.flatMap { [$0.title, $0.sealedTitle] }
    if titles.contains(where: { head.starts(with: Data("\($0)\n".utf8)) }) {
      throw WaymarkError.failed(
        "is_key", "\(named) holds a key, which is never written over; nothing was written.",
        next: "name another file")
    }
    // A store that is, or was, in use has its lock beside it; a backup has none.
    if head.starts(with: Data("SQLite format 3\0".utf8)), Files.exists(path + ".lock") {
      throw WaymarkError.failed(
        "is_store", "\(named) is the store of a node, which is never written over; nothing was written.",
        next: "name another file")
    }
  }

  private static func noFile(_ named: String) -> WaymarkError {
    .failed(
      "file", "Can't write \(named): it is a pipe, a socket or a disk, and no file.", next: "name a file")
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
    "verify-first",
    "ballast", "control.sock",
  ]
}

/// The one name of a file or folder that is there, without links; else what was given.
func realPath(_ path: String) -> String {
  guard let resolved = realpath(path, nil) else { return path }
  defer { free(resolved) }
  return String(cString: resolved)
}
