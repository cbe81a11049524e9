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

  /// Removes the oldest automatic backups. Folders with a store that was replaced stay: they may be all that is
  /// left of it.
  func pruneAutomaticBackups() {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: backups)) ?? []
    let found = names.filter { $0.hasPrefix("before-") && $0.hasSuffix(".waymark") }.map { name in
      (path: "\(backups)/\(name)", changed: Self.changed("\(backups)/\(name)"))
    }
    for file in found.sorted(by: { ($0.changed, $0.path) > ($1.changed, $1.path) })
      .dropFirst(Self.automaticBackupsMax)
    {
      try? FileManager.default.removeItem(atPath: file.path)
    }
  }

  private static let automaticBackupsMax = 10

  private static func changed(_ path: String) -> Date {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return attributes?[.modificationDate] as? Date ?? .distantPast
  }

  /// `20260503T080000Z`
  private static func compactTime(_ now: Int64) -> String {
    CivilTime.text(now).prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
  }
}
