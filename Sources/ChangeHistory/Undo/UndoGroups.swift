// Protocol/merge.md, "Operations and undo"

package import LogStorage
import Model
import Replication
package import Storage
import Wire

/// Groups each operation with its undos, the undos of those, and so on. A group as a whole only decides whether its
/// first operation is in effect. (See the top of UndoPlan.swift.)
final class UndoGroups {
  private let store: Store
  private var known: [OperationKey: Set<Int64>] = [:]
  private var void: [OperationKey: [Set<Int64>]] = [:]

  init(_ store: Store) { self.store = store }

  /// Returns the numbers of the sets in an operation's group.
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

  /// Of the groups that contain a set, returns those that have no effect because their first operation is undone, with
  /// the widest group first.
  func void(around place: SetPosition) throws -> [Set<Int64>] {
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
  /// The operation that this one undoes; nil if it is not an undo.
  var undone: OperationID? { verb == Operation.undoVerb ? target : nil }

  /// Returns the operation that currently undoes this one; nil if this one is in effect.
  ///
  /// The search is depth-first with an explicit stack, because a member can write an arbitrarily long chain of undos.
  package func undo(in store: Store) throws -> Operation? {
    var visited: Set<OperationKey> = [key]
    var path = [(operation: self, undos: try store.undos(of: key.id)[...])]
    while true {
      if let undo = path[path.count - 1].undos.popFirst() {
        guard visited.insert(undo.key).inserted else { continue }
        path.append((undo, try store.undos(of: undo.key.id)[...]))
      } else {
        // No operation undoes the last operation in the path. So that operation is in effect, and the operation before
        // it in the path is not.
        let undo = path.removeLast().operation
        guard !path.isEmpty else { return nil }
        path.removeLast()
        if path.isEmpty { return undo }
      }
    }
  }
}

/// Computes the state that a record would have without some operations, cell by cell.
final class RecordStates {
  private let record: RecordKey
  private let held: RecordState
  private let store: Store
  private let pace: Pace
  private var known: [Set<Int64>: RecordState] = [:]
  /// The numbers of the sets that wrote to the record.
  private let numbers: [Int64]
  /// The positions of these sets, newest first; nil until they are read on first use.
  private var places: [SetPosition]?

  init(_ record: RecordKey, _ held: RecordState, _ numbers: [Int64], _ store: Store, _ pace: Pace) {
    self.record = record
    self.held = held
    self.numbers = numbers
    self.store = store
    self.pace = pace
  }

  /// Returns the state of the record without a group, provided that the cell currently displays a write of that group;
  /// nil if the cell displays any other write. For a record that is merged field by field, the state contains only the
  /// given cell.
  ///
  /// Undone writes that are newer than those of the group are ignored, as long as the cell displays the same content
  /// without them.
  func without(_ group: Set<Int64>, _ field: FieldNumber, _ groups: UndoGroups) async throws -> RecordState? {
    isWhole ? try await whole(without: group, groups) : try await cell(field, without: group, groups)
  }

  /// Walks the cell's writes from newest to oldest, reading each only once no matter how many were undone.
  private func cell(
    _ field: FieldNumber, without group: Set<Int64>, _ groups: UndoGroups
  ) async throws -> RecordState? {
    var ignored: Set<Int64> = []
    var (state, position) = (held, 0)
    search: while let author = state.cells[field]?.author {
      if group.contains(author.origin.number) {
        return try await below(position, field) { ignored.contains($0) || group.contains($0) }.state
      }
      for void in try groups.void(around: author) {
        let next = try await below(position, field) { ignored.contains($0) || void.contains($0) }
        guard isSame(state, next.state, field) else { continue }
        ignored.formUnion(void)
        (state, position) = next
        continue search
      }
      return nil
    }
    return nil
  }

  /// Returns the state that a cell would have without the writes before a position in `places`, which are newer, and
  /// without those that `isIgnored` selects. Also returns the position in `places` of the write that the cell would
  /// then display.
  private func below(
    _ position: Int, _ field: FieldNumber, ignoring isIgnored: (Int64) -> Bool
  ) async throws -> (state: RecordState, position: Int) {
    var state = RecordState()
    let places = try await sortedPlaces()
    for index in position..<places.count where !isIgnored(places[index].origin.number) {
      try await pace.step()
      let write = try store.write(of: record, in: places[index].origin.number)
      guard let content = write.content(field) else { continue }
      state.cells[field] = RecordState.Cell(
        content: content, author: write.place, isAbsent: write.absent.contains(field))
      return (state, index)
    }
    state.cells[field] = Store.seed(of: record).cells[field]
    return (state, places.count)
  }

  private func sortedPlaces() async throws -> [SetPosition] {
    if let places { return places }
    var found: [SetPosition] = []
    for number in numbers {
      found.append(try store.place(number))
      try await pace.step()
    }
    found.sort { $0.origin.stamp > $1.origin.stamp }
    places = found
    return found
  }

  private func whole(without group: Set<Int64>, _ groups: UndoGroups) async throws -> RecordState? {
    var ignored: Set<Int64> = []
    var state = held
    search: while let author = state.cells[Fields.life]?.author {
      if group.contains(author.origin.number) { return try await self.state(ignored.union(group)) }
      for void in try groups.void(around: author) {
        let next = try await self.state(ignored.union(void))
        guard isSame(state, next, Fields.life) else { continue }
        ignored.formUnion(void)
        state = next
        continue search
      }
      return nil
    }
    return nil
  }

  /// Returns whether only sets of a group have ever made the record alive; false for a whole record, which always is.
  func isAlive(onlyThrough group: Set<Int64>) async throws -> Bool {
    guard !isWhole else { return false }
    for place in try await sortedPlaces() where !group.contains(place.origin.number) {
      try await pace.step()
      if try store.write(of: record, in: place.origin.number).content(Fields.life) == Self.alive {
        return false
      }
    }
    return true
  }

  static let alive = Value.bool(true).encoded

  /// Returns whether a cell currently displays the same content as in an earlier state.
  func showsSame(before: RecordState, _ field: FieldNumber) -> Bool { isSame(held, before, field) }

  private var isWhole: Bool { record.kind.mergeClass == .wholeRecord }

  private func state(_ ignored: Set<Int64>) async throws -> RecordState {
    if let known = known[ignored] { return known }
    let state = try await store.state(of: record, pace) { !ignored.contains($0.origin.number) }
    known[ignored] = state
    return state
  }

  private func isSame(_ left: RecordState, _ right: RecordState, _ field: FieldNumber) -> Bool {
    if isWhole { return Self.shown(left) == Self.shown(right) }
    let nothing = (field == Fields.life ? Value.bool(false) : .null).encoded
    return left.cells[field]?.content ?? nothing == right.cells[field]?.content ?? nothing
  }

  /// Returns the content of a whole record without its time of change and without null fields.
  private static func shown(_ state: RecordState) -> [FieldNumber: [UInt8]] {
    let null = Value.null.encoded
    return state.contents.filter { $0.key != Fields.wholeRecordUpdatedAt && $0.value != null }
  }
}

extension Store {
  /// Returns the same state as `state(of:counting:)`, but yields between slices of the work.
  func state(
    of record: RecordKey, _ pace: Pace, counting counts: (SetPosition) throws -> Bool
  ) async throws -> RecordState {
    var search = try RecordStateSearch(of: record, in: self, counting: counts)
    while try search.step(counts) { try await pace.step() }
    return search.state
  }
}
