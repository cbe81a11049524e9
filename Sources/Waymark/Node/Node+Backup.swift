import Membership
import Storage
import Wire

/// Backups of a node's store. They are written from a second, reading connection, so that the node goes on with
/// its work meanwhile.
extension Node {
  /// Takes an automatic backup before something that changes much, and gives its path. The oldest ones
  /// are removed, see `Home.pruneAutomaticBackups`.
  ///
  /// - Parameter what: a word for its name: `mirror`, `assert`, `repair`.
  @discardableResult
  func backUp(before what: String) async throws -> String {
    _ = try home.storage.directory(for: "The backup that is taken before this")
    let path: String
    do {
      path = try home.automaticBackup(before: what, at: wall())
    } catch {
      throw WaymarkError.failed(
        "backup", "No backup can be taken in \(home.backups), so nothing was changed.",
        next: "see that the folder can be written to")
    }
    _ = try await backUp(to: path)
    pruneBackups()
    return path
  }

  /// Removes automatic backups that are too many, and logs each.
  func pruneBackups() {
    guard (try? home.storage.directory(for: "")) != nil else { return }
    for name in home.pruneAutomaticBackups() {
      log.info("backup", "removed the old automatic backup \(home.backups)/\(name)")
    }
  }

  /// Writes a backup of what is committed now.
  ///
  /// - Parameter allowsDamage: whether it is written though the disk has altered some change sets; else that needs a yes.
  func backUp(
    to path: String, overwrites: Bool = false, allowsDamage: Bool = true,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void = { _, _ in }
  ) async throws -> BackupSummary {
    do {
      switch try home.storage.backUp(
        store, to: path, try backupAbout(), overwrites: overwrites, allowsDamage: allowsDamage,
        progress: progress)
      {
      case .done(let summary): return summary
      case .elsewhere(let work): return try await offNode(work)
      }
    } catch let error as BackupTargetError {
      throw WaymarkError.backupTarget(path, error)
    } catch let error as BackupDamageError {
      throw WaymarkError.needsYes(
        "Write a backup without \(plural(error.damaged.count, "change set")) that the disk has damaged "
          + "(\(deviceNames.list(error.damaged)))?",
        next:
          "waymark run, until a device that has \(error.damaged.count == 1 ? "it" : "them") connects; or "
          + "waymark backup --yes \(shellWord(path)), for everything else")
    }
  }

  private func backupAbout() throws -> BackupAbout {
    var kept: [String: [UInt8]] = [:]
    for key in MetaKey.choices { kept[key] = try store.meta(key) }
    return BackupAbout(
      created: wall(), program: WaymarkVersion.text, device: identity.device,
      name: member?.name ?? waiting?.name ?? "", kept: kept)
  }
}

extension WaymarkError {
  static func backupTarget(_ path: String, _ error: BackupTargetError) -> WaymarkError {
    if error.isFull {
      return .failed(
        "disk_full", "The disk of \(path) has no room for a backup; nothing was written.",
        next: "make room on it, or name a file on another disk")
    }
    if error.isThereAlready {
      return .needsYes(
        "Overwrite \(path)? It is there already.",
        next: "waymark backup --yes \(shellWord(path)), or another name")
    }
    return .failed(
      "file", "Can't write \(path): \(reason(error.errno).lowercased()).",
      next: Files.look(path, error.errno))
  }
}
