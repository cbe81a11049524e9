// Protocol/merge.md, "Hidden writes"

import Records
import Replication
import SQLite
import Wire

/// The dead record that keeps a record out of sight, and the set that deleted it.
struct Hiding {
  let record: RecordKey
  let deletion: Int64
}

extension Fold {
  /// The nearest deleted record on the way up from a record that is written, itself included; nil if all live.
  func hiding(_ key: RecordKey, _ row: StoredRow) throws -> Hiding? {
    var key = key
    var row = row
    // Kinds have no cycles: the way up ends at one that belongs to nothing.
    while row.life == true {
      guard let parent = Registry.kind(key.kind)?.parent(of: row),
        let above = try table(parent.kind).row(parent.id)
      else { return nil }
      (key, row) = (parent, above)
    }
    guard row.life == false, let deletion = row.stamps[Fields.life] else { return nil }
    return Hiding(record: key, deletion: deletion)
  }
}

/// Writes that a deletion hides and did not know of: of the record itself, or of one that it belongs to.
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

  /// Finds the hidden writes of records anew.
  func update(_ keys: Set<RecordKey>, _ fold: Fold) throws {
    // Most often all belong to the same few records.
    var parents: [RecordKey: Hiding?] = [:]
    for key in keys { try update(key, fold, &parents) }
  }

  private func update(_ key: RecordKey, _ fold: Fold, _ parents: inout [RecordKey: Hiding?]) throws {
    try bind(delete, key)
    try delete.run()
    guard let row = try fold.table(key.kind).row(key.id),
      let hiding = try hiding(key, row, fold, &parents)
    else { return }
    let deletion = try fold.causality.origin(hiding.deletion)
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
      try insert.bind(4, hiding.record == key ? 0 : 1)
      try insert.bind(5, hiding.deletion)
      try insert.run()
    }
  }

  private func hiding(
    _ key: RecordKey, _ row: StoredRow, _ fold: Fold, _ parents: inout [RecordKey: Hiding?]
  ) throws -> Hiding? {
    guard row.life == true, let parent = Registry.kind(key.kind)?.parent(of: row) else {
      return try fold.hiding(key, row)
    }
    if let known = parents[parent] { return known }
    let found = try fold.hiding(key, row)
    parents.updateValue(found, forKey: parent)
    return found
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

  private func bind(_ statement: borrowing Statement, _ record: RecordKey) throws {
    try statement.bind(1, Int(record.kind.rawValue))
    try statement.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
  }
}
