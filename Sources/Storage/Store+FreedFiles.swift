// Protocol/files.md, "What a device keeps"

package import FileFormat
import FileStore
import LogStorage
import RecordTables
import Records
package import Replication
import SQLite
import Wire

// Which files are to be freed.
//
// A commit reports the files that it may have left without a visible name (`CommitReport.formerFiles`, and those of the
// records in `owned`), so that no commit needs to look at all files. All files are looked at only at the start, when
// the next file of the trash is due, and when the logs were rebuilt or the setting was changed.
//
// Some files have no name in the tables and must stay:
//
// - A file that was just added, whose record is about to be written. `FileStore` remembers these.
// - A file that a stored set names which is not folded, because it is parked, quarantined or excluded by a cut. Such a
//   set may be folded later, for example when a revocation turns out to be void. A thief who revokes the other devices
//   must not be able to make them delete their files.
// - A file that only a damaged set named, if the tables were built without that set. See `filesToFree`.

/// Files to delete here, and when the next ones will be due.
package struct FilesToFree: Sendable {
  package var files: [FileReference] = []
  /// When the first file of the trash that stays for now is due; nil if there is none.
  package var nextAt: Moment?
}

extension Store {
  /// How long the files of deleted records are kept, from the setting `trashDays`.
  package var trashRetention: TrashRetention {
    get throws {
      let kind = Kind.setting
      let record = try record(Self.trashDaysKey)
      guard let record, record.isAlive, let value = record[kind.number("value")] else { return .standard }
      return TrashRetention(value) ?? .standard
    }
  }

  /// The record of the setting `trashDays`.
  package static let trashDaysKey = RecordKey(
    kind: KindNumbers.setting, id: RecordID(kind: Kind.setting, key: TrashRetention.settingKey))

  /// Returns which of some files are to be deleted here.
  ///
  /// - Parameters:
  ///   - now: the time by which files in the trash are judged; nil if the clock is in doubt.
  ///   - isChange: whether a commit has just taken names from these files. Otherwise a file without a name stays while
  ///     the tables lack the writes of a damaged set, because that set may have named it.
  package func filesToFree(
    among candidates: Set<FileReference>, now: Moment?, isChange: Bool
  ) throws -> FilesToFree {
    let retention = try trashRetention
    let siblings = try siblingFiles()
    let mayLackNames = !isChange && damagedSets.contains(where: \.isUnfolded)
    var result = FilesToFree()
    for file in candidates.sorted() {
      let naming = try naming(of: file, siblings: siblings)
      switch naming {
      case .shown: continue
      case .nothing: if !mayLackNames, !files.isHeld(file) { result.files.append(file) }
      case .trash(let deletedAt):
        if let now, FileDecision.isFreed(naming, retention, now: now), !files.isHeld(file) {
          result.files.append(file)
        } else if let due = FileDecision.nextFreed(deletedAt, retention) {
          result.nextAt = min(result.nextAt ?? due, due)
        }
      }
    }
    guard !result.files.isEmpty else { return result }
    let kept = try unfoldedFiles()
    result.files = try result.files.filter { file in
      try !kept.contains(file) && !isOtherNamed(file, siblings, kept)
    }
    return result
  }

  /// Whether something names a file of the same id and another size. At most one of the two exists, and it is not known
  /// which one is stored in part.
  private func isOtherNamed(
    _ file: FileReference, _ siblings: Set<FileReference>, _ unfolded: Set<FileReference>
  ) throws -> Bool {
    let isOther = { (other: FileReference) in other.id == file.id && other.size != file.size }
    if siblings.contains(where: isOther) || unfolded.contains(where: isOther) { return true }
    for kind in schema.kinds {
      for column in kind.fileColumns {
        let sql = "SELECT 1 FROM \(kind.table) WHERE \(column.id) = ?1 AND \(column.size) <> ?2 LIMIT 1"
        let isFound = try connection.with(sql) { row in
          try row.bind(1, file.id.bytes)
          try row.bind(2, Int64(file.size))
          return try row.step()
        }
        if isFound { return true }
      }
    }
    return false
  }

  /// Returns the files that stored sets name whose values the tables do not show: parked sets, those that a cut keeps
  /// out, and writes that a held erase will take.
  package func unfoldedFiles() throws -> Set<FileReference> {
    var found: Set<FileReference> = []
    for branch in logs.branches(.records) where branch.sequence > branch.foldedSequence {
      let sql = "SELECT id, \(RawChangeSet.columns) FROM change_sets WHERE branch = ?1 AND folded <> 1"
      try connection.with(sql) { row in
        try row.bind(1, branch.number)
        while try row.step() { found.formUnion(files(in: row)) }
      }
    }
    try connection.with("SELECT id, \(RawChangeSet.columns) FROM quarantine") { row in
      while try row.step() { found.formUnion(files(in: row)) }
    }
    for erase in try fold.heldErases.folded(through: .max) {
      found.formUnion(try writtenFiles(of: erase.key))
    }
    return found
  }

  /// Returns the files that any stored write to a record names, also siblings that a held erase has hidden.
  func writtenFiles(of record: RecordKey) throws -> Set<FileReference> {
    guard schema.fileFields[record.kind] != nil else { return [] }
    var found: Set<FileReference> = []
    for number in try writeNumbers(of: record) {
      if let set = try intactSet(cached: number) { found.formUnion(files(in: set)) }
    }
    return found
  }

  private func files(in row: borrowing Statement) -> [FileReference] {
    guard let id = ChangeSetID(bytes: row.bytes(0)),
      let set = try? VerifiedChangeSet(stored: RawChangeSet(row, at: 1), id: id)
    else { return [] }
    return files(in: set)
  }

  private func files(in set: VerifiedChangeSet) -> [FileReference] {
    set.body.entries.flatMap { entry -> [FileReference] in
      guard let fields = schema.fileFields[entry.key.kind] else { return [] }
      return set.body.writes(of: entry).compactMap { write in
        fields.contains(write.field) ? write.content.flatMap(FileFields.file) : nil
      }
    }
  }
}
