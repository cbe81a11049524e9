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
  let cell: Cell
  let content: [UInt8]
  var rank: WholeRecordRank?
}

/// A change set in the view of the merge.
struct WorldSet {
  let stamp: Stamp
  let log: Int
  let sequence: UInt64
  /// The newest sequence of each log in its causal past, including its own.
  let past: [UInt64]
  let writes: [CellWrite]
}

/// All sets, in one causal order.
struct World {
  var sets: [WorldSet] = []

  func covers(_ later: Int, _ earlier: Int) -> Bool {
    sets[later].past[sets[earlier].log] >= sets[earlier].sequence
  }

  /// Whether all sets that a set follows are in a mask.
  func isReady(_ index: Int, after folded: UInt64) -> Bool {
    sets.indices.allSatisfy { $0 == index || !covers(index, $0) || folded >> UInt64($0) & 1 == 1 }
  }
}

/// The winner and siblings of a cell, as positions of sets in the world.
struct CellState: Hashable {
  var winner: Int
  var rivals: Set<Int>
}

/// A pure fold with the functions of `Merge`: what a store does, without a store.
struct FoldModel {
  private(set) var cells: [Cell: CellState] = [:]

  mutating func fold(_ index: Int, of world: World) {
    for write in world.sets[index].writes { merge(write, at: index, world) }
  }

  private mutating func merge(_ write: CellWrite, at index: Int, _ world: World) {
    guard let state = cells[write.cell] else {
      cells[write.cell] = CellState(winner: index, rivals: [])
      return
    }
    let outcome = Self.outcome(write, index, state, world)
    var after = state.rivals.filter { !world.covers(index, $0) }
    if outcome.heldBecomesSibling { after.insert(state.winner) }
    if !outcome.newWins { after.insert(index) }
    cells[write.cell] = CellState(winner: outcome.newWins ? index : state.winner, rivals: after)
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
    let heldRank = world.sets[winner].writes.first { $0.cell == write.cell }?.rank
    return Merge.wholeRecord(
      new: rank, held: heldRank.map { ($0, held) }, coversHeld: coversHeld,
      isHeldFollowed: state.rivals.contains { world.covers($0, winner) })
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
    return writes.compactMapValues { writes in
      let winner = writes.max { isBelow($0.write, $0.set, $1.write, $1.set, world) }
      guard let winner = winner?.set else { return nil }
      let maximal = writes.map(\.set).filter { one in
        !writes.contains { $0.set != one && world.covers($0.set, one) }
      }
      return CellState(winner: winner, rivals: Set(maximal).subtracting([winner]))
    }
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
          writes: Self.writes(of: set)))
    }
  }

  /// The cells that a set writes, without fixed ones.
  private static func writes(of set: VerifiedChangeSet) -> [CellWrite] {
    set.body.entries.flatMap { entry -> [CellWrite] in
      if entry.key.kind.mergeClass == .wholeRecord {
        guard entry.type == .put else { return [] }
        // Two profiles that differ only in their time of change are equal.
        let cells = set.body.cells[entry.cells].filter {
          $0.field != Fields.life && $0.field != Fields.wholeRecordUpdatedAt
        }
        return [
          CellWrite(
            cell: Cell(record: entry.key, field: Fields.life),
            content: cells.flatMap { [UInt8($0.field & 0xff)] + set.body.content($0) },
            rank: WholeRecordRank(of: entry, in: set.body, stamp: set.stamp))
        ]
      }
      let cells: [(FieldNumber, [UInt8])] =
        switch entry.type {
        case .put: set.body.cells[entry.cells].map { ($0.field, Array(set.body.content($0))) }
        case .delete: [(Fields.life, [0xf4])]
        case .restore: [(Fields.life, [0xf5])]
        }
      return cells.filter { !FixedRecords.isFixed(entry.key, $0.0) }
        .map { CellWrite(cell: Cell(record: entry.key, field: $0.0), content: $0.1) }
    }
  }
}
