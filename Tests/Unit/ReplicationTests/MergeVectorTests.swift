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
      let rivals: [Int]
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
    let conflicts: [ConflictRow]
    let digests: [RecordHash]
    let digest: String

    func verifiedSets() throws -> [VerifiedChangeSet] {
      try sets.map { try VerifiedChangeSet(verifying: try $0.raw()) }
    }
  }

  struct Ranked: Decodable {
    let name: String
    let updatedAt: Int64
    let nonEmptyFields: Int
    let header: String
    let signature: String
    let body: String
    let id: String
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
      var expected: [Cell: CellState] = [:]
      for row in history.cells {
        expected[Cell(record: try recordKey(row.kind, row.record), field: row.field)] =
          CellState(winner: row.winner, rivals: Set(row.rivals))
      }
      #expect(model.cells == expected, "\(history.name)")
      #expect(Oracle.cells(world) == expected, "\(history.name)")
      let (digest, records) = model.digest(world)
      #expect(records.count == history.digests.count, "\(history.name)")
      for row in history.digests {
        #expect(records[try recordKey(row.kind, row.record)]?.bytes == bytesFromHexadecimal(row.hash))
      }
      #expect(hexadecimal(digest.sum.bytes) == history.digest, "\(history.name)")
    }
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
      let set = try VerifiedChangeSet(
        verifying: RawChangeSet(
          header: try expand(row.header), signature: try expand(row.signature), body: try expand(row.body)))
      let entry = try #require(set.body.entries.first)
      let rank = WholeRecordRank(of: entry, in: set.body, stamp: set.stamp)
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
