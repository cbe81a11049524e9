// Protocol/merge.md, "Operations and undo"
//
// Undoing an operation O sets every cell that O wrote to the value that the cell would have if O had never been made.
// The group of an operation consists of the operation itself, its undos, the undos of those, and so on. An operation is
// in effect unless an undo that is in effect targets it.
//
// For each cell that O wrote, except fixed cells, the write that the cell currently displays decides what happens:
//
//   the displayed write belongs to …               then
//   1  the group of O                              the cell gets the value that it has without that group
//   2  the group of an operation that is undone,   the writes of that group are ignored, and the write that the
//      and the cell displays the same without it   cell displays without them decides
//   3  anything else                               the cell was changed since. If it has its value from before O,
//                                                  there is nothing to do. Otherwise the cell is left alone and
//                                                  reported or, if forced, set to that value
//
// Example: the writes of one cell, oldest first. B is undone although C was written and undone after it:
//
//   A "Rome"    B "Roma"    C "Paris"    undo of C "Roma"
//
//   undo B:  the cell displays the undo of C. The group of C (C and the undo of C) has no effect, and without that
//            group the cell still displays "Roma" (rule 2). Then the displayed write is B (rule 1), and without B
//            the cell is "Rome".
//   undo B, if C were still in effect:  the cell displays C, so the cell was changed since (rule 3).
//
// Rule 2 lets a user go back step by step, past changes that were made and undone in the meantime.
//
// If the value that a cell would get was erased, the cell is left alone and reported, even if the undo is forced: null
// was not its value, so writing null would lose the value that it has now without restoring another. A record that O
// erased is left alone altogether and reported: nothing of it can be restored.
//
// Then each record is considered as a whole. A record that O created, because nothing outside of the group made it alive,
// goes to the trash or stays there, and keeps its fields.
// Unless the undo is forced, the record is kept alive and reported instead if another record needs it: if a living
// record belongs to it or, for organizations and categories, if a visible record refers to it. Records that O wrote, or
// that go to the trash as well, don't count as needing it. The parents of a kept record are kept too (`inUse`).
//
// The differences between the current and the resulting records are written as one operation with the verb `undo` and O
// as its target. Devices that don't implement undo fold it like any other operation.

import LogStorage
import Model
import Records
import Replication
import Storage
import Wire

/// The entries that undo an operation, and the changes that the undo leaves alone.
struct UndoPlan {
  private(set) var change: ChangePlan
  private(set) var left: [LeftAlone] = []
  /// The records that a resolution of conflicts wrote to; empty for any other operation.
  private(set) var outcomes: [Outcome] = []

  /// A record that the operation wrote to: the fields that it wrote, and the state of the record after the undo.
  struct Outcome {
    let record: RecordKey
    let fields: Set<FieldNumber>
    let state: WantedRecord
  }

  /// Whether there is nothing to undo, even if forced.
  var isEmpty: Bool { change.drafts.isEmpty && left.isEmpty }

  /// A change that is not undone, because the record was changed since or because other records use it.
  struct LeftAlone {
    enum Reason {
      /// Other writes are displayed now. The fields are those whose values from the operation are no longer displayed,
      /// and `by` is the position of the write that the first of these fields displays.
      case changedSince([FieldNumber], by: SetPosition)
      /// The former values of these fields are absent. If there are no fields, the operation itself erased the record.
      /// `by` is the newest erase of the record; nil if it was never erased.
      case erased([FieldNumber], by: Erasure?)
      /// Other records belong or refer to this record, which the operation created.
      case usedBy([RecordKey])
    }

    let record: RecordKey
    let reason: Reason
  }

  /// - Parameters:
  ///   - isForced: whether to also undo fields that were changed since, and the creation of records that others use.
  ///   - pace: decides when to yield. If the store changes during a yield, the plan is out of date.
  init(
    of operation: Operation, in store: Store, isForced: Bool, now: Moment, _ pace: Pace
  ) async throws {
    let undoing = try Undoing(operation, store, pace)
    change = ChangePlan(now: now)
    // A large operation writes to very many records, so only what changes is kept of each.
    var records: [(key: RecordKey, change: ChangePlan, isTrashed: Bool)] = []
    let (written, erased) = try await undoing.writtenFields()
    for record in erased {
      left.append(LeftAlone(record: record, reason: .erased([], by: try store.erasure(of: record))))
    }
    for batch in stride(from: 0, to: written.count, by: Self.batchMax) {
      let batch = written[batch..<min(batch + Self.batchMax, written.count)]
      let read = try store.snapshot { try batch.map { try undoing.read($0.0, $0.1) } }
      for (reading, (record, fields)) in zip(read, batch) {
        var change = ChangePlan(now: now)
        switch reading {
        case .created(let isAlive):
          if isAlive { change.delete(record) }
          records.append((record, change, isAlive))
        case .written(let held, let numbers):
          let (wanted, left) = try await undoing.wanted(record, fields, held, numbers, isForced: isForced)
          self.left += left
          try change.bring(record, from: held, to: wanted)
          records.append((record, change, held.life == true && !wanted.isAlive))
          if operation.verb == Operation.resolutionVerb {
            outcomes.append(Outcome(record: record, fields: Set(fields), state: wanted))
          }
        }
        try await pace.step()
      }
    }
    let trashed = Set(records.filter(\.isTrashed).map(\.key))
    let kept = isForced ? [:] : try await undoing.inUse(trashed, written: Set(records.map(\.key)))
    // A record that goes to the trash is undone as a whole, so none of its changes are reported as left alone.
    left.removeAll { trashed.contains($0.record) && kept[$0.record] == nil }
    for (record, planned, _) in records {
      if let users = kept[record] {
        left.append(LeftAlone(record: record, reason: .usedBy(users)))
      } else {
        change.add(planned)
      }
    }
    left.sort { $0.record < $1.record }
  }

