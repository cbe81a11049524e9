import Backups
import Platform
package import Reasons
import Records
import Storage
import Synchronization
import Wire

/// Automatic backups in the backups folder.
extension Home {
  /// An unused path for a backup before a large change, or for a folder of replaced files:
  /// `backups/before-mirror-20260503T080000Z.waymark`.
  package func automaticBackup(before what: String, at now: Int64, suffix: String = ".waymark") throws
    -> String
  {
    try Files.makeFolder(backups)
    let base = "\(backups)/before-\(what)-\(Self.compactTime(now))"
    var path = base + suffix
    var number = 2
    while Files.exists(path) || Self.isWriting(path) {
      path = "\(base)-\(number)\(suffix)"
      number += 1
    }
    return path
  }

  /// Reserves the path of an automatic backup until it is complete, because another one may begin in the same second.
  package static func beginWriting(_ backup: String) { written.withLock { _ = $0.insert(backup) } }

  package static func endWriting(_ backup: String) { written.withLock { _ = $0.remove(backup) } }

  private static func isWriting(_ backup: String) -> Bool { written.withLock { $0.contains(backup) } }

  /// The automatic backups that this process is writing.
  private static let written = Mutex<Set<String>>([])

  /// Removes the backups folder if there is nothing in it.
  package func removeEmptyBackups() { rmdir(backups) }

  /// Removes old automatic backups. Keeps the newest ten files, the newest five folders with a replaced store or keys,
  /// every folder with the only copy of a root key, and files that the user has put there under other names.
  ///
  /// - Returns: the names of the removed backups.
  package func pruneAutomaticBackups() -> [String] {
    removeBackups(prunable(keepingFiles: Self.backupFilesMax, folders: Self.backupFoldersMax))
  }

  /// The automatic backups other than the newest of each kind and those with the only copy of a root key.
  package func prunable(keepingFiles files: Int, folders: Int) -> [String] {
    let found = automaticBackups
    let oldFiles = found.filter { $0.hasSuffix(".waymark") }.dropFirst(files)
    let oldFolders = found.filter { Files.isDirectory("\(backups)/\($0)") }.dropFirst(folders)
      .filter { !holdsOnlyRootKey("\(backups)/\($0)") }
    return oldFiles + oldFolders
  }

  /// Removes the incomplete automatic backups of processes that were killed. The caller must hold the store.
  func removePartialBackups() {
    for name in automaticBackups where Store.isPartialBackup(name) { unlink("\(backups)/\(name)") }
  }

  /// Removes backups from the backups folder, and returns the names of those that could be removed.
  package func removeBackups(_ names: [String]) -> [String] {
    names.filter { (try? FileManager.default.removeItem(atPath: "\(backups)/\($0)")) != nil }
  }

  /// What is in the backups folder, the newest first.
  package var keptBackups: [KeptBackup] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: backups)) ?? []
    return names.filter { !$0.hasPrefix(".") }.map { KeptBackup($0, in: backups) }
      .sorted { ($0.created, $0.name) > ($1.created, $1.name) }
  }

  /// The names of the automatic backups, the newest first.
  package var automaticBackups: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: backups)) ?? []
    return names.filter { $0.hasPrefix("before-") }
      .map { (name: $0, changed: Self.changed("\(backups)/\($0)")) }
      .sorted { ($0.changed, $0.name) > ($1.changed, $1.name) }.map(\.name)
  }

  package static let backupFilesMax = 10
  package static let backupFoldersMax = 5

  /// Whether a folder holds a root key that differs from the one of this home.
  private func holdsOnlyRootKey(_ folder: String) -> Bool {
    let copy = "\(folder)/\(Files.name(of: rootKey))"
    return Files.exists(copy) && !FileManager.default.contentsEqual(atPath: copy, andPath: rootKey)
  }

  // MARK: The newest backup

  /// The newest readable backup in the backups folder, and when it was made; nil if there is none.
  ///
  /// Readable means only that the file is a backup. Its change sets may be damaged; a restore verifies them.
  func newestBackup() -> (path: String, created: Int64)? {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: backups)) ?? []
    let files = names.map { name in
      // Stores that a restore or a join replaced are in folders.
      name.hasSuffix(".waymark") ? "\(backups)/\(name)" : "\(backups)/\(name)/store.waymark"
    }
    let found = files.filter(Files.isRegular).map { (path: $0, changed: Self.changed($0)) }
    for file in found.sorted(by: { ($0.changed, $0.path) > ($1.changed, $1.path) }).prefix(
      Self.backupsTriedMax)
    {
      if let created = try? BackupFile(path: file.path).about.created { return (file.path, created) }
    }
    return nil
  }

  /// Returns the next step if only a backup helps. The step names the newest backup in the backups folder.
  package func restoreAdvice(now: Int64) -> Step {
    guard let newest = newestBackup() else {
      return "\(waymark: "restore FILE") with a backup; without one, "
        + "mv \(shellWord(store)) \(shellWord(store + ".damaged")), then \(waymark: "join TICKET")"
    }
    return
      "\(waymark: "restore \(shellWord(newest.path))"), the newest backup here, \(Self.age(now - newest.created)) old"
  }

  /// An age in its largest unit: `3 days`.
  private static func age(_ milliseconds: Int64) -> String {
    let minutes = max(0, milliseconds / 60_000)
    if minutes >= 2 * 24 * 60 { return plural(Int(minutes / (24 * 60)), "day") }
    if minutes >= 2 * 60 { return plural(Int(minutes / 60), "hour") }
    return plural(Int(minutes), "minute")
  }

  private static let backupsTriedMax = 5

  private static func changed(_ path: String) -> Date {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return attributes?[.modificationDate] as? Date ?? .distantPast
  }

  /// A time for file names: `20260503T080000Z`.
  private static func compactTime(_ now: Int64) -> String {
    timeText(milliseconds: now).prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
  }
}
