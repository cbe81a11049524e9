import Foundation
import LogStorage
import Records
import SQLite
import Testing
import Wire

@testable import RecordTables
@testable import Replication
@testable import Storage

/// The list of conflicts compared with its definition, computed from the log: every world of three replicas and a few
/// operations, folded by the store in every causal order.
///
/// With `WAYMARK_SMALL_WORLD=full` in the environment all worlds are folded (use a release build), otherwise a part.
@Suite struct JournalWorldTests {
  private static let isFull = ProcessInfo.processInfo.environment["WAYMARK_SMALL_WORLD"] == "full"

  /// What one replica does first, what all do then, and how many operations.
  struct Scene: Sendable, CustomTestStringConvertible {
    let name: String
    var beginning: [Action] = []
    let actions: [Action]
    var operations = 3
    /// A short run folds one world in this many.
    let every: Int

    var testDescription: String { name }
  }

  static let scenes = [
    Scene(
      name: "fields of one record", beginning: [.insert],
      actions: [.editName, .sameName, .emptyName, .editNotes], every: 149),
    Scene(
      name: "life", beginning: [.insert], actions: [.delete, .restore, .editName, .putAndRestore], every: 151),
    Scene(
      name: "life of one id from two devices", actions: [.insert, .delete, .restore, .editName], every: 157),
    Scene(
      name: "a family", beginning: [.settle],
      actions: [.delete, .restore, .moveChild, .deleteChild, .editGrandchild], every: 199),
    Scene(
      name: "late relations", beginning: [.deleteOtherTrip],
      actions: [.insertGrandchild, .insertChild, .moveChild, .delete, .insert], every: 197),
    Scene(name: "a move", beginning: [.settle], actions: [.delete, .moveChild, .editGrandchild], every: 17),
    Scene(
      name: "late children", beginning: [.settle],
      actions: [.delete, .restoreChild, .deleteChild, .deleteOtherTrip, .editChild, .moveChild], every: 397),
    Scene(name: "profile", actions: [.oldProfile, .newProfile, .futureProfile, .sameProfile], every: 151),
    Scene(name: "equal profiles", actions: [.newProfile, .sameProfile], every: 7),
    Scene(
      name: "an unknown kind", beginning: [.insertStrange],
      actions: [.editStrange, .deleteStrange, .insertStrange], every: 61),
    Scene(
      name: "deletions", beginning: [.insert], actions: [.delete, .putAndRestore], operations: 4, every: 97),
    Scene(name: "profiles", actions: [.oldProfile, .newProfile], operations: 4, every: 97),
    Scene(
      name: "an erased record", beginning: [.insert], actions: [.erase, .editName, .putAndErase, .delete],
      every: 151),
    Scene(
      name: "an erased record that lives again", beginning: [.insert],
      actions: [.erase, .restore, .insertAndErase, .editName], every: 157),
    Scene(
      name: "absent values", beginning: [.insert], actions: [.absentName, .editName, .emptyName, .erase],
      every: 149),
    Scene(
      name: "an erased family", beginning: [.settle],
      actions: [.erase, .eraseChild, .restoreChild, .moveChild, .editGrandchild], every: 199),
    Scene(
      name: "erased profiles",
      actions: [.oldProfile, .newProfile, .eraseProfile, .putAndEraseProfile, .absentProfile], every: 211),
    Scene(
      name: "erased and unknown", beginning: [.insertStrange],
      actions: [.editStrange, .eraseStrange, .insertStrange], every: 61),
    Scene(name: "None", actions: [.editNone, .renameNone, .eraseNone], every: 61),
  ]

