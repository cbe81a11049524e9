// Protocol/merge.md, "Operations and undo"
//
// Undoing an operation O sets every cell that O wrote to the value it would have if O had never been made. The group of
// an operation is the operation itself, the undos of it, the undos of these, and so on. An operation is in effect
// unless an undo that is in effect targets it.
//
// For each cell that O wrote, except fixed cells, the write that the cell shows decides:
//
//   the cell shows a write …                       then
//   1  of the group of O                           the cell gets its value without that group
//   2  of the group of an operation that is        ignore the writes of that group and look again
//      undone, and shows the same without it
//   3  of anything else                            changed since. If the cell has the value from before O,
//                                                  nothing to do; otherwise it is left alone and reported,
//                                                  or, if forced, set to that value
//
// Example: writes of one cell, oldest first. B is undone although C was written and undone after it:
//
//   A "Rome"    B "Roma"    C "Paris"    undo of C "Roma"
//
//   undo B:  the cell shows the undo of C. Its group, C and the undo of C, has no effect, and without it the cell
//            still shows "Roma" (rule 2). Now it shows B (rule 1): without B it is "Rome".
//   undo B, if C were still in effect:  the cell shows C, so it was changed since (rule 3).
//
// Rule 2 lets a user go back step by step, past changes that were made and undone in the meantime.
//
// Then each record as a whole: one that O created goes to the trash and keeps its fields there. It is kept alive and
// reported, unless forced, if others need it: a living record belongs to it, or (organizations and categories) a
// visible record refers to it, that O did not write and that does not go as well. The parents of a kept record are
// kept too (`inUse`).
//
// The differences between what the records hold and the result are written as one operation `undo` with O as its
// target. Devices that know nothing of undo fold it like any other.

import Model
import Records
import Replication
import Storage
import Wire

/// The entries that undo an operation, and the changes that it leaves alone.
struct UndoPlan {
  private(set) var change: ChangePlan
  private(set) var left: [LeftAlone] = []

  /// Whether there is nothing to undo, not even if forced.
  var isEmpty: Bool { change.drafts.isEmpty && left.isEmpty }

  /// A change that is not undone because others changed or use the record.
  struct LeftAlone {
    enum Reason {
      /// Another write shows now; the fields are those of the operation that do not show.
      case changedSince([FieldNumber], by: SetPosition)
      /// Other records belong to this one, which the operation created, or refer to it.
      case usedBy([RecordKey])
    }

    let record: RecordKey
    let reason: Reason
  }

  /// - Parameters:
  ///   - isForced: also undoes what was changed since, and records that others use.
  ///   - pace: when to yield. If the store changes in a break, the plan is out of date.
  init(
    of operation: Operation, in store: Store, isForced: Bool, now: Moment, _ pace: Pace
  ) async throws {
    let undoing = try Undoing(operation, store, pace)
    change = ChangePlan(now: now)
    var records: [(key: RecordKey, held: RecordState, wanted: WantedRecord)] = []
    for (record, fields) in try await undoing.writtenFields() {
      let held = try store.state(of: record)
      let (wanted, changed) = try await undoing.wanted(record, fields, held, isForced: isForced)
      if let changed { left.append(changed) }
      records.append((record, held, wanted))
      try await pace.step()
    }
    let trashed = Set(records.filter { $0.held.life == true && !$0.wanted.isAlive }.map(\.key))
    let kept = isForced ? [:] : try await undoing.inUse(trashed, written: Set(records.map(\.key)))
    // For a record that goes to the trash, nothing is left alone.
    left.removeAll { trashed.contains($0.record) && kept[$0.record] == nil }
    for (record, held, wanted) in records {
      if let users = kept[record] {
        left.append(LeftAlone(record: record, reason: .usedBy(users)))
      } else {
        try change.bring(record, from: held, to: wanted)
      }
      try await pace.step()
    }
    left.sort { $0.record < $1.record }
  }
}

