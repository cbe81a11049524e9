// Sources/store.md, "What is derived"

import Records
import Replication
import SQLite
import Wire

/// Precomputed counts and sums over records, so that no command has to scan a whole table. They are updated once per
/// batch, for the records that the batch changed.
final class Aggregates {
  private let connection: Connection
  private let schema: Schema
  private let hidden: HiddenWrites
  private let trips: TripSummaries
  private let addLive: Statement
  /// The dead records of those kinds that can have children.
  private var dead: Set<RecordKey> = []
  /// Records that came back to life in this batch. Their descendants were hidden before the batch.
  private var revived: Set<RecordKey> = []
  private var liveChanges: [ChildGroup: Int] = [:]
  /// Records whose hidden writes may have changed.
  private var hiddenDirty: Set<RecordKey> = []
  /// Records that died, came back to life or moved. The hidden writes and the visibility of all their descendants may
  /// have changed.
  private var familiesDirty: Set<RecordKey> = []
  /// Records that were alive before the batch and are dead after it.
  private var deaths: [RecordKey: Death] = [:]

  /// The children of one kind below one record; if `parent` is nil, all records of a kind that has no parent field.
  private struct ChildGroup: Hashable {
    let parent: RecordKey?
    let kind: KindNumber
  }

  init(_ connection: Connection, _ schema: Schema) throws {
    self.connection = connection
    self.schema = schema
    hidden = try HiddenWrites(connection)
    trips = try TripSummaries(connection)
    addLive = try connection.prepare(
      """
      INSERT INTO child_counts(parent_kind, parent, kind, live) VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT DO UPDATE SET live = live + excluded.live
      """)
    try reload()
  }

  /// State that outlives a batch, captured before a transaction for rollback.
  struct RollbackState {
    fileprivate let dead: Set<RecordKey>
  }

  var rollbackState: RollbackState { RollbackState(dead: dead) }

  func restore(_ state: RollbackState) {
    dead = state.dead
    forgetBatch()
  }

  private func forgetBatch() {
    revived = []
    liveChanges = [:]
    hiddenDirty = []
    familiesDirty = []
    deaths = [:]
    trips.forget()
  }

  func reload() throws {
    dead = []
    forgetBatch()
    for kind in schema.kinds where schema.canHaveChildren(kind.number) {
      try connection.with("SELECT id FROM \(kind.table) WHERE life = 0") { row in
        while try row.step() {
          dead.insert(RecordKey(kind: kind.number, id: try row.recordID(0)))
        }
      }
    }
  }

  // MARK: One record

  func inserted(_ key: RecordKey, _ kind: Kind, parent: RecordKey?) {
    count(key, kind, parent: parent, by: 1)
    guard let parent else { return }
    trips.changed(kind, parent)
    guard mayHide(parent) else { return }
    hiddenDirty.insert(key)
    // The children of the record may have arrived before the record.
    if schema.canHaveChildren(kind.number) { familiesDirty.insert(key) }
  }

  /// Returns whether the children of a record may be hidden, or may have been hidden before this batch. This is so if
  /// the record is or was dead, or has a parent itself.
  private func mayHide(_ parent: RecordKey) -> Bool {
    guard mayHideAny else { return false }
    return dead.contains(parent) || revived.contains(parent) || schema.kind(parent.kind)?.parent != nil
  }

  private var mayHideAny: Bool { !dead.isEmpty || !revived.isEmpty }