  /// How many records are read in one snapshot, so that the database is locked less often.
  private static let batchMax = 128
}

/// Computes, record by record, the state that the store would have without an operation.
private struct Undoing {
  private let store: Store
  private let operation: Operation
  private let own: Set<Int64>
  private let groups: UndoGroups
  private let group: Set<Int64>
  private let pace: Pace

  init(_ operation: Operation, _ store: Store, _ pace: Pace) throws {
    self.store = store
    self.pace = pace
    self.operation = operation
    own = operation.numbers
    groups = UndoGroups(store)
    group = try groups.sets(of: operation)
  }

  /// Returns the fields that the operation wrote, in ascending order, by record, and the records that it erased; fixed
  /// fields and the fields of erased records are left out.
  func writtenFields() async throws -> (written: [(RecordKey, [FieldNumber])], erased: Set<RecordKey>) {
    var found: [(key: RecordKey, fields: [FieldNumber])] = []
    var erased: Set<RecordKey> = []
    for set in operation.sets {
      try store.forEachEntry(of: [set]) { entry, body, _ in
        let fields = Self.fields(writtenBy: entry, in: body)
        if let last = found.last, last.fields == fields {
          // Most entries of a large operation write the same fields, and share one array.
          found.append((entry.key, last.fields))
        } else if !fields.isEmpty {
          found.append((entry.key, fields))
        }
        if entry.type == .erase { erased.insert(entry.key) }
      }
      try await pace.step()
    }
    found.sort { $0.key < $1.key }
    var written: [(RecordKey, [FieldNumber])] = []
    for (key, fields) in found where !erased.contains(key) {
      if let last = written.last, last.0 == key {
        written[written.count - 1].1 = Set(last.1).union(fields).sorted()
      } else {
        written.append((key, fields))
      }
    }
    return (written, erased)
  }

  /// Returns the fields that an entry wrote, except fixed ones. A whole record counts as one field, its life.
  private static func fields(writtenBy entry: Entry, in body: ChangeSetBody) -> [FieldNumber] {
    if entry.key.kind.mergeClass == .wholeRecord { return entry.type.writesFields ? [Fields.life] : [] }
    let life = body.life(writtenBy: entry) == nil ? [] : [Fields.life]
    // Cells are in the order of their fields, and the life comes before all others.
    return (life + body.cells[entry.cells].map(\.field)).filter { !FixedRecords.isFixed(entry.key, $0) }
  }

  /// A record as it is in the store.
  enum Reading {
    /// Only the group has ever written to the record, which therefore would not exist without it. Most records of an
    /// import are like that, so nothing else is read of them.
    case created(isAlive: Bool)
    /// Any other record, with the numbers of the sets that wrote to it.
    case written(RecordState, numbers: [Int64])
  }

  func read(_ record: RecordKey, _ fields: [FieldNumber]) throws -> Reading {
    if record.kind.mergeClass == .fieldByField, operation.verb != Operation.resolutionVerb,
      fields.contains(Fields.life), let isAlive = try store.isAlive(record, ifOnlyWrittenBy: group)
    {
      return .created(isAlive: isAlive)
    }
    let (held, numbers) = try store.stateAndWriteNumbers(of: record)
    return .written(held, numbers: numbers)
  }

