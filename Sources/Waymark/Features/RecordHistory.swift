// Protocol/merge.md, "Operations and undo"

import Records
import Replication
import Storage
import Wire

/// What was written to one record, what each write replaced, and what became of it.
struct RecordHistory {
  struct Item {
    let write: RecordWrite
    let cells: [Cell]
    /// A deletion that neither saw this write nor was seen by it hides the record.
    let isHidden: Bool
  }

  struct Cell {
    let field: FieldNumber
    let content: [UInt8]
    /// What the author saw there; nil if nothing.
    let before: [UInt8]?
    let state: State
    /// The write that did not know of this one and won over it.
    let lostTo: RecordWrite?
  }

  enum State: String {
    /// It is what people see, or would see if the record were not deleted.
    case shows
    /// A later write that knew of it has taken its place.
    case replaced
    /// A write that did not know of it has won.
    case lost
  }

  private let store: Store
  private let isWhole: Bool
  private let held: RecordState
  private let seeds: RecordState
  /// In the order in which they win.
  private let writes: [RecordWrite]

  init(of record: RecordKey, in store: Store) throws {
    self.store = store
    isWhole = record.kind.mergeClass == .wholeRecord
    held = try store.state(of: record)
    seeds = try store.state(of: record) { _ in false }
    let writes = try store.writes(of: record)
    self.writes = isWhole ? writes.sorted { Self.isBelow($0, $1) } : writes
  }

  var count: Int { writes.count }

  /// The newest writes, newest first.
  func newest(_ limit: Int) throws -> [Item] {
    let sorted = writes.indices.sorted {
      writes[$0].place.origin.stamp > writes[$1].place.origin.stamp
    }
    return try sorted.prefix(limit).map { index in
      Item(write: writes[index], cells: try cells(index), isHidden: try isHidden(writes[index]))
    }
  }

  private static func isBelow(_ left: RecordWrite, _ right: RecordWrite) -> Bool {
    guard let leftRank = left.rank, let rightRank = right.rank else { return false }
    return leftRank < rightRank
  }

  private func cells(_ index: Int) throws -> [Cell] {
    let write = writes[index]
    guard isWhole else {
      return try write.cells.map { cell in
        let others = writes.indices.filter { writes[$0].content(cell.field) != nil }
        let before =
          try others.last { try $0 < index && isSeen($0, by: index) }
          .flatMap { writes[$0].content(cell.field) } ?? seeds.cells[cell.field]?.content
        let lostTo = try winner(over: index, among: others) {
          writes[$0].content(cell.field) != cell.content
        }
        let shows = held.cells[cell.field]?.author.origin == write.place.origin
        return Cell(
          field: cell.field, content: cell.content, before: before, state: state(shows, lostTo),
          lostTo: lostTo)
      }
    }
    // A whole record is one cell; of its fields those are listed that the write changed.
    let before = try writes.indices.last { try $0 != index && isSeen($0, by: index) }
    let lostTo = try winner(over: index, among: Array(writes.indices)) {
      Self.fields(writes[$0]) != Self.fields(write)
    }
    let shows = held.cells[Fields.life]?.author.origin == write.place.origin
    let old = before.map { Self.fields(writes[$0]) } ?? [:]
    let new = Self.fields(write)
    return Set(old.keys).union(new.keys).sorted().filter { old[$0] != new[$0] }.map { field in
      Cell(
        field: field, content: new[field] ?? Value.null.encoded, before: old[field],
        state: state(shows, lostTo), lostTo: lostTo)
    }
  }

  private static func fields(_ write: RecordWrite) -> [FieldNumber: [UInt8]] {
    Dictionary(uniqueKeysWithValues: write.cells.filter { $0.field != Fields.wholeRecordUpdatedAt })
  }

  private func state(_ shows: Bool, _ lostTo: RecordWrite?) -> State {
    shows ? .shows : lostTo == nil ? .replaced : .lost
  }

  /// The highest write that says something else, has not seen this one, and was not met by one that had.
  private func winner(
    over index: Int, among others: [Int], where differs: (Int) -> Bool
  ) throws -> RecordWrite? {
    let followers = try others.filter { try $0 != index && isSeen(index, by: $0) }
    for other in others.reversed() where other > index && differs(other) && !followers.contains(other) {
      // An author who took its own write back before the two met has lost nothing here.
      if try followers.allSatisfy({ try isSeen(other, by: $0) }) { return writes[other] }
    }
    return nil
  }

  private func isSeen(_ earlier: Int, by later: Int) throws -> Bool {
    try store.covers(writes[later].place, writes[earlier].place)
  }

  private func isHidden(_ write: RecordWrite) throws -> Bool {
    guard !isWhole, held.life == false, let deletion = held.cells[Fields.life]?.author,
      deletion.origin != write.place.origin
    else { return false }
    return try !store.covers(deletion, write.place) && !store.covers(write.place, deletion)
  }
}
