public import Foundation
package import Home
package import Storage
package import Wire

/// A file with all that a device holds of the circle, without keys.
public struct Backup: Hashable, Sendable, Codable {
  /// The path of the file.
  public let file: String
  /// The size of the file.
  public let bytes: Int
  /// How many change sets are in it.
  public let changeSets: Int
  /// Visible records.
  public let records: Int
  /// When it was made.
  public let created: Date
  /// How many change sets the disk has damaged: they can't be restored from it.
  public let damaged: Int
  /// What is damaged, as a sentence for people.
  public let text: String?
}

/// Writes backups of a store that is open, from a connection of its own, so that its node goes on with its work.
package struct BackupWriter {
  private let home: Home
  private let store: Store
  private let about: BackupAbout
  /// Lists damaged change sets in the words of a person.
  private let list: ([DamagedSet]) -> String

  package init(_ home: Home, _ store: Store, _ about: BackupAbout, list: @escaping ([DamagedSet]) -> String) {
    self.home = home
    self.store = store
    self.about = about
    self.list = list
  }

  /// Writes all that this device holds of the circle to the file that a person has named.
  ///
  /// - Parameters:
  ///   - overwrites: whether a file that is there is replaced, and damaged change sets are left out.
  ///   - progress: also receives the file; called on some thread.
  package func write(
    to path: String, overwrites: Bool, _ progress: @escaping @Sendable (WorkProgress, _ file: String) -> Void
  ) async throws -> Backup {
    let path = try BackupTarget.check(path, home, overwrites: overwrites)
    let records = try store.visibleCounts().values.reduce(0, +)
    let summary = try await write(to: path, overwrites: overwrites, allowsDamage: overwrites) { done, total in
      progress(WorkProgress(stage: "writing", done: Int(clamping: done), total: Int(clamping: total)), path)
    }
    let damaged = summary.damaged
    return Backup(
      file: path, bytes: Int(clamping: summary.bytes), changeSets: Int(clamping: summary.changeSets),
      records: records, created: Date(milliseconds: about.created), damaged: damaged.count,
      text: damaged.isEmpty
        ? nil
        : "\(plural(damaged.count, "change set")) that the disk has damaged (\(list(damaged))) "
          + "can't be restored from it, the rest can: waymark restore --partial")
  }

  /// Takes an automatic backup before something that changes much, and gives its path.
  ///
  /// - Parameter what: a word for its name: `mirror`, `assert`, `repair`.
  package func write(before what: String) async throws -> String {
    _ = try home.storage.directory(for: "The backup that is taken before this")
    let path: String
    do {
      path = try home.automaticBackup(before: what, at: about.created)
    } catch {
      throw WaymarkError.failed(
        .backup, "No backup can be taken in \(home.backups), so nothing was changed.",
        next: "see that the folder can be written to")
    }
    _ = try await write(to: path, overwrites: false, allowsDamage: true) { _, _ in }
    return path
  }

  private func write(
    to path: String, overwrites: Bool, allowsDamage: Bool,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
  ) async throws -> BackupSummary {
    do {
      switch try home.storage.backUp(
        store, to: path, about, overwrites: overwrites, allowsDamage: allowsDamage, progress: progress)
      {
      case .done(let summary): return summary
      case .elsewhere(let work): return try await offNode(work)
      }
    } catch let error as BackupTargetError {
      throw WaymarkError.backupTarget(path, error)
    } catch let error as BackupDamageError {
      throw WaymarkError.needsYes(
        "Write a backup without \(plural(error.damaged.count, "change set")) that the disk has damaged "
          + "(\(list(error.damaged)))?",
        next:
          "\(waymark: "run"), until a device that has \(error.damaged.count == 1 ? "it" : "them") connects; or "
          + "\(waymark: "backup --yes \(shellWord(path))"), for everything else")
    }
  }
}

extension BackupAbout {
  /// - Parameters:
  ///   - name: what this device is called.
  ///   - meta: gives the choices of the person that a store keeps.
  package init(
    of device: DeviceKey, called name: String, at now: Int64, _ meta: (String) throws -> [UInt8]?
  ) rethrows {
    var kept: [String: [UInt8]] = [:]
    for key in MetaKey.choices { kept[key] = try meta(key) }
    self.init(created: now, program: WaymarkVersion.text, device: device, name: name, kept: kept)
  }
}

/// Where a person wants a backup.
private enum BackupTarget {
  /// Refuses in words what can't become a backup, before any work is done; gives where it goes.
  static func check(_ path: String, _ home: Home, overwrites: Bool) throws -> String {
    try OutputFile.checkName(path)
    let parent = parentFolder(of: path)
    guard Files.isDirectory(parent) else {
      throw WaymarkError.failed(
        .file, "There is no folder \(parent) for the backup.",
        next: "mkdir -p \(shellWord(parent)), or name another place")
    }
    let target = try OutputFile(path, in: home, except: home.backups, overwrites: overwrites)
    guard !Files.exists(path) || Files.isRegular(path) else {
      throw WaymarkError.failed(
        .file, "\(path) is a device; a backup is a file.",
        next: .waymark("backup \(shellWord("laptop.waymark"))"))
    }
    return target.path
  }
}

extension WaymarkError {
  static func backupTarget(_ path: String, _ error: BackupTargetError) -> WaymarkError {
    if error.isFull {
      return .failed(
        .diskFull, "The disk of \(path) has no room for a backup; nothing was written.",
        next: "make room on it, or name a file on another disk")
    }
    if error.isThereAlready {
      return .needsYes(
        "Overwrite \(path)? It is there already.",
        next: "\(waymark: "backup --yes \(shellWord(path))"), or another name")
    }
    return .failed(
      .file, "Can't write \(path): \(reason(error.errno).lowercased()).",
      next: Files.look(path, error.errno))
  }
}
