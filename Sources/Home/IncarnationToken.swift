import Platform
import Storage
import Wire

/// A file that ties an incarnation to one particular store file, by the number of that file on its disk.
///
/// Two directories that write the same log fork it. A copied directory or a restored store contains the incarnation,
/// but its store file has a different number, so the directory begins a new incarnation.
struct IncarnationToken: IncarnationStorage {
  private let home: Home

  init(_ home: Home) { self.home = home }

  /// Whether this directory may write the logs of an incarnation.
  func names(_ incarnation: Incarnation) -> Bool {
    guard let bytes = try? Files.read(home.incarnation, bytesMax: 1_024) else { return false }
    return bytes == text(incarnation)
  }

  /// Replaces the file durably.
  func write(_ incarnation: Incarnation) throws {
    try Files.replace(home.incarnation, with: text(incarnation), mode: 0o600)
  }

  private func text(_ incarnation: Incarnation) -> [UInt8] {
    Array("waymark incarnation v1\n\(incarnation)\nstore \(Self.place(home.store))\n".utf8)
  }

  /// The file's number on its disk (inode), which survives a rename and which no copy shares.
  private static func place(_ path: String) -> String {
    var status = stat()
    return lstat(path, &status) == 0 ? "\(status.st_ino)" : "-"
  }
}
