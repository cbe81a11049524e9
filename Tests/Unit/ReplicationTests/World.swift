import Records
import Wire

@testable import Replication

struct Cell: Hashable, Comparable {
  let record: RecordKey
  let field: FieldNumber

  static func < (left: Cell, right: Cell) -> Bool {
    left.record != right.record ? left.record < right.record : left.field < right.field
  }
}

/// One write of one cell. Whole records have one cell, field 0, and a rank.
struct CellWrite {
  /// The content of a field whose value is absent.
  static let null: [UInt8] = [0xf6]

  let cell: Cell
  let content: [UInt8]
  var rank: WholeRecordRank?
  /// The content after the value was erased. The life has no value that could be erased.
  var erasedContent = CellWrite.null
  /// Whether the write came without its value, or with an unreadable one.
  var isAbsent = false
}

/// A change set in the view of the merge.
struct WorldSet {
  let stamp: Stamp
  let log: Int
  let sequence: UInt64
  /// The newest sequence of each log in its causal past, including its own.
  let past: [UInt64]
  let writes: [CellWrite]
  /// The records that the set erases.
  var erased: Set<RecordKey> = []
}

/// All sets, in one causal order.
struct World {
  var sets: [WorldSet] = []

  func covers(_ later: Int, _ earlier: Int) -> Bool {
    sets[later].past[sets[earlier].log] >= sets[earlier].sequence
  }

  /// Whether an erase of a record, in another set, has seen what a set wrote to the record.
  func isErased(_ record: RecordKey, in index: Int) -> Bool {
    sets.indices.contains { $0 != index && sets[$0].erased.contains(record) && covers($0, index) }
  }

  /// Whether all sets that a set follows are in a mask.
  func isReady(_ index: Int, after folded: UInt64) -> Bool {
    sets.indices.allSatisfy { $0 == index || !covers(index, $0) || folded >> UInt64($0) & 1 == 1 }
  }

  /// The slots that lack their values when all sets are folded, by set: those that came without, and the erased ones.
  func gaps(in sets: [VerifiedChangeSet]) -> [Int: Set<Int>] {
    var gaps: [Int: Set<Int>] = [:]
    for (index, set) in sets.enumerated() {
      for (slot, entry) in set.body.entries.filter({ !$0.cells.isEmpty }).enumerated()
      where set.body.slots.content(slot) == nil || isErased(entry.key, in: index) {
        gaps[index, default: []].insert(slot)
      }
    }
    return gaps
  }

  func write(_ index: Int, to cell: Cell) -> CellWrite? { sets[index].writes.first { $0.cell == cell } }

  /// Whether a life is written: it is part of the plan, so it has no value that could be absent.
  static func isLife(_ cell: Cell) -> Bool {
    cell.field == Fields.life && cell.record.kind.mergeClass == .fieldByField
  }
}

/// The winner and siblings of a cell, as positions of sets in the world.
struct CellState: Hashable {
  var winner: Int
  var siblings: Set<Int>
  /// Whether the winner's value was erased.
  var isErased = false
}

/// A pure fold with the functions of `Merge`: what a store does, without a store.
struct FoldModel {
  private(set) var cells: [Cell: CellState] = [:]
  /// The sets that erased each record.
  private var erases: [RecordKey: [Int]] = [:]

  mutating func fold(_ index: Int, of world: World) {
    for write in world.sets[index].writes { merge(write, at: index, world) }
    for record in world.sets[index].erased { erase(record, at: index, world) }
  }

  private mutating func merge(_ write: CellWrite, at index: Int, _ world: World) {
    guard let state = cells[write.cell] else {
      cells[write.cell] = CellState(winner: index, siblings: [])
      return
    }
    let outcome = Self.outcome(write, index, state, world)
    var after = state.siblings.filter { !world.covers(index, $0) }
    let isHeldErased = erases[write.cell.record, default: []].contains {
      $0 != state.winner && world.covers($0, state.winner)
    }
    if outcome.heldBecomesSibling, !isHeldErased { after.insert(state.winner) }
    if !outcome.newWins { after.insert(index) }
    cells[write.cell] = CellState(
      winner: outcome.newWins ? index : state.winner, siblings: after,
      isErased: state.isErased && !outcome.newWins)
  }

  private mutating func erase(_ record: RecordKey, at index: Int, _ world: World) {
    erases[record, default: []].append(index)
    for (cell, state) in cells where cell.record == record {
      let isErased = state.winner != index && world.covers(index, state.winner) && !World.isLife(cell)
      cells[cell] = CellState(
        winner: state.winner, siblings: state.siblings.filter { $0 == index || !world.covers(index, $0) },
        isErased: state.isErased || isErased)
    }
  }

