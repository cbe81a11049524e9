// Protocol/merge.md, "Operations and undo"

import LogStorage
import Records
import Replication
import Storage
import Wire

/// The writes to one record, with the content that each write replaced and whether the written content is still
/// displayed.
struct RecordHistory {
  struct Item {
    let write: RecordWrite
    let cells: [Cell]
    /// Whether a concurrent deletion hides the record, and this write with it.
    let isHidden: Bool
  }

  struct Cell {
    let field: FieldNumber
    let content: [UInt8]
    /// Whether the written value is absent; the content is null then.
    let isAbsent: Bool
    /// The content that the author saw before the write; nil if there was none.
    let before: [UInt8]?
    /// Whether the value that the author saw before the write is absent; `before` is null then.
    let isBeforeAbsent: Bool
    let state: History.Field.State
    /// The concurrent write that won over this one.
    let lostTo: RecordWrite?
  }

  private let store: Store
  private let isWhole: Bool
  private let held: RecordState
  private let seeds: RecordState
  /// The writes in order of precedence: the last one wins.
  private let writes: [RecordWrite]
  /// For a record that is merged as a whole, the content of each write without its time of change; otherwise empty.
  private var wholes: [[FieldNumber: [UInt8]]] = []
  /// The writes of each cell, by field. A record that is merged as a whole has a single cell, under its life field.
  private var cells: [FieldNumber: CellWrites] = [:]

  init(of record: RecordKey, in store: Store, _ pace: Pace) async throws {
    self.store = store
    isWhole = record.kind.mergeClass == .wholeRecord
    held = try store.state(of: record)
    seeds = try store.state(of: record) { _ in false }
    var writes: [RecordWrite] = []
    for number in try store.writeNumbers(of: record) {
      if let write = try store.intactWrite(of: record, in: number) { writes.append(write) }
      try await pace.step()
    }
    if isWhole {
      let unranked = { (stamp: Stamp) in WholeRecordRank(updatedAt: 0, nonEmptyFields: 0, stamp: stamp) }
      writes.sort { left, right in
        (left.rank ?? unranked(left.place.origin.stamp)) < (right.rank ?? unranked(right.place.origin.stamp))
      }
    } else {
      writes.sort { $0.place.origin.stamp < $1.place.origin.stamp }
    }
    self.writes = writes
    var contents: [FieldNumber: ContentNumbers<[UInt8]>] = [:]
    var wholeContents = ContentNumbers<[FieldNumber: [UInt8]]>()
    var found: [FieldNumber: [CellWrites.Write]] = [:]
    for (index, write) in writes.enumerated() {
      if isWhole {
        let whole = Dictionary(
          uniqueKeysWithValues: write.cells.filter { $0.field != Fields.wholeRecordUpdatedAt })
        wholes.append(whole)
        // A set that only erases the record writes no fields, so it takes no part in the order of precedence.
        if write.rank != nil {
          found[Fields.life, default: []].append(.init(index, write.place, wholeContents.number(of: whole)))
        }
      } else {
        for cell in write.cells {
          let content = contents[cell.field, default: ContentNumbers()].number(of: cell.content)
          found[cell.field, default: []].append(.init(index, write.place, content))
        }
      }
      try await pace.step()
    }
    cells = found.mapValues { CellWrites($0, in: store) }
  }

  var count: Int { writes.count }

  /// Returns the indexes of the newest writes, newest first, for use with `item`.
  func newest(_ limit: Int) -> [Int] {
    let sorted =
      isWhole
      ? writes.indices.sorted { writes[$0].place.origin.stamp > writes[$1].place.origin.stamp }
      : writes.indices.reversed()
    return Array(sorted.prefix(limit))
  }

  /// Returns one write and its state.
  func item(_ index: Int) throws -> Item {
    Item(
      write: writes[index], cells: try isWhole ? wholeCells(index) : fieldCells(index),
      isHidden: try isHidden(writes[index]))
  }

  private func fieldCells(_ index: Int) throws -> [Cell] {
    let write = writes[index]
    return try write.cells.map { cell in
      let others = cells[cell.field]
      let earlier = try others?.before(index).map { writes[$0] }
      let before = earlier?.content(cell.field)
      let lostTo = try others?.winner(over: index).map { writes[$0] }
      let shows = held.cells[cell.field]?.author.origin == write.place.origin
      return Cell(
        field: cell.field, content: cell.content, isAbsent: write.absent.contains(cell.field),
        before: before ?? seeds.cells[cell.field]?.content,
        isBeforeAbsent: earlier?.absent.contains(cell.field) ?? false, state: state(shows, lostTo),
        lostTo: lostTo)
    }
  }

  /// Returns a cell for each field that a write of a whole record changed. All have the same state, because a whole
  /// record is merged as one cell. Of an erased write it can't be told which fields it changed, so all are returned.
  private func wholeCells(_ index: Int) throws -> [Cell] {
    let others = cells[Fields.life]
    let lostTo = try others?.winner(over: index).map { writes[$0] }
    let shows = held.cells[Fields.life]?.author.origin == writes[index].place.origin
    let earlier = try others?.before(index)
    let old = earlier.map { wholes[$0] } ?? [:]
    let new = wholes[index]
    let absent = writes[index].absent
    let absentBefore = earlier.map { writes[$0].absent } ?? []
    return Set(old.keys).union(new.keys).sorted().filter { old[$0] != new[$0] || absent.contains($0) }.map {
      field in
      Cell(
        field: field, content: new[field] ?? Value.null.encoded, isAbsent: absent.contains(field),
        before: old[field], isBeforeAbsent: absentBefore.contains(field), state: state(shows, lostTo),
        lostTo: lostTo)
    }
  }

  private func state(_ shows: Bool, _ lostTo: RecordWrite?) -> History.Field.State {
    shows ? .shows : lostTo == nil ? .replaced : .lost
  }

  private func isHidden(_ write: RecordWrite) throws -> Bool {
    guard !isWhole, held.life == false, let deletion = held.cells[Fields.life]?.author,
      deletion.origin != write.place.origin
    else { return false }
    return try !store.covers(deletion, write.place) && !store.covers(write.place, deletion)
  }
}

/// Assigns the same number to equal contents, so that they can be compared cheaply.
private struct ContentNumbers<Content: Hashable> {
  private var numbers: [Content: Int] = [:]

  mutating func number(of content: Content) -> Int {
    if let known = numbers[content] { return known }
    numbers[content] = numbers.count
    return numbers.count - 1
  }
}
