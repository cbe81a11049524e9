import Backups
import Platform
package import Home
import LogStorage
import Membership
package import Reasons
package import Replication
import Storage
import Wire

/// A backup whose contents have not been verified yet.
package struct BackupSource: Sendable {
  let path: String
  let about: BackupAbout
  let statements: [[UInt8]]
  let changeSetIDs: Set<ChangeSetID>
  let changeSets: Int64
  let heldErases: [ChangeSetID]

  /// - Throws: `WaymarkError` if the file can't be restored from.
  package init(_ path: String) throws {
    guard !Files.isDirectory(path) else {
      throw WaymarkError.failed(
        .file, "\(path) is a folder; a backup is a single file.",
        next: "name a file that waymark backup wrote")
    }
    guard !Files.exists(path) || Files.isRegular(path) else { throw Files.notAFile(path) }
    let readable = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard readable >= 0 else {
      throw WaymarkError.failed(
        .file, "Can't read \(path): \(systemReason().lowercased()).", next: Files.look(path))
    }
    close(readable)
    self.path = path
    (about, statements, changeSetIDs, changeSets, heldErases) = try Self.reading(path) {
      let file = try BackupFile(path: path)
      return (
        file.about, try file.statements(), try file.changeSetIDs(), file.changeSetCount, file.heldErases
      )
    }
  }

  /// Runs `body`, and converts the errors that occur while a backup is read into messages for the user.
  static func reading<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch BackupError.notABackup {
      throw WaymarkError.failed(
        .notABackup, "\(path) is not a Waymark backup; nothing was changed.",
        next: "name a file that waymark backup wrote")
    } catch BackupError.newerFormat(let found, let known) {
      throw WaymarkError.failed(
        .newerBackup,
        "\(path) was written by a newer version of Waymark (format \(found), this one reads \(known)); "
          + "nothing was changed.", next: "update Waymark, then restore again")
    } catch BackupError.formerFormat {
      throw WaymarkError.failed(
        .formerFormat,
        "\(path) has the former format 1, which this version of Waymark can't read; nothing was changed.",
        next: "restore it with the version that wrote it and run waymark export; "
          + "then \(waymark: "init") and \(waymark: "import FILE")")
    } catch BackupError.damagedSet(let why) {
      throw WaymarkError.failed(
        .damagedBackup, "\(path) is damaged: \(why). Nothing was changed.",
        next:
          "restore an older backup, or \(waymark: "restore --partial \(shellWord(path))"), which restores "
          + "everything intact and reports what is missing")
    } catch BackupError.damagedFile(let file) {
      throw WaymarkError.failed(
        .damagedBackup,
        "\(path) is damaged: the bytes of the file \(file) do not match its id. "
          + "Nothing was changed.",
        next:
          "restore an older backup, or \(waymark: "restore --partial \(shellWord(path))"), which requests the "
          + "file from other devices")
    } catch BackupError.damaged(let why) {
      throw WaymarkError.failed(
        .damagedBackup, "\(path) is damaged: \(why). Nothing was changed.",
        next: "restore an older backup, or join the circle again")
    }
  }
}

/// The store that a restore would replace.
package struct PresentStore: Sendable {
  /// The diagnostics of the store; nil if there is no store, or if it can't be read.
  let diagnostics: StoreDiagnostics?
  let circle: Circle?
  /// A sentence that says why the store can't be read; nil if it can be, or if there is none.
  package let trouble: LocalizableText?

  /// Data that only the present store holds.
  struct DiscardedData: Sendable {
    let changeSets: Int?
    let sentence: LocalizableText
  }

  package init(_ home: Home) throws {
    guard home.hasStore else {
      (diagnostics, circle, trouble) = (nil, nil, nil)
      return
    }
    do {
      let found = try StoreDiagnostics(path: home.store)
      circle = try Circle(statements: try found.statements.map { try Statement($0) })
      diagnostics = found
      trouble = nil
    } catch {
      (diagnostics, circle) = (nil, nil)
      trouble = WaymarkError.reading(home, error).message
    }
  }

  /// Writes a backup of the present store to the folder that the store is to be moved to, so that the store can be
  /// restored again.
  ///
  /// - Returns: whether the backup was written; false if the store is damaged or has a former format, or its keys can't
  ///   be read.
  package func keepReadable(_ home: Home, in folder: String, now: Moment) throws -> Bool {
    guard let diagnostics, let circle, let identity = try? Identity.load(from: home) else { return false }
    try home.createFolder(folder)
    let about = BackupAbout(
      of: identity.device, called: circle.evaluation.members[identity.device]?.name ?? "", at: now,
      diagnostics.meta)
    let path = folder + "/store.waymark"
    do {
      _ = try Store.backup(storeAt: home.store, to: path, about: about)
      return true
    } catch let error as BackupTargetError {
      throw WaymarkError.backupTarget(path, error)
    } catch StoreError.damaged, StoreError.formerFormat {
      return false
    }
  }

  /// Returns the records that the store has erased with sets that a backup does not have.
  func erased(since backup: BackupSource) -> [RecordKey] {
    let later = diagnostics?.erasures.filter { !backup.changeSetIDs.contains($0.by) } ?? []
    return Set(later.map(\.record)).sorted()
  }

  /// Returns the data that the restore would discard and that is not in the backup; nil if there is none.
  func discardedData(restoring backup: BackupSource, foundsCircle: Bool) throws -> DiscardedData? {
    if let trouble {
      return DiscardedData(changeSets: nil, sentence: trouble)
    }
    guard let diagnostics, let circle else { return nil }
    let held = diagnostics.changeSetIDs.count
    guard !foundsCircle else {
      return DiscardedData(
        changeSets: held, sentence: "There is already a store here; the new circle would replace it.")
    }
    let isSame = backup.statements.contains { (try? Statement($0))?.circle == circle.id }
    guard isSame else {
      return DiscardedData(
        changeSets: held,
        sentence:
          "The backup belongs to a different circle. The store here holds \(held) change sets.")
    }
    let missing = diagnostics.changeSetIDs.subtracting(backup.changeSetIDs).count
    guard missing > 0 else { return nil }
    return DiscardedData(
      changeSets: missing,
      sentence: "\(missing) change \(missing == 1 ? "set" : "sets") of the current store "
        + "\(missing == 1 ? "is" : "are") not in the backup. Syncing brings back what other devices hold."
    )
  }
}

extension StoreDiagnostics {
  /// The circle that the statements in the store belong to; nil if there is no valid statement.
  var circle: CircleID? { statements.lazy.compactMap { try? Statement($0) }.first?.circle }
}
