// Sources/store.md, "Backups"

import FileFormat
import FileStore
import RecordTables
import Records
package import Replication
import Storage

// Bringing files into a store that was just built, by a restore or a join.
//
// A file is taken from the first of these that has it, and is verified:
//
//     1. a folder on the same disk, such as the one of the store that is being replaced: a hard link, which takes no room
//     2. the backup: a copy
//
// A file that neither has is fetched from other devices later, like any other that is missing.

/// The files that a new store has taken over.
package struct TakenFiles: Hashable, Sendable {
  /// Files that are now here.
  package var taken = 0
  /// Files that records name, and that could not be found or are damaged.
  package var missing = 0

  package init() {}
}

extension Store {
  /// Brings the files that the records name into the folder of this store, durably.
  ///
  /// - Parameters:
  ///   - folders: folders with files of other stores, which stay as they are.
  ///   - skipsDamaged: whether to leave out files that are damaged in the backup.
  ///   - isPreview: whether to verify everything and write nothing.
  ///   - progress: called with numbers of files.
  /// - Throws: `BackupError.damagedFile`, and an error for which `isNoRoom` holds if the files do not fit on the disk;
  ///   nothing was copied then.
  package func takeFiles(
    from folders: [String], _ backup: BackupFile? = nil, skipsDamaged: Bool = true, isPreview: Bool = false,
    now: Moment, _ progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws -> TakenFiles {
    try take(namedFiles(), from: folders, backup, skipsDamaged, isPreview, now, progress)
  }

  /// Brings the files that drafts name into the folder of this store, durably, before the drafts are written.
  package func takeFiles(namedBy drafts: [EntryDraft], from folders: [String], now: Moment) throws {
    let named = drafts.flatMap { draft in
      draft.fields.compactMap { field in
        schema.fileFields[draft.key.kind]?.contains(field.field) == true ? FileReference(field.value) : nil
      }
    }
    _ = try take(Set(named).sorted(), from: folders, nil, true, false, now) { _, _ in }
  }

  private func take(
    _ named: [FileReference], from folders: [String], _ backup: BackupFile?, _ skipsDamaged: Bool,
    _ isPreview: Bool, _ now: Moment, _ progress: (Int, Int) -> Void
  ) throws -> TakenFiles {
    let others = folders.map { FileStore(SystemDisk($0)) }
    let held = try Dictionary(
      (backup?.files() ?? []).map { ($0.file, $0) }, uniquingKeysWith: { first, _ in first })
    let copied = named.filter { file in held[file] != nil && !others.contains { (try? $0.has(file)) == true }
    }
    if !isPreview { try files.checkRoom(copied.reduce(0) { $0 + $1.size }) }
    var result = TakenFiles()
    var taken: [FileReference] = []
    for (index, file) in named.enumerated() {
      if try take(file, from: others, isPreview) {
        taken.append(file)
      } else if let backup, let entry = held[file], try copy(entry, from: backup, skipsDamaged, isPreview) {
        taken.append(file)
      } else {
        result.missing += 1
      }
      progress(index + 1, named.count)
    }
    result.taken = taken.count
    guard !isPreview else { return result }
    try files.makeDurable(taken)
    try noteHere(taken, usedAt: now)
    return result
  }

  private func take(_ file: FileReference, from others: [FileStore], _ isPreview: Bool) throws -> Bool {
    for other in others where (try? other.verify(file)) == true {
      if !isPreview { try files.take(file, from: other) }
      return true
    }
    return false
  }

  /// Returns false if the file is damaged in the backup, and may be left out.
  private func copy(
    _ entry: BackedUpFile, from backup: BackupFile, _ skipsDamaged: Bool, _ isPreview: Bool
  ) throws -> Bool {
    do {
      guard !isPreview else {
        try backup.read(entry) { _ in }
        return true
      }
      var writing = try files.beginImport()
      do {
        try backup.read(entry) { try files.append($0[...], to: &writing) }
        _ = try files.finish(&writing)
      } catch {
        files.cancel(writing)
        throw error
      }
      return true
    } catch BackupError.damagedFile where skipsDamaged {
      return false
    }
  }
}
