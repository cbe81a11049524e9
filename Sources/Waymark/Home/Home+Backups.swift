import Foundation
import Wire

/// Names of what the node puts into the backups folder by itself.
extension Home {
  /// Where a backup goes that is taken before something large, or a folder for what is replaced:
  /// `backups/before-mirror-20260503T080000Z.waymark`. Nothing is there yet.
  func automaticBackup(before what: String, at now: Int64, suffix: String = ".waymark") throws -> String {
    try Files.makeFolder(backups)
    let base = "\(backups)/before-\(what)-\(Self.compactTime(now))"
    var path = base + suffix
    var number = 2
    while Files.exists(path) {
      path = "\(base)-\(number)\(suffix)"
      number += 1
    }
    return path
  }

  /// Removes the oldest automatic backups: files beyond the newest ten, and folders with a replaced store or keys beyond
  /// the newest five. A folder with the only copy of a root key stays, and so does what a person put there under a name
  /// of their own.
  ///
  /// - Returns: the names of what was removed.
  func pruneAutomaticBackups() -> [String] {
    let found = automaticBackups
    let files = found.filter { $0.hasSuffix(".waymark") }.dropFirst(Self.backupFilesMax)
    let folders = found.filter { Files.isDirectory("\(backups)/\($0)") }.dropFirst(Self.backupFoldersMax)
      .filter { !holdsOnlyRootKey("\(backups)/\($0)") }
    return (files + folders).filter { name in
      (try? FileManager.default.removeItem(atPath: "\(backups)/\(name)")) != nil
    }
  }

  /// The names of the automatic backups, the newest first.
  var automaticBackups: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: backups)) ?? []
    return names.filter { $0.hasPrefix("before-") }
      .map { (name: $0, changed: Self.changed("\(backups)/\($0)")) }
      .sorted { ($0.changed, $0.name) > ($1.changed, $1.name) }.map(\.name)
  }

  static let backupFilesMax = 10
  static let backupFoldersMax = 5

  /// Whether a folder has a root key that is not the same file as the one of this home.
  private func holdsOnlyRootKey(_ folder: String) -> Bool {
    let copy = "\(folder)/\(Files.name(of: rootKey))"
    return Files.exists(copy) && !FileManager.default.contentsEqual(atPath: copy, andPath: rootKey)
  }

  private static func changed(_ path: String) -> Date {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return attributes?[.modificationDate] as? Date ?? .distantPast
  }

  /// `20260503T080000Z`
  private static func compactTime(_ now: Int64) -> String {
    CivilTime.text(now).prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
  }
}