/// Computes, record by record, the state without an operation.
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

  /// The fields that the operation wrote, by record; fixed fields are left out.
  func writtenFields() async throws -> [(RecordKey, Set<FieldNumber>)] {
    var written: [RecordKey: Set<FieldNumber>] = [:]
    for set in operation.sets {
      try store.forEachEntry(of: [set]) { entry, body, _ in
        let isWhole = entry.key.kind.mergeClass == .wholeRecord
        let fields =
          entry.type != .put || isWhole ? [Fields.life] : body.cells[entry.cells].map(\.field)
        let counted = fields.filter { isWhole ? entry.type == .put : !FixedRecords.isFixed(entry.key, $0) }
        if !counted.isEmpty { written[entry.key, default: []].formUnion(counted) }
      }
      try await pace.step()
    }
    return written.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  func wanted(
    _ record: RecordKey, _ fields: Set<FieldNumber>, _ held: RecordState, isForced: Bool
  ) async throws -> (WantedRecord, UndoPlan.LeftAlone?) {
    let states = RecordStates(record, held, store, pace)
    var known: RecordState?
    func before() async throws -> RecordState {
      if let known { return known }
      let state = try await stateBefore(record)
      known = state
      return state
    }
    var cells = held.cells
    var changed: [FieldNumber] = []
    for field in fields.sorted() where held.cells[field] != nil {
      if let without = try await states.without(group, field, groups) {
        take(field, of: record, from: without, into: &cells)
      } else if !states.showsSame(before: try await before(), field) {
        changed.append(field)
        if isForced { take(field, of: record, from: try await before(), into: &cells) }
      }
    }
    let wanted = wanted(record, held, cells)
    guard let first = changed.first, let author = held.cells[first]?.author, !isForced else {
      return (wanted, nil)
    }
    return (wanted, UndoPlan.LeftAlone(record: record, reason: .changedSince(changed, by: author)))
  }

  /// The state that a record should get. If nothing else has inserted it, it keeps its fields in the trash. Content
  /// records stay alive, because other records may share their bytes.
  private func wanted(
    _ record: RecordKey, _ held: RecordState, _ cells: [FieldNumber: RecordState.Cell]
  ) -> WantedRecord {
    let isAlive = cells[Fields.life]?.content == Self.alive
    if held.life == true, !isAlive, record.kind == KindNumbers.content { return WantedRecord(held) }
    let isWhole = record.kind.mergeClass == .wholeRecord
    let isCreated = !isWhole && held.life == true && cells[Fields.life] == nil
    let shown = isCreated ? held.cells : cells
    return WantedRecord(
      isAlive: isAlive, contents: shown.filter { $0.key != Fields.life }.mapValues(\.content))
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

  /// The state that the author of the operation saw.
  private func stateBefore(_ record: RecordKey) async throws -> RecordState {
    let places = try store.writeNumbers(of: record).filter(own.contains).map(store.place)
    guard let place = places.min(by: { $0.origin.stamp < $1.origin.stamp }) else {
      return try store.state(of: record) { _ in false }
    }
    return try await store.state(of: record, pace) {
      try !own.contains($0.origin.number) && store.covers(place, $0)
    }
  }

  private static let alive = Value.bool(true).encoded

  // MARK: Records in use

  /// Those of the records to be deleted that have living children, or are referred to, by records that are not
  /// deleted with them and were not written by the operation; with these users.
  func inUse(_ trashed: Set<RecordKey>, written: Set<RecordKey>) async throws -> [RecordKey: [RecordKey]] {
    var users: [RecordKey: [RecordKey]] = try references(to: trashed, written)
    var parents: [RecordKey: [RecordKey]] = [:]
    for record in trashed {
      for child in try store.livingChildren(of: record) {
        if trashed.contains(child) {
          parents[child, default: []].append(record)
        } else if !written.contains(child) {
          users[record, default: []].append(child)
        }
      }
      try await pace.step()
    }
    // A record that stays keeps its parents.
    var waiting = Array(users.keys)
    while let stays = waiting.popLast() {
      for parent in parents[stays] ?? [] {
        if users[parent] == nil { waiting.append(parent) }
        users[parent, default: []].append(stays)
      }
    }
    return users.mapValues { $0.sorted() }
  }

  /// Visible records of others that refer to organizations and categories to be deleted.
  private func references(
    to trashed: Set<RecordKey>, _ written: Set<RecordKey>
  ) throws -> [RecordKey: [RecordKey]] {
    var users: [RecordKey: [RecordKey]] = [:]
    for kind in Registry.kinds {
      let fields = kind.fields.filter { field in
        field.type.referredKind.map { referred in trashed.contains { $0.kind == referred } } ?? false
      }
      guard !fields.isEmpty else { continue }
      try store.forEach(RecordQuery(kind.number)) { row in
        guard !written.contains(row.key) else { return }
        for field in fields {
          guard let target = field.type.target(of: row[field.number]), trashed.contains(target) else {
            continue
          }
          users[target, default: []].append(row.key)
        }
      }
    }
    return users
  }
}

extension FieldType {
  /// The kind that a field refers to without belonging to it: an organization or a category.
  fileprivate var referredKind: KindNumber? {
    switch self {
    case .reference(FixedRecords.organization): FixedRecords.organization
    case .keyReference(let kind): kind
    default: nil
    }
  }

  fileprivate func target(of value: Value?) -> RecordKey? {
    switch self {
    case .reference(let kind): value?.asRecordID.map { RecordKey(kind: kind, id: $0) }
    case .keyReference(let number):
      value?.asText.flatMap { key in
        Registry.kind(number).map { RecordKey(kind: number, id: RecordID(kind: $0, key: key)) }
      }
    default: nil
    }
  }
}
