package import Backups
public import Platform
package import Home
package import LogStorage
public import Reasons
package import Storage
package import Wire

/// A backup: a single file with everything that a device holds of its circle except keys.
public struct Backup: Hashable, Sendable, Codable {
  /// The path of the file.
  public let file: String
  /// The size of the file.
  public let bytes: Int
  /// The number of change sets in it.
  public let changeSets: Int
  /// The number of files in it; nil if it was written without files.
  public let files: Int?
  /// The number of files that records name and that are not in the backup, because they are not on this device or are
  /// damaged.
  public let missingFiles: Int
  /// The number of visible records in it.
  public let records: Int
  /// When the backup was made.
  public let created: Date
  /// The number of change sets that are damaged on disk and can't be restored from this backup.
  public let damaged: Int
  /// A sentence that says what is damaged; nil if nothing is.
  public let text: LocalizableText?
  /// How to restore the rest from this backup, as a `waymark` command; nil if nothing is damaged.
  public let next: Step?
}

/// Writes backups of an open store through a separate connection, so that the node continues to work.
package struct BackupWriter {
  private let home: Home
  private let store: Store
  private let about: BackupAbout
  /// Formats damaged change sets as a list in text.
  private let list: ([DamagedSet]) -> String
  /// Receives the damaged change sets that a backup met.
  private let noteDamage: ([DamagedSet]) -> Void

  package init(
    _ home: Home, _ store: Store, _ about: BackupAbout, list: @escaping ([DamagedSet]) -> String,
    noteDamage: @escaping ([DamagedSet]) -> Void
  ) {
    self.home = home
    self.store = store
    self.about = about
    self.list = list
    self.noteDamage = noteDamage
  }

  /// Writes a backup to the given path.
  ///
  /// - Parameters:
  ///   - overwrites: whether to replace an existing file and leave damaged change sets out without confirmation.
  ///   - holdsFiles: whether to include the files that the records name.
  ///   - progress: receives the progress and the path of the file; called on any thread.
  package func write(
    to path: String, overwrites: Bool, holdsFiles: Bool,
    _ progress: @escaping @Sendable (WorkProgress, _ file: String) -> Void
  ) async throws -> Backup {
    let path = try BackupTarget.check(path, home, overwrites: overwrites)
    let records = try store.visibleCounts().values.reduce(0, +)
    let summary = try await write(
      to: path, overwrites: overwrites, allowsDamage: overwrites, holdsFiles: holdsFiles
    ) { done, total in
      progress(WorkProgress(stage: "writing", done: Int(clamping: done), total: Int(clamping: total)), path)
    }
    let damaged = summary.damaged
    return Backup(
      file: path, bytes: Int(clamping: summary.bytes), changeSets: Int(clamping: summary.changeSets),
      files: summary.files, missingFiles: summary.missingFiles, records: records,
      created: Date(milliseconds: about.created), damaged: damaged.count,
      text: damaged.isEmpty
        ? nil
        : "\(plural(damaged.count, "change set")) damaged on disk (\(list(damaged))) can't be restored from "
          + "this backup.",
      next: damaged.isEmpty ? nil : "to restore the rest: \(waymark: "restore --partial")")
  }

  /// Writes an automatic backup before an operation that makes large changes, and returns the path of the backup. It
  /// holds no files, because such an operation deletes none at once.
  ///
  /// - Parameter what: the operation as named in the file name: `mirror`, `assert` or `repair`.
  package func write(before what: String) async throws -> String {
    _ = try home.storage.directory(for: "The automatic backup before this operation")
    let path: String
    do {
      path = try home.automaticBackup(before: what, at: about.created)
    } catch {
      throw WaymarkError.failed(
        .backup, "Can't write a backup to \(home.backups); nothing was changed.",
        next: "check that the folder is writable")
    }
    Home.beginWriting(path)
    defer { Home.endWriting(path) }
    _ = try await write(to: path, overwrites: false, allowsDamage: true, holdsFiles: false) { _, _ in }
    return path
  }

  private func write(
    to path: String, overwrites: Bool, allowsDamage: Bool, holdsFiles: Bool,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
  ) async throws -> BackupSummary {
    do {
      let work = try home.storage.backUp(
        store, to: path, about, overwrites: overwrites, allowsDamage: allowsDamage, holdsFiles: holdsFiles,
        progress: progress)
      let summary =
        switch work {
        case .done(let summary): summary
        case .elsewhere(let work): try await offNode(work)
        }
      noteDamage(summary.damaged)
      return summary
    } catch let error as BackupTargetError {
      throw WaymarkError.backupTarget(path, error)
    } catch let error as BackupDamageError {
      noteDamage(error.damaged)
      throw WaymarkError.needsYes(
        "Write a backup without \(plural(error.damaged.count, "change set")) damaged on disk "
          + "(\(list(error.damaged)))?",
        next:
          "\(waymark: "run"), until a device with intact copies connects; "
          + "or \(waymark: "backup --yes \(shellWord(path))"), to back up everything else")
    }
  }
}

extension BackupAbout {
  /// - Parameters:
  ///   - name: the name of this device.
  ///   - meta: returns a metadata value of the store, used to read the user's choices.
  package init(
    of device: DeviceKey, called name: String, at now: Int64, _ meta: (String) throws -> [UInt8]?
  ) rethrows {
    var kept: [String: [UInt8]] = [:]
    for key in MetaKey.choices { kept[key] = try meta(key) }
    self.init(created: now, program: WaymarkVersion.text, device: device, name: name, kept: kept)
  }
}

/// The checks on the file that a backup is to be written to.
private enum BackupTarget {
  /// Checks before any work is done that a backup can be written to a path, and returns that path.
  static func check(_ path: String, _ home: Home, overwrites: Bool) throws -> String {
    try OutputFile.checkName(path)
    let parent = parentFolder(of: path)
    guard Files.isDirectory(parent) else {
      throw WaymarkError.failed(
        .file, "The folder \(parent) for the backup does not exist.",
        next: "mkdir -p \(shellWord(parent)), or choose another folder")
    }
    let target = try OutputFile(path, in: home, except: home.backups, overwrites: overwrites)
    guard !Files.exists(path) || Files.isRegular(path) else {
      throw WaymarkError.failed(
        .file, "\(path) is a device; a backup must be a regular file.",
        next: .waymark("backup \(shellWord("laptop.waymark"))"))
    }
    return target.path
  }
}

extension WaymarkError {
  static func backupTarget(_ path: String, _ error: BackupTargetError) -> WaymarkError {
    if error.isFull {
      return .failed(
        .diskFull, "Not enough disk space for a backup at \(path); nothing was written.",
        next: "free some space, or write the backup to another disk")
    }
    if error.isThereAlready {
      return .needsYes(
        "Overwrite \(path)? It already exists.",
        next: "\(waymark: "backup --yes \(shellWord(path))"), or choose another name")
    }
    return .failed(
      .file, "Can't write \(path): \(systemReason(error.errno).lowercased()).",
      next: Files.look(path, error.errno))
  }
}
