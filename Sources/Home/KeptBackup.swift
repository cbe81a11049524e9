import Backups
package import Platform

/// A backup in the backups folder of a home, or a folder with a store and keys that were replaced.
package struct KeptBackup: Hashable, Sendable, Codable {
  /// The name in the backups folder.
  package let name: String
  /// When it was made; for a folder, when the files in it were replaced.
  package let created: Date
  /// The size of all its files.
  package let bytes: Int64
  /// Whether it was made automatically, before a large change, so that pruning may remove it.
  package let isAutomatic: Bool
  /// Whether it is a folder with what was replaced.
  package let isFolder: Bool
  /// The path of the backup that `waymark restore` accepts; nil if there is none in the folder, or if the file is not a
  /// readable backup.
  package let restorable: String?

  init(_ name: String, in folder: String) {
    let path = "\(folder)/\(name)"
    isFolder = Files.isDirectory(path)
    let candidate = isFolder ? "\(path)/store.waymark" : path
    let about = Files.isRegular(candidate) ? try? BackupFile(path: candidate).about : nil
    self.name = name
    isAutomatic = name.hasPrefix("before-")
    restorable = about == nil ? nil : candidate
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    created =
      about.map { Date(timeIntervalSince1970: Double($0.created) / 1_000) }
      ?? attributes?[.modificationDate] as? Date ?? .distantPast
    bytes = Self.size(of: path)
  }

  private static func size(of path: String) -> Int64 {
    guard Files.isDirectory(path) else { return Files.size(path) ?? 0 }
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? []
    return names.map { "\(path)/\($0)" }.filter(Files.isRegular).compactMap(Files.size).reduce(0, +)
  }
}