  private static func outcome(
    _ write: CellWrite, _ index: Int, _ state: CellState, _ world: World
  ) -> MergeOutcome {
    let winner = state.winner
    let held = WriteOrigin(number: Int64(winner + 1), stamp: world.sets[winner].stamp)
    let coversHeld = world.covers(index, winner)
    guard let rank = write.rank else {
      return Merge.cell(new: world.sets[index].stamp, held: held, coversHeld: coversHeld)
    }
    let heldRank = world.write(winner, to: write.cell)?.rank
    return Merge.wholeRecord(
      new: rank, held: heldRank.map { ($0, held) }, coversHeld: coversHeld,
      isHeldFollowed: state.siblings.contains { world.covers($0, winner) })
  }

  /// The digest of a lane, and the contribution of each record.
  func digest(_ world: World) -> (digest: Digest, records: [RecordKey: Bytes32]) {
    var digest = Digest.empty
    var records: [RecordKey: Bytes32] = [:]
    var input = RecordDigestInput()
    for (record, cells) in Dictionary(grouping: cells.keys.sorted(), by: \.record) {
      input.begin(record)
      for cell in cells {
        if let state = self.cells[cell] {
          input.add(field: cell.field, stamp: world.sets[state.winner].stamp)
        }
      }
      records[record] = input.hash
      digest.add(input.hash)
    }
    return (digest, records)
  }
}

/// The expected state, from all writes at once: no fold, no order.
struct Oracle {
  static func cells(_ world: World) -> [Cell: CellState] {
    var writes: [Cell: [(set: Int, write: CellWrite)]] = [:]
    for (index, set) in world.sets.enumerated() {
      for write in set.writes { writes[write.cell, default: []].append((index, write)) }
    }
    var states: [Cell: CellState] = [:]
    for (cell, writes) in writes {
      let winner = writes.max { isBelow($0.write, $0.set, $1.write, $1.set, world) }
      guard let winner = winner?.set else { continue }
      let siblings = writes.map(\.set).filter { one in
        one != winner && !writes.contains { $0.set != one && world.covers($0.set, one) }
          && !world.isErased(cell.record, in: one)
      }
      states[cell] = CellState(
        winner: winner, siblings: Set(siblings),
        isErased: !World.isLife(cell) && world.isErased(cell.record, in: winner))
    }
    return states
  }

  private static func isBelow(
    _ left: CellWrite, _ leftSet: Int, _ right: CellWrite, _ rightSet: Int, _ world: World
  ) -> Bool {
    if let one = left.rank, let other = right.rank { return one < other }
    return world.sets[leftSet].stamp < world.sets[rightSet].stamp
  }
}

extension World {
  /// Reads real change sets, in causal order.
  init(_ sets: [VerifiedChangeSet]) {
    var logs: [LogKey: Int] = [:]
    for set in sets where logs[set.header.log] == nil { logs[set.header.log] = logs.count }
    var newest = [[UInt64]](repeating: [UInt64](repeating: 0, count: logs.count), count: logs.count)
    for set in sets {
      guard let log = logs[set.header.log] else { continue }
      for seen in set.header.dependencies {
        let key = LogKey(device: seen.device, incarnation: seen.incarnation, lane: set.header.log.lane)
        if let other = logs[key] { newest[log][other] = max(newest[log][other], seen.sequence) }
      }
      newest[log][log] = set.header.sequence
      self.sets.append(
        WorldSet(
          stamp: set.stamp, log: log, sequence: set.header.sequence, past: newest[log],
          writes: Self.writes(of: set),
          erased: Set(set.body.entries.filter { $0.type == .erase }.map(\.key))))
    }
  }

  /// The cells that a set writes, without fixed ones.
  private static func writes(of set: VerifiedChangeSet) -> [CellWrite] {
    set.body.entries.flatMap { entry -> [CellWrite] in
      guard entry.key.kind.mergeClass == .fieldByField else {
        return wholeWrite(entry, of: set).map { [$0] } ?? []
      }
      return set.body.writes(of: entry).filter { !FixedRecords.isFixed(entry.key, $0.field) }.map {
        field, content in
        CellWrite(
          cell: Cell(record: entry.key, field: field), content: content ?? CellWrite.null,
          isAbsent: content == nil)
      }
    }
  }

  private static func wholeWrite(_ entry: Entry, of set: VerifiedChangeSet) -> CellWrite? {
    guard entry.type.writesFields else { return nil }
    let cells = set.body.cells[entry.cells]
    // Two profiles that differ only in their time of change are equal.
    let compared = cells.filter { $0.field != Fields.wholeRecordUpdatedAt }
    return CellWrite(
      cell: Cell(record: entry.key, field: Fields.life),
      content: compared.flatMap {
        [UInt8($0.field & 0xff)] + (set.body.content($0).map { Array($0) } ?? CellWrite.null)
      },
      rank: WholeRecordRank(of: entry, stamp: set.stamp),
      erasedContent: compared.flatMap { [UInt8($0.field & 0xff)] + CellWrite.null },
      isAbsent: cells.contains { $0.isAbsent })
  }
}
