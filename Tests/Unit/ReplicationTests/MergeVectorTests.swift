import Testing
import Vectors
import Wire

@testable import Replication

/// Protocol/vectors/merge.json.
struct MergeVectors: Decodable {
  struct History: Decodable {
    struct CellRow: Decodable {
      let kind: UInt64
      let record: String
      let field: UInt32
      let winner: Int
      let siblings: [Int]
    }

    struct CellName: Decodable {
      let kind: UInt64
      let record: String
      let field: UInt32

      func cell() throws -> Cell { Cell(record: try recordKey(kind, record), field: field) }
    }

    struct Gap: Decodable {
      let set: Int
      let slots: [Int]
    }

    struct ConflictRow: Decodable {
      struct Record: Decodable {
        let kind: UInt64
        let record: String
      }

      let kind: UInt64
      let record: String
      let reason: String
      let field: UInt32?
      let winner: Int
      let losers: [Int]
      let hiddenBy: Record?
    }

    struct RecordHash: Decodable {
      let kind: UInt64
      let record: String
      let hash: String
    }

    let name: String
    let sets: [ChangeSetVectors.Sealed]
    let cells: [CellRow]
    let erased: [CellName]
    let gaps: [Gap]
    let conflicts: [ConflictRow]
    let digests: [RecordHash]
    let digest: String

    func verifiedSets() throws -> [VerifiedChangeSet] {
      try sets.map { try VerifiedChangeSet(verifying: try $0.raw()) }
    }
  }

  struct Ranked: DescribedSet {
    let name: String
    let updatedAt: Int64
    let nonEmptyFields: Int
    let header: String
    let signature: String
    let plan: String
    let values: String
  }

  let circle: String
  let histories: [History]
  let ranks: [Ranked]
}

/// The key of a record that a vector names.
func recordKey(_ kindNumber: UInt64, _ hex: String) throws -> RecordKey {
  guard let kind = KindNumber(kindNumber), let id = RecordID(hex: hex) else { throw BrokenVector(hex) }
  return RecordKey(kind: kind, id: id)
}

@Suite struct MergeVectorTests {
  private let file: MergeVectors

  init() throws { file = try vectors("merge.json", as: MergeVectors.self) }

  @Test func `histories fold to the state that Python computed from all writes at once`() throws {
    for history in file.histories {
      let world = World(try history.verifiedSets())
      var model = FoldModel()
      for index in world.sets.indices { model.fold(index, of: world) }
      #expect(model.cells == Oracle.cells(world), "\(history.name)")
      try check(model.cells, world, history)
      let (digest, records) = model.digest(world)
      #expect(records.count == history.digests.count, "\(history.name)")
      for row in history.digests {
        #expect(records[try recordKey(row.kind, row.record)]?.bytes == bytesFromHexadecimal(row.hash))
      }
      #expect(hexadecimal(digest.sum.bytes) == history.digest, "\(history.name)")
    }
  }

  private func check(_ cells: [Cell: CellState], _ world: World, _ history: MergeVectors.History) throws {
    var expected: [Cell: CellState] = [:]
    for row in history.cells {
      expected[Cell(record: try recordKey(row.kind, row.record), field: row.field)] =
        CellState(winner: row.winner, siblings: Set(row.siblings))
    }
    let found = cells.mapValues { CellState(winner: $0.winner, siblings: $0.siblings) }
    #expect(found == expected, "\(history.name)")
    let absent = cells.filter { cell, state in
      state.isErased || world.write(state.winner, to: cell)?.isAbsent == true
    }
    #expect(Set(absent.keys) == Set(try history.erased.map { try $0.cell() }), "\(history.name)")
    let gaps = Dictionary(uniqueKeysWithValues: history.gaps.map { ($0.set, Set($0.slots)) })
    #expect(world.gaps(in: try history.verifiedSets()) == gaps, "\(history.name)")
  }

  @Test func `any causal order of a history gives the same state`() throws {
    var random = SeededRandom(seed: 11)
    for history in file.histories {
      let world = World(try history.verifiedSets())
      let expected = Oracle.cells(world)
      for _ in 0..<10 {
        var model = FoldModel()
        for index in world.randomOrder(&random) { model.fold(index, of: world) }
        #expect(model.cells == expected, "\(history.name)")
      }
    }
  }

  @Test func `profiles are ranked as in the table`() throws {
    var below: WholeRecordRank?
    for row in file.ranks {
      let set = try VerifiedChangeSet(verifying: try row.raw())
      let entry = try #require(set.body.entries.first)
      let rank = WholeRecordRank(of: entry, stamp: set.stamp)
      #expect(rank.updatedAt == row.updatedAt, "\(row.name)")
      #expect(rank.nonEmptyFields == row.nonEmptyFields, "\(row.name)")
      if let below { #expect(below < rank, "\(row.name)") }
      below = rank
    }
  }
}

extension World {
  /// One of the orders in which a replica may fold the sets.
  func randomOrder(_ random: inout SeededRandom) -> [Int] {
    var order: [Int] = []
    var folded: UInt64 = 0
    while order.count < sets.count {
      let ready = sets.indices.filter { folded >> UInt64($0) & 1 == 0 && isReady($0, after: folded) }
      let next = ready[random.below(ready.count)]
      order.append(next)
      folded |= 1 << UInt64(next)
    }
    return order
  }
}
