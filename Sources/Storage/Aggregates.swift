// Protocol/store.md, "What is derived"

import Records
import Replication
import SQLite
import Wire

/// What is kept about records so that no command counts or sums over all of them: brought up to date once a
/// batch, for what the batch changed.
final class Aggregates {
  private let connection: Connection
  private let hidden: HiddenWrites
  private let trips: TripSummaries
  private let addLive: Statement
  /// Dead records that can have children, of all kinds.
  private var dead: Set<RecordKey> = []
  private var liveChanges: [ChildGroup: Int] = [:]
  /// Records of which the hidden writes may have changed.
  private var hiddenDirty: Set<RecordKey> = []
  /// Records that died or came back: their children's hidden writes and visibility may have changed.
  private var familiesDirty: Set<RecordKey> = []

  /// The children of one kind that a record has; without a parent, all records of a kind that has none.
  private struct ChildGroup: Hashable {
    let parent: RecordKey?
    let kind: KindNumber
  }

  init(_ connection: Connection) throws {
    self.connection = connection
    hidden = try HiddenWrites(connection)
    trips = try TripSummaries(connection)
    addLive = try connection.prepare(
      """
      INSERT INTO child_counts(parent_kind, parent, kind, live) VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT DO UPDATE SET live = live + excluded.live
      """)
    try reload()
  }

  func reload() throws {
    dead = []
    liveChanges = [:]
    hiddenDirty = []
    familiesDirty = []
    trips.forget()
    for kind in Registry.kinds where !kind.childKinds.isEmpty {
      try connection.with("SELECT id FROM \(kind.table) WHERE life = 0") { row in
        while try row.step() {
          guard let id = RecordID(bytes: row.bytes(0)) else { throw StoreError.damaged("the id of a record") }
          dead.insert(RecordKey(kind: kind.number, id: id))
        }
      }
    }
  }

  // MARK: One record

  func inserted(_ key: RecordKey, _ kind: Kind, parent: RecordKey?) {
    count(key, kind, parent: parent, by: 1)
    if let parent {
      trips.changed(kind, parent)
      if !dead.isEmpty, dead.contains(parent) { hiddenDirty.insert(key) }
    }
  }

  func changed(_ key: RecordKey, _ kind: Kind?, from old: StoredRow?, to new: StoredRow) {
    let wasDead = old?.life == false
    let isDead = new.life == false
    if wasDead || isDead { hiddenDirty.insert(key) }
    guard let kind else { return }
    if isDead != wasDead, !kind.childKinds.isEmpty {
      if isDead { dead.insert(key) } else { dead.remove(key) }
    }
    if wasDead || isDead, old?.stamps[Fields.life] != new.stamps[Fields.life], !kind.childKinds.isEmpty {
      familiesDirty.insert(key)
    }
    let before = parent(old, kind)
    let after = parent(new, kind)
    if old?.life == true { count(key, kind, parent: before, by: -1) }
    if new.life == true { count(key, kind, parent: after, by: 1) }
    for parent in [before, after] {
      guard let parent else { continue }
      trips.changed(kind, parent)
      if dead.contains(parent) { hiddenDirty.insert(key) }
    }
  }

  private func parent(_ row: StoredRow?, _ kind: Kind) -> RecordKey? {
    guard let field = kind.parent, let content = row?.contents[field] else { return nil }
    return kind.parentKey(content[...])
  }

  private func count(_ key: RecordKey, _ kind: Kind, parent: RecordKey?, by change: Int) {
    // A child without a parent is never visible, so it is in no count.
    guard (kind.parent == nil) == (parent == nil) else { return }
    liveChanges[ChildGroup(parent: parent, kind: key.kind), default: 0] += change
  }

  // MARK: End of a batch

  func finish(_ fold: Fold, _ report: inout CommitReport) throws {
    for key in familiesDirty { try addChildren(of: key, &report) }
    for key in hiddenDirty { try hidden.update(key, fold) }
    for (group, change) in liveChanges where change != 0 {
      try addLive.bind(1, group.parent.map { Int($0.kind.rawValue) } ?? 0)
      let id = group.parent?.id.raw ?? .zero
      try addLive.bind(2, bigEndian: id.word0, id.word1)
      try addLive.bind(3, Int(group.kind.rawValue))
      try addLive.bind(4, change)
      try addLive.run()
    }
    try trips.update()
    liveChanges = [:]
    hiddenDirty = []
    familiesDirty = []
  }

  private func addChildren(of key: RecordKey, _ report: inout CommitReport) throws {
    guard let kind = Registry.kind(key.kind) else { return }
    for child in kind.childKinds {
      report.kinds.insert(child.number)
      report.kinds.formUnion(child.childKinds.map(\.number))
      guard let columns = child.parentColumns else { continue }
      let ofKind = columns.kind.map { " AND \($0) = \(key.kind.rawValue)" } ?? ""
      try connection.with("SELECT id FROM \(child.table) WHERE \(columns.id) = ?1\(ofKind)") { row in
        try row.bind(1, bigEndian: key.id.raw.word0, key.id.raw.word1)
        while try row.step() {
          guard let id = RecordID(bytes: row.bytes(0)) else { throw StoreError.damaged("the id of a record") }
          hiddenDirty.insert(RecordKey(kind: child.number, id: id))
        }
      }
    }
  }
}
