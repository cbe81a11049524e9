// Protocol/merge.md, "Conflicts"

import Records
import Replication
import SQLite
import Wire

/// Writes that a deletion hides and did not know of: of the record itself, or of its parent.
///
/// For each record they are a function of what is folded, so that they do not depend on the order of arrival.
final class HiddenWrites {
  private let insert: Statement
  private let delete: Statement

  init(_ connection: Connection) throws {
    insert = try connection.prepare(
      "INSERT INTO hidden_writes(kind, record, number, by_parent, deletion) VALUES (?1, ?2, ?3, ?4, ?5)")
    delete = try connection.prepare("DELETE FROM hidden_writes WHERE kind = ?1 AND record = ?2")
  }

  /// Finds the hidden writes of a record anew.
  func update(_ key: RecordKey, _ fold: Fold) throws {
    try bind(delete, key)
    try delete.run()
    guard let row = try fold.table(key.kind).row(key.id), let hiding = try deletion(hiding: key, row, fold)
    else { return }
    let deletion = try fold.causality.origin(hiding.number)
    let writes = try fold.writes(of: key, row)
    let seen = try Dictionary(
      uniqueKeysWithValues: writes.map { write in
        (write.number, try Seen(write.number, deletion.number, fold.causality))
      })
    let lost = Merge.concurrent(with: deletion, among: writes) { later, earlier in
      later.number == deletion.number
        ? seen[earlier.number]?.byDeletion ?? true : seen[later.number]?.deletion ?? true
    }
    for write in lost {
      try bind(insert, key)
      try insert.bind(3, write.number)
      try insert.bind(4, hiding.byParent ? 1 : 0)
      try insert.bind(5, hiding.number)
      try insert.run()
    }
  }

  /// Which of a write and a deletion has seen the other.
  private struct Seen {
    let byDeletion: Bool
    let deletion: Bool

    init(_ write: Int64, _ deletion: Int64, _ causality: Causality) throws {
      byDeletion = try causality.covers(deletion, write)
      self.deletion = try causality.covers(write, deletion)
    }
  }

  private func deletion(
    hiding key: RecordKey, _ row: StoredRow, _ fold: Fold
  ) throws -> (number: Int64, byParent: Bool)? {
    if row.life == false { return row.stamps[Fields.life].map { ($0, false) } }
    guard row.life == true, let kind = Registry.kind(key.kind), let field = kind.parent,
      let content = row.contents[field], let parent = kind.parentKey(content[...]),
      let parentRow = try fold.table(parent.kind).row(parent.id), parentRow.life == false
    else { return nil }
    return parentRow.stamps[Fields.life].map { ($0, true) }
  }

  private func bind(_ statement: borrowing Statement, _ record: RecordKey) throws {
    try statement.bind(1, Int(record.kind.rawValue))
    try statement.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
  }
}
