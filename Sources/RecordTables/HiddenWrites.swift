// Protocol/merge.md, "Hidden writes"

import LogStorage
import Records
import Replication
import SQLite
import Wire

// Hidden writes: edits that a concurrent deletion made invisible.
//
// A deletion wins over a concurrent edit, because an edit does not write the record's life. Deleting a trip also hides
// everything below it. So a user's work may disappear although neither side had seen the other's change. The table
// `hidden_writes` lists such writes, so that they appear among the conflicts.
//
//     trip T      ✗ deleted by set 20 (laptop)
//      └ lodging L
//          set 15 (phone)   edits L; seen by set 20           deleted knowingly: not listed
//          set 21 (phone)   edits L; concurrent with set 20   listed: hidden-by-parent
//          set 25 (phone)   edits L; has seen set 20          edited knowingly: not listed
//
// A record is hidden by the *nearest* dead record on the way up: by itself (edit-lost-to-delete) or by an ancestor
// (hidden-by-parent). Only writes that the record still holds, as winners or siblings, are considered. Deletes are not,
// because two deletions agree.
//
// A record's list depends on its own cells, on the life of all records above it, and on which sets had seen which. So
// it is recomputed whenever one of these changes (`Aggregates` keeps track). If it were updated incrementally, it would
// depend on the order of arrival.

/// The dead record that hides a record, and the set that deleted it.
struct Hiding {
  let record: RecordKey
  let deletion: Int64
}

extension Fold {
  /// Returns the nearest deleted record among a record and its ancestors; nil if all are alive, or if an ancestor is
  /// missing.
  func hiding(_ key: RecordKey, _ row: StoredRow) throws -> Hiding? {
    var key = key
    var row = row
    // Parent kinds form no cycles, so the loop ends.
    while row.life == true {
      guard let parent = schema.kind(key.kind)?.parent(of: row),
        let above = try table(parent.kind).row(parent.id)
      else { return nil }
      (key, row) = (parent, above)
    }
    guard row.life == false, let deletion = row.stamps[Fields.life] else { return nil }
    return Hiding(record: key, deletion: deletion)
  }
}

/// Maintains the list of writes hidden by a deletion that was concurrent with them: a deletion of the record itself
/// or of an ancestor.
///
/// For each record, the list is a function of the folded sets, regardless of the order in which they arrived.
final class HiddenWrites {
  private let insert: Statement
  private let delete: Statement

  init(_ connection: Connection) throws {
    insert = try connection.prepare(
      "INSERT INTO hidden_writes(kind, record, number, by_parent, deletion) VALUES (?1, ?2, ?3, ?4, ?5)")
    delete = try connection.prepare("DELETE FROM hidden_writes WHERE kind = ?1 AND record = ?2")
  }

  /// Recomputes the hidden writes of some records.
  func update(_ keys: Set<RecordKey>, _ fold: Fold) throws {
    // The records usually share a few parents, so the result for each parent is kept.
    var parents: [RecordKey: Hiding?] = [:]
    // Rows are stored in the order of their keys, so that neighbours are read from the same page.
    for key in keys.sorted() { try update(key, fold, &parents) }
  }

  private func update(_ key: RecordKey, _ fold: Fold, _ parents: inout [RecordKey: Hiding?]) throws {
    try bind(delete, key)
    try delete.run()
    guard let (life, stamps) = try fold.table(key.kind).lifeAndStamps(key.id), let life,
      let hiding = try hiding(key, isAlive: life, stamps, fold, &parents)
    else { return }
    let deletion = try fold.causality.origin(hiding.deletion)
    let writes = try fold.writes(of: key, isAlive: life, stamps)
    let lost = try Merge.concurrent(with: deletion, among: writes) { later, earlier in
      try fold.causality.covers(later.number, earlier.number)
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
    _ key: RecordKey, isAlive: Bool, _ stamps: Stamps, _ fold: Fold, _ parents: inout [RecordKey: Hiding?]
  ) throws -> Hiding? {
    guard isAlive else { return stamps[Fields.life].map { Hiding(record: key, deletion: $0) } }
    // Only the parent of a living record has to be known, so only a living record is read as a whole.
    guard let row = try fold.table(key.kind).row(key.id) else { return nil }
    guard let parent = fold.schema.kind(key.kind)?.parent(of: row) else { return try fold.hiding(key, row) }
    if let known = parents[parent] { return known }
    let found = try fold.hiding(key, row)
    parents.updateValue(found, forKey: parent)
    return found
  }

  private func bind(_ statement: borrowing Statement, _ record: RecordKey) throws {
    try statement.bind(1, Int(record.kind.rawValue))
    try statement.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
  }
}
