import Records
import Testing
import Vectors
import Wire

@testable import Replication

@Suite struct MergeTableTests {
  /// One case per row. On the left the operations in order, each with its author, and after `<` the operations
  /// (numbered from 0) that it had seen. On the right the winner of each cell, and its siblings behind `|`; field 0
  /// is the life; `~` marks a winner whose value was erased. All concurrent writes have the same clock, so Carol beats
  /// Bob beats Alice.
  private static let table = """
    A insert                                          = trip.0 0, trip.1 0, trip.2 0
    A editName                                        = trip.1 0
    A insert; B editName<0                            = trip.0 0, trip.1 1, trip.2 0
    A insert; B editName<0; C editName<0              = trip.0 0, trip.1 2|1, trip.2 0
    A insert; B editName<0; C editNotes<0             = trip.0 0, trip.1 1, trip.2 2
    A insert; B editName<0; C editName<0; A editName<0 1 2 = trip.0 0, trip.1 3, trip.2 0
    A insert; B editName<0; C editName<0; A editName<0 1   = trip.0 0, trip.1 3|2, trip.2 0
    A insert; B insert                                = trip.0 1|0, trip.1 1|0, trip.2 1|0
    A insert; B delete<0                              = trip.0 1, trip.1 0, trip.2 0
    A insert; B delete<0; C editName<0                = trip.0 1, trip.1 2, trip.2 0
    A insert; B delete<0; C editName<0; A restore<0 1 2 = trip.0 3, trip.1 2, trip.2 0
    A insert; B delete<0; C restore<0                 = trip.0 2|1, trip.1 0, trip.2 0
    A insert; C delete<0; B restore<0                 = trip.0 1|2, trip.1 0, trip.2 0
    A insert; B delete<0; C delete<0                  = trip.0 2|1, trip.1 0, trip.2 0
    A insert; B delete<0; C putAndRestore<0 1         = trip.0 2, trip.1 2, trip.2 0
    A insert; B delete<0; C insertChild<0             = trip.0 1, trip.1 0, trip.2 0, child.0 2, child.1 2, child.2 2
    A oldProfile; B newProfile                        = profile.0 1|0
    A newProfile; B oldProfile                        = profile.0 0|1
    A oldProfile; B newProfile<0                      = profile.0 1
    A futureProfile; B newProfile                     = profile.0 1|0
    A newProfile; B oldProfile<0                      = profile.0 0|1
    A newProfile; B oldProfile<0; C futureProfile     = profile.0 2|1
    A newProfile; B oldProfile<0; C futureProfile<0 1 = profile.0 2
    A renameNone                                      = none.2 0
    A renameNone; B editNone                          = none.2 1|0
    A deleteNone                                      =
    A editNone; B deleteNone<0                        = none.2 0
    A insert; B erase<0                               = trip.0 1, trip.1 0~, trip.2 0~
    A insert; B erase<0; C editName<0                 = trip.0 1, trip.1 2, trip.2 0~
    A insert; C erase<0; B editName<0                 = trip.0 1, trip.1 2, trip.2 0~
    A insert; B erase<0; C editName<0; A erase<0 1 2  = trip.0 3, trip.1 2~, trip.2 0~
    A insert; B editName<0; C editName<0; A erase<0 1 2 = trip.0 3, trip.1 2~, trip.2 0~
    A insert; B editName<0; C editName<0; A erase<0 1 = trip.0 3, trip.1 2, trip.2 0~
    A insert; B editName<0; C editName<0; A erase<0 2 = trip.0 3, trip.1 2~|1, trip.2 0~
    A insert; B editName<0; A erase<0 1; C editName<0 = trip.0 2, trip.1 3, trip.2 0~
    A insert; B erase<0; C erase<0                    = trip.0 2|1, trip.1 0~, trip.2 0~
    A insert; B erase<0; C delete<0                   = trip.0 2|1, trip.1 0~, trip.2 0~
    A insert; B erase<0; C restore<0                  = trip.0 2|1, trip.1 0~, trip.2 0~
    A insert; B erase<0; C restore<0 1                = trip.0 2, trip.1 0~, trip.2 0~
    A insert; B erase<0; C insert<0 1                 = trip.0 2, trip.1 2, trip.2 2
    A insert; B putAndErase<0                         = trip.0 1, trip.1 1, trip.2 0~
    A insert; B putAndErase<0; C erase<0              = trip.0 2|1, trip.1 1, trip.2 0~
    A insert; B insertAndErase<0                      = trip.0 1, trip.1 1, trip.2 0~
    A insert; B insertAndErase<0; C erase<0           = trip.0 2|1, trip.1 1, trip.2 0~
    A erase                                           = trip.0 0
    A erase; B insert                                 = trip.0 1|0, trip.1 1, trip.2 1
    A newProfile; B eraseProfile<0                    = profile.0 0~
    A newProfile; B eraseProfile                      = profile.0 0
    A newProfile; B oldProfile<0; C eraseProfile<0 1  = profile.0 0~
    A newProfile; B oldProfile<0; C eraseProfile<0    = profile.0 0~|1
    A oldProfile; B newProfile; C eraseProfile<0      = profile.0 1
    A oldProfile; B newProfile; C eraseProfile<1      = profile.0 1~|0
    A newProfile; B eraseProfile<0; C futureProfile   = profile.0 2
    A newProfile; B putAndEraseProfile<0              = profile.0 0~|1
    A oldProfile; B putAndEraseProfile<0              = profile.0 1
    A editNone; B eraseNone<0                         = none.2 0~
    A editNone; B editNone; C eraseNone<0             = none.2 1
    A editNone; B editNone; C eraseNone<1             = none.2 1~|0
    """