  /// - Parameter hidesNothing: whether the record was deleted by a set that has seen every write that the record holds.
  func changed(
    _ key: RecordKey, _ kind: Kind?, from old: StoredRow?, to new: StoredRow, hidesNothing: Bool
  ) {
    let wasDead = old?.life == false
    let isDead = new.life == false
    var mayBeHidden = wasDead || isDead
    var isUnaffected = false
    defer { if mayBeHidden, !isUnaffected { hiddenDirty.insert(key) } }
    guard let kind else { return }
    noteDeath(key, from: old, to: new)
    let before = old.flatMap { kind.parent(of: $0) }
    let after = kind.parent(of: new)
    // No write of the record was hidden before, and none is now.
    isUnaffected = hidesNothing && before == after && !wasHidden(below: before)
    if schema.canHaveChildren(kind.number) {
      if isDead { dead.insert(key) } else if dead.remove(key) != nil { revived.insert(key) }
      let hasMoved = before != after || old?.stamps[Fields.life] != new.stamps[Fields.life]
      // Without a parent, a record and its children are hidden too. The value that names it may arrive after the set.
      let isFound = old != nil && before == nil && after != nil
      if hasMoved, mayHideAny || isFound { familiesDirty.insert(key) }
    }
    if old?.life == true { count(key, kind, parent: before, by: -1) }
    if new.life == true { count(key, kind, parent: after, by: 1) }
    if let before, before != after {
      trips.changed(kind, before)
      mayBeHidden = mayBeHidden || mayHide(before)
    }
    if let after {
      trips.changed(kind, after)
      mayBeHidden = mayBeHidden || mayHide(after)
    }
  }

  /// Returns whether the children of a record may have been hidden before this batch.
  private func wasHidden(below parent: RecordKey?) -> Bool {
    guard let parent, mayHide(parent) else { return false }
    // A parent that dies in this batch, and has not come back to life in it, was alive before.
    let hasJustDied = deaths[parent] != nil && !revived.contains(parent)
    return !hasJustDied || schema.kind(parent.kind)?.parent != nil
  }

  private func noteDeath(_ key: RecordKey, from old: StoredRow?, to new: StoredRow) {
    if new.life == true {
      deaths[key] = nil
    } else if old?.life == true, let since = old?.stamps[Fields.life], let by = new.stamps[Fields.life] {
      deaths[key] = Death(since: since, by: by)
    }
  }

  private func count(_ key: RecordKey, _ kind: Kind, parent: RecordKey?, by change: Int) {
    // A record of a child kind without a parent is never visible, so no count includes it.
    guard (kind.parent == nil) == (parent == nil) else { return }
    liveChanges[ChildGroup(parent: parent, kind: key.kind), default: 0] += change
  }

  // MARK: End of a batch

  func finish(_ fold: Fold, _ report: inout CommitReport) throws {
    for key in familiesDirty { try addFamily(of: key, &report) }
    try hidden.update(hiddenDirty, fold)
    report.deaths = deaths
    for (group, change) in liveChanges where change != 0 {
      try addLive.bind(1, group.parent.map { Int($0.kind.rawValue) } ?? 0)
      let id = group.parent?.id.raw ?? .zero
      try addLive.bind(2, bigEndian: id.word0, id.word1)
      try addLive.bind(3, Int(group.kind.rawValue))
      try addLive.bind(4, change)
      try addLive.run()
    }
    try trips.update()
    forgetBatch()
  }

  /// Marks all descendants of a record as changed. A dead one is hidden by itself, and so are those below it, whatever
  /// happens above.
  private func addFamily(of key: RecordKey, _ report: inout CommitReport) throws {
    for child in schema.children(of: key.kind) {
      report.kinds.insert(child.number)
      guard let condition = child.belongs(to: key.kind) else { continue }
      let ids = try connection.with("SELECT id FROM \(child.table) WHERE \(condition) AND life = 1") { row in
        try row.bind(1, bigEndian: key.id.raw.word0, key.id.raw.word1)
        var ids: [RecordID] = []
        while try row.step() {
          ids.append(try row.recordID(0))
        }
        return ids
      }
      for id in ids {
        let member = RecordKey(kind: child.number, id: id)
        hiddenDirty.insert(member)
        if schema.fileFields[child.number] != nil { report.owned.insert(member) }
        if schema.canHaveChildren(child.number) { try addFamily(of: member, &report) }
      }
    }
  }
}