  @Test(arguments: scenes)
  func `the journal agrees with the log in every order`(scene: Scene) throws {
    var worlds = 0
    var plans: [Plan] = []
    Plan.each(operations: scene.operations, after: scene.beginning, scene.actions) { plan in
      worlds += 1
      if Self.isFull || worlds % scene.every == 0 { plans.append(plan) }
    }
    #expect(plans.count > 20)
    let store = try Store.inMemory()
    var conflicts = 0
    for plan in plans {
      let sets = try plan.sets()
      let expected = JournalOracle(plan, sets).lines
      conflicts += expected.count
      try World(sets).eachOrder { order in
        try store.forgetAll()
        for index in order {
          _ = try store.commit([sets[index]], horizon: Clock(milliseconds: 1 << 46))
        }
        let lines = Set(try store.conflicts().map(\.line))
        let count = try store.conflictCount()
        #expect(lines == expected, "\(plan) folded in the order \(order)")
        #expect(count == expected.count, "\(plan) folded in the order \(order)")
      }
    }
    // A scene without conflicts would prove nothing.
    #expect(conflicts > plans.count / 10)
  }
}

/// The conflicts as Protocol/merge.md defines them, computed from all operations at once and their causal pasts.
private struct JournalOracle {
  private struct Write {
    let set: Int
    let stamp: Stamp
    let content: Value
    var rank: WholeRecordRank?
  }

  private let plan: Plan
  private var cells: [Cell: [Write]] = [:]
  /// The sets that erased each record.
  private var erases: [RecordKey: [Int]] = [:]

  init(_ plan: Plan, _ sets: [VerifiedChangeSet]) {
    self.plan = plan
    for (index, action) in plan.actions.enumerated() {
      for draft in action.drafts(index) where draft.type == .erase {
        erases[draft.key, default: []].append(index)
      }
    }
    for (index, set) in sets.enumerated() {
      let drafts = plan.actions[index].drafts(index)
      for draft in drafts { add(draft, among: drafts, index, set.stamp) }
    }
  }

  private mutating func add(_ draft: EntryDraft, among drafts: [EntryDraft], _ set: Int, _ stamp: Stamp) {
    let isAbsent = plan.actions[set].isAbsent || isErased(draft.key, in: set)
    if draft.key.kind.mergeClass == .wholeRecord {
      guard case .integer(let updatedAt)? = draft.fields.first?.value else { return }
      var write = Write(set: set, stamp: stamp, content: isAbsent ? .null : draft.fields[1].value)
      write.rank = WholeRecordRank(updatedAt: updatedAt, nonEmptyFields: 2, stamp: stamp)
      cells[Cell(record: draft.key, field: 0), default: []].append(write)
      return
    }
    for (field, value) in draft.cells(among: drafts) where !FixedRecords.isFixed(draft.key, field) {
      let content = isAbsent && field != Fields.life ? .null : value
      cells[Cell(record: draft.key, field: field), default: []].append(
        Write(set: set, stamp: stamp, content: content))
    }
  }

  /// Whether an erase of a record, in another set, has seen what a set wrote to the record.
  private func isErased(_ record: RecordKey, in set: Int) -> Bool {
    erases[record, default: []].contains { $0 != set && hasSeen($0, set) }
  }

  private func hasSeen(_ later: Int, _ earlier: Int) -> Bool {
    plan.seen[later] >> UInt64(earlier) & 1 == 1
  }

  /// The maximal writes, without those erased ones that are not shown.
  private func maximal(_ cell: Cell) -> [Write] {
    let writes = cells[cell] ?? []
    let winner = winner(cell)?.set
    return writes.filter { one in
      !writes.contains { hasSeen($0.set, one.set) }
        && (one.set == winner || !isErased(cell.record, in: one.set))
    }
  }

  private func winner(_ cell: Cell) -> Write? {
    cells[cell]?.max { left, right in
      if let one = left.rank, let other = right.rank { return one < other }
      return left.stamp < right.stamp
    }
  }

  var lines: Set<String> {
    var lines: Set<String> = []
    for cell in cells.keys { if let line = contentLine(cell) { lines.insert(line) } }
    for record in Set(cells.keys.map(\.record)) { if let line = deletionLine(record) { lines.insert(line) } }
    return lines
  }