  /// Returns the state that a record should get, and which changes to it are left alone.
  func wanted(
    _ record: RecordKey, _ fields: [FieldNumber], _ held: RecordState, _ numbers: [Int64], isForced: Bool
  ) async throws -> (WantedRecord, [UndoPlan.LeftAlone]) {
    let states = RecordStates(record, held, numbers, store, pace)
    var known: RecordState?
    func before() async throws -> RecordState {
      if let known { return known }
      let state = try await stateBefore(record)
      known = state
      return state
    }
    var cells = held.cells
    var changed: [FieldNumber] = []
    var erased: [FieldNumber] = []
    for field in fields where held.cells[field] != nil {
      if let without = try await states.without(group, field, groups) {
        if !Self.isAbsent(field, of: record, in: without) {
          take(field, of: record, from: without, into: &cells)
        } else if !states.showsSame(before: without, field) {
          erased.append(field)
        }
      } else if !states.showsSame(before: try await before(), field) {
        if Self.isAbsent(field, of: record, in: try await before()) {
          erased.append(field)
        } else {
          changed.append(field)
          if isForced { take(field, of: record, from: try await before(), into: &cells) }
        }
      }
    }
    let isCreated =
      fields.contains(Fields.life) && cells[Fields.life]?.content != RecordStates.alive
      ? try await states.isAlive(onlyThrough: group) : false
    let wanted = WantedRecord(
      isAlive: cells[Fields.life]?.content == RecordStates.alive,
      contents: (isCreated ? held.cells : cells).filter { $0.key != Fields.life }.mapValues(\.content))
    // The record is in the trash already.
    if isCreated, held.life != true { return (wanted, []) }
    var left: [UndoPlan.LeftAlone] = []
    if let first = changed.first, let author = held.cells[first]?.author, !isForced {
      left.append(UndoPlan.LeftAlone(record: record, reason: .changedSince(changed, by: author)))
    }
    if !erased.isEmpty {
      left.append(
        UndoPlan.LeftAlone(record: record, reason: .erased(erased, by: try store.erasure(of: record))))
    }
    return (wanted, left)
  }

  /// Whether the value that a cell has in a state is absent. The fields of a whole record are absent together.
  private static func isAbsent(_ field: FieldNumber, of record: RecordKey, in state: RecordState) -> Bool {
    record.kind.mergeClass == .wholeRecord
      ? state.cells.values.contains(where: \.isAbsent) : state.cells[field]?.isAbsent ?? false
  }

  private func take(
    _ field: FieldNumber, of record: RecordKey, from state: RecordState,
    into cells: inout [FieldNumber: RecordState.Cell]
  ) {
    if record.kind.mergeClass == .wholeRecord {
      cells = state.cells
    } else {
      cells[field] = state.cells[field]
    }
  }

  /// Returns the state of a record as the author of the operation saw it before the operation.
  private func stateBefore(_ record: RecordKey) async throws -> RecordState {
    let places = try store.writeNumbers(of: record).filter(own.contains).map(store.place)
    guard let place = places.min(by: { $0.origin.stamp < $1.origin.stamp }) else {
      return Store.seed(of: record)
    }
    return try await store.state(of: record, pace) {
      try !own.contains($0.origin.number) && store.covers(place, $0)
    }
  }

  // MARK: Records in use

  /// Returns those records to be deleted that are still in use, each with the records that use it.
  ///
  /// A record is used by its living children and by the records that refer to it, except those that the operation
  /// wrote or that are deleted as well. It is also used by children that are kept because they are in use
  /// themselves.
  func inUse(_ trashed: Set<RecordKey>, written: Set<RecordKey>) async throws -> [RecordKey: [RecordKey]] {
    var users: [RecordKey: [RecordKey]] = try references(to: trashed, written)
    for record in trashed where store.schema.canHaveChildren(record.kind) {
      for child in try store.livingChildren(of: record) where !written.contains(child) {
        users[record, default: []].append(child)
      }
      try await pace.step()
    }
    guard !users.isEmpty else { return [:] }
    // A record that is kept needs its parents, so they are in use too.
    var parents: [RecordKey: [RecordKey]] = [:]
    for record in trashed where store.schema.canHaveChildren(record.kind) {
      for child in try store.livingChildren(of: record) where trashed.contains(child) {
        parents[child, default: []].append(record)
      }
      try await pace.step()
    }
    var waiting = Array(users.keys)
    while let stays = waiting.popLast() {
      for parent in parents[stays] ?? [] {
        if users[parent] == nil { waiting.append(parent) }
        users[parent, default: []].append(stays)
      }
    }
    return users.mapValues { $0.sorted() }
  }

  /// Returns the visible records that refer to an organization or category to be deleted, by that organization or
  /// category. Records that the operation wrote are left out.
  private func references(
    to trashed: Set<RecordKey>, _ written: Set<RecordKey>
  ) throws -> [RecordKey: [RecordKey]] {
    var users: [RecordKey: [RecordKey]] = [:]
    for kind in store.schema.kinds {
      let fields = kind.fields.filter { field in
        field.type.usedKind.map { referred in trashed.contains { $0.kind == referred } } ?? false
      }
      guard !fields.isEmpty else { continue }
      try store.forEach(RecordQuery(kind.number)) { row in
        guard !written.contains(row.key) else { return }
        for field in fields {
          guard let target = field.type.used(in: row[field.number]), trashed.contains(target) else {
            continue
          }
          users[target, default: []].append(row.key)
        }
      }
    }
    return users
  }
}
