// Protocol/merge.md, "Operations and undo"

import Replication
import Storage
import Wire

/// Operations together with those that undid them, those that undid these, and so on: a group says no more than
/// whether its first operation counts.
final class UndoGroups {
  private let store: Store
  private var known: [OperationKey: Set<Int64>] = [:]
  private var void: [OperationKey: [Set<Int64>]] = [:]

  init(_ store: Store) { self.store = store }

  /// The sets of an operation and of all that grew from it.
  func sets(of operation: Operation) throws -> Set<Int64> {
    if let known = known[operation.key] { return known }
    var seen: Set<OperationKey> = [operation.key]
    var numbers = operation.numbers
    var waiting = [operation.key.id]
    while let next = waiting.popLast() {
      for undo in try store.undos(of: next) where seen.insert(undo.key).inserted {
        numbers.formUnion(undo.numbers)
        waiting.append(undo.key.id)
      }
    }
    known[operation.key] = numbers
    return numbers
  }

  /// The groups that a set is in and that count for nothing, because their first operation is undone; the widest
  /// first.
  func void(around place: SetPlace) throws -> [Set<Int64>] {
    guard place.origin.number != 0 else { return [] }
    let key = try store.operationKey(of: place)
    if let known = void[key] { return known }
    var chain: [Operation] = []
    var seen: Set<OperationKey> = []
    var waiting = try store.operation(key).map { [$0] } ?? []
    while let next = waiting.popLast() {
      guard seen.insert(next.key).inserted else { continue }
      chain.append(next)
      if let target = next.undone { waiting += try store.operations(named: target) }
    }
    let found = try chain.reversed().filter { try $0.undo(in: store) != nil }.map(sets)
    void[key] = found
    return found
  }
}

extension Operation {
  /// What it undoes, if that is what it is for.
  var undone: OperationID? { verb == Operation.undoVerb ? target : nil }

  /// The operation by which this one is undone now; nil if it counts.
  func undo(in store: Store) throws -> Operation? {
    var asked: Set<OperationKey> = [key]
    return try undo(in: store, &asked)
  }

  private func undo(in store: Store, _ asked: inout Set<OperationKey>) throws -> Operation? {
    for undo in try store.undos(of: key.id) where asked.insert(undo.key).inserted {
      if try undo.undo(in: store, &asked) == nil { return undo }
    }
    return nil
  }
}

/// What a record would be without some operations, cell by cell.
final class RecordStates {
  private let record: RecordKey
  private let held: RecordState
  private let store: Store
  private var known: [Set<Int64>: RecordState] = [:]

  init(_ record: RecordKey, _ held: RecordState, _ store: Store) {
    self.record = record
    self.held = held
    self.store = store
  }

  /// What the record would be without a group, if the group makes a cell show what it shows; nil if another
  /// write does.
  ///
  /// Above the group's write there may be others that were undone: they don't stand in its way as long as the
  /// cell shows the same without them.
  func without(_ group: Set<Int64>, _ field: FieldNumber, _ groups: UndoGroups) throws -> RecordState? {
    var left: Set<Int64> = []
    var state = held
    search: while let author = state.cells[cell(field)]?.author {
      if group.contains(author.origin.number) { return try self.state(left.union(group)) }
      for void in try groups.void(around: author) {
        let next = try self.state(left.union(void))
        guard isSame(state, next, field) else { continue }
        left.formUnion(void)
        state = next
        continue search
      }
      return nil
    }
    return nil
  }

  /// Whether a cell shows now what it showed before.
  func showsSame(before: RecordState, _ field: FieldNumber) -> Bool { isSame(held, before, field) }

  private var isWhole: Bool { record.kind.mergeClass == .wholeRecord }

  private func cell(_ field: FieldNumber) -> FieldNumber { isWhole ? Fields.life : field }

  private func state(_ left: Set<Int64>) throws -> RecordState {
    if let known = known[left] { return known }
    let state = try store.state(of: record) { !left.contains($0.origin.number) }
    known[left] = state
    return state
  }

  private func isSame(_ left: RecordState, _ right: RecordState, _ field: FieldNumber) -> Bool {
    if isWhole { return Self.shown(left) == Self.shown(right) }
    let nothing = (field == Fields.life ? Value.bool(false) : .null).encoded
    return left.cells[field]?.content ?? nothing == right.cells[field]?.content ?? nothing
  }

  /// A whole record without its time of change.
  private static func shown(_ state: RecordState) -> [FieldNumber: [UInt8]] {
    let null = Value.null.encoded
    return state.contents.filter { $0.key != Fields.wholeRecordUpdatedAt && $0.value != null }
  }
}