  private func contentLine(_ cell: Cell) -> String? {
    guard let winner = winner(cell), winner.content != .bool(false) || cell.field != 0 else { return nil }
    let maximal = maximal(cell)
    guard Set(maximal.map(\.content)).count > 1 else { return nil }
    let losers = maximal.filter { $0.set != winner.set && $0.content != winner.content }.map(\.stamp)
    let isWhole = winner.rank != nil
    return line(
      isWhole ? .profile : .field, cell.record, isWhole ? nil : cell.field, winner.stamp, losers, nil)
  }

  private func deletionLine(_ record: RecordKey) -> String? {
    guard let (hidingRecord, deletion) = hiding(record) else { return nil }
    let writes = cells.keys.filter { $0.record == record }.flatMap { cell in
      maximal(cell).filter { cell.field != 0 || $0.content == .bool(true) }
    }
    let lost = writes.filter {
      $0.set != deletion.set && !hasSeen($0.set, deletion.set) && !hasSeen(deletion.set, $0.set)
    }
    guard !lost.isEmpty else { return nil }
    return line(
      hidingRecord == record ? .editLostToDelete : .hiddenByParent, record, nil, deletion.stamp,
      lost.map(\.stamp), hidingRecord)
  }

  /// The nearest deleted ancestor.
  private func hiding(_ record: RecordKey) -> (RecordKey, Write)? {
    guard record.kind.mergeClass == .fieldByField, let life = winner(Cell(record: record, field: 0)) else {
      return nil
    }
    guard life.content == .bool(true) else { return (record, life) }
    guard let value = winner(Cell(record: record, field: 1))?.content else { return nil }
    switch (record.kind, value) {
    case (Action.child.kind, .bytes(let id)):
      return RecordID(bytes: id).flatMap { hiding(RecordKey(kind: Action.trip.kind, id: $0)) }
    case (Action.grandchild.kind, .array): return hiding(Action.child)
    default: return nil
    }
  }
}

extension MergeVectors.History {
  /// The journal in the notation of the vectors.
  func conflictLines(_ sets: [VerifiedChangeSet]) throws -> Set<String> {
    Set(
      try conflicts.map { row in
        let reason = try #require(Conflict.Reason(rawValue: row.reason))
        return line(
          reason, try recordKey(row.kind, row.record), row.field, sets[row.winner].stamp,
          row.losers.map { sets[$0].stamp }, try row.hiddenBy.map { try recordKey($0.kind, $0.record) })
      })
  }
}

private func line(
  _ reason: Conflict.Reason, _ record: RecordKey, _ field: FieldNumber?, _ winner: Stamp, _ losers: [Stamp],
  _ hiding: RecordKey?
) -> String {
  let lost = Set(losers.map { "\($0.set)" }).sorted()
  let above = hiding.map { "\($0.kind.rawValue) \($0.id)" } ?? "-"
  return "\(reason) \(record.kind.rawValue) \(record.id) \(field ?? 0) \(winner.set) \(lost) \(above)"
}

extension Conflict {
  /// Everything reported of a conflict, except the values.
  var line: String {
    ReplicationTests.line(reason, record, field, winner.stamp, losers.map(\.stamp), hiddenBy)
  }
}

extension Store {
  /// Empties a store, which is much faster than creating one.
  func forgetAll() throws {
    try connection.transaction {
      for table in try Self.tables(connection) { try connection.execute("DELETE FROM \(table)") }
      // A text index without content of its own is emptied by a command.
      try connection.execute("INSERT INTO text_index(text_index) VALUES ('delete-all')")
      try Derived.seed(connection)
    }
    declared = nil
    setCache = SetCache()
    try logs.reload()
    try fold.reload()
  }

  private static func tables(_ connection: Connection) throws -> [String] {
    let sql = """
      SELECT name FROM sqlite_schema
      WHERE type = 'table' AND name NOT IN ('meta', 'statements') AND name NOT LIKE 'sqlite_%'
        AND name NOT GLOB 'text_index*' AND name <> 'text_terms'
      """
    return try connection.with(sql) { row in
      var names: [String] = []
      while try row.step() { names.append(row.text(0)) }
      return names
    }
  }
}