  @Test(arguments: table.split(separator: "\n").map(String.init))
  func `a case gives the state in its row, in every order`(row: String) throws {
    let sides = row.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
    let world = try Plan(text: sides[0]).world
    let expected = sides[1].split(separator: " ").joined(separator: " ")
    world.eachOrder { order in
      var model = FoldModel()
      for index in order { model.fold(index, of: world) }
      #expect(Self.text(model) == expected, "in the order \(order)")
    }
  }

  private static func text(_ model: FoldModel) -> String {
    let names = [
      Action.trip: "trip", Action.child: "child", FixedRecords.none: "none", FixedRecords.profile: "profile",
    ]
    return model.cells.sorted { $0.key < $1.key }.map { cell, state in
      let siblings = state.siblings.sorted().map { "|\($0)" }.joined()
      return
        "\(names[cell.record] ?? "?").\(cell.field) \(state.winner)\(state.isErased ? "~" : "")\(siblings)"
    }.joined(separator: ", ")
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
  func `random writes give the same state in any order, fold by fold`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    for _ in 0..<60 {
      let world = World.random(sets: 4 + random.below(10), &random)
      let expected = Oracle.cells(world)
      for _ in 0..<6 {
        var model = FoldModel()
        for index in world.randomOrder(&random) { model.fold(index, of: world) }
        #expect(model.cells == expected)
      }
    }
  }
}

extension Plan {
  /// Parses operations such as `A insert; B editName<0`.
  init(text: String) throws {
    let all = Dictionary(uniqueKeysWithValues: Action.allCases.map { ("\($0)", $0) })
    var plan = (authors: [Int](), actions: [Action](), seen: [UInt64]())
    for operation in text.split(separator: ";") {
      let parts = operation.split(separator: "<")
      let words = parts[0].split(separator: " ")
      guard words.count == 2, let author = ["A", "B", "C"].firstIndex(of: String(words[0])),
        let action = all[String(words[1])]
      else { throw BrokenVector(text) }
      let numbers = parts.count > 1 ? parts[1].split(separator: " ").compactMap { UInt64($0) } : []
      plan.authors.append(author)
      plan.actions.append(action)
      plan.seen.append(numbers.reduce(0) { $0 | 1 << $1 })
    }
    self.init(authors: plan.authors, actions: plan.actions, seen: plan.seen)
  }
}

extension World {
  /// Three devices with clocks far apart, writing a few cells and whole records of any rank.
  static func random(sets count: Int, _ random: inout SeededRandom) -> World {
    var world = World()
    var known: [[Int]] = [[], [], []]
    for index in 0..<count {
      let log = random.below(3)
      let other = known[random.below(3)]
      for set in other.prefix(random.below(other.count + 1)) where !known[log].contains(set) {
        known[log].append(set)
      }
      var past: [UInt64] = [0, 0, 0]
      var clock = UInt64(random.below(4) * 30 + 1) << 16
      for earlier in known[log] {
        for other in 0..<3 { past[other] = max(past[other], world.sets[earlier].past[other]) }
        clock = max(clock, world.sets[earlier].stamp.clock.raw + 1)
      }
      past[log] += 1
      let stamp = Stamp(
        clock: Clock(raw: clock), device: DeviceKey(Bytes32(0, 0, 0, UInt64(log + 1))),
        set: ChangeSetID(Bytes32(0, 0, 0, random.next())))
      var writes = [
        CellWrite(cell: Cell(record: Action.trip, field: UInt32(random.below(2))), content: [UInt8(index)])
      ]
      let rank = WholeRecordRank(
        updatedAt: Int64(random.below(120)), nonEmptyFields: random.below(3), stamp: stamp)
      let profile = Cell(record: FixedRecords.profile, field: Fields.life)
      if random.below(2) == 0 { writes = [CellWrite(cell: profile, content: [UInt8(index)], rank: rank)] }
      var erased: Set<RecordKey> = []
      if random.below(5) == 0 {
        let record = random.below(2) == 0 ? Action.trip : FixedRecords.profile
        erased = [record]
        // Now and then, the set writes to the record that it erases.
        if random.below(3) > 0 { writes = [] }
        let life = Cell(record: record, field: Fields.life)
        if record == Action.trip, !writes.contains(where: { $0.cell == life }) {
          writes.append(CellWrite(cell: life, content: ChangeSetBody.dead))
        }
      }
      world.sets.append(
        WorldSet(stamp: stamp, log: log, sequence: past[log], past: past, writes: writes, erased: erased))
      known[log].append(index)
    }
    return world
  }
}
