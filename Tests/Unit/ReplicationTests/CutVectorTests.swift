import Membership
import Storage
import Testing
import Vectors
import Wire

import RecordTables
@testable import Replication

/// Protocol/vectors/cuts.json.
struct CutVectors: Decodable {
  struct Case: Decodable {
    struct LogCuts: Decodable {
      let device: String
      let incarnation: String
      let cuts: [[String]]
    }

    struct Stage: Decodable {
      let arrives: [Int]
      let heads: [[Int]]
      let digest: String
      let winner: Int?
      let losers: [Int]?
    }

    let name: String
    let cuts: [LogCuts]
    let sets: [ChangeSetVectors.Sealed]
    let stages: [Stage]

    /// The tips of every cut, by log.
    func admission() throws -> [LogKey: Set<Set<ChangeSetID>>] {
      var found: [LogKey: Set<Set<ChangeSetID>>] = [:]
      for log in cuts {
        let device = try #require(DeviceKey(hex: log.device))
        let incarnation = try #require(Incarnation(hex: log.incarnation))
        let tips = try log.cuts.map { Set(try $0.map { try #require(ChangeSetID(hex: $0)) }) }
        found[LogKey(device: device, incarnation: incarnation, lane: .records)] = Set(tips)
      }
      return found
    }
  }

  let cases: [Case]
}

@Suite struct CutVectorTests {
  private static let horizon = Clock(milliseconds: 1 << 46)
  private let cases: [CutVectors.Case]

  init() throws { cases = try vectors("cuts.json", as: CutVectors.self).cases }

  /// The expected state of a stage, in words.
  private struct Shown: Equatable {
    var heads: Set<String>
    let digest: String
    let conflicts: Set<String>

    init(_ stage: CutVectors.Case.Stage, _ sets: [VerifiedChangeSet]) {
      heads = Set(stage.heads.map { "\(sets[$0[0]].id) \($0[1])" })
      digest = stage.digest
      let losers = (stage.losers ?? []).map { "\(sets[$0].id)" }.sorted()
      conflicts = losers.isEmpty ? [] : ["\(sets[stage.winner ?? 0].id) over \(losers)"]
    }

    init(_ store: Store) throws {
      heads = Set(store.heads(.records).map { "\($0.id) \($0.foldedSequence)" })
      digest = hexadecimal(store.digest(.records).sum.bytes)
      conflicts = Set(
        try store.conflicts().map { conflict in
          let losers = Set(conflict.losers.map { "\($0.stamp.set)" }).sorted()
          return "\(conflict.winner.stamp.set) over \(losers)"
        })
    }
  }

  private func admit(_ cuts: [LogKey: Set<Set<ChangeSetID>>], to store: Store) throws {
    _ = try store.admit(by: { cuts[$0].map { .cut($0) } ?? .open }, horizon: Self.horizon)
  }

  /// Adds sets, and retries those that had no position, until none is accepted any more.
  private func bring(
    _ sets: [VerifiedChangeSet], to store: Store, _ waiting: inout [VerifiedChangeSet]
  ) throws {
    waiting += sets
    var count = waiting.count + 1
    while waiting.count < count {
      count = waiting.count
      waiting = try waiting.filter { set in
        if case .missing = try store.commit([set], horizon: Self.horizon).placements[0] {
          true
        } else {
          false
        }
      }
    }
  }

  @Test func `cut logs fold as in Python, whatever the order of arrival`() throws {
    #expect(cases.count > 20)
    var random = SeededRandom(seed: 67)
    for each in cases {
      let sets = try each.sets.map { try VerifiedChangeSet(verifying: try $0.raw()) }
      let cuts = try each.admission()
      let store = try Store.inMemory()
      try admit(cuts, to: store)
      var waiting: [VerifiedChangeSet] = []
      for (number, stage) in each.stages.enumerated() {
        try bring(stage.arrives.map { sets[$0] }, to: store, &waiting)
        #expect(try Shown(store) == Shown(stage, sets), "\(each.name), stage \(number)")
      }
      let end = Shown(try #require(each.stages.last), sets)
      let arrived = each.stages.flatMap(\.arrives)
      for _ in 1...3 {
        let late = try Store.inMemory()
        var waiting: [VerifiedChangeSet] = []
        let order = random.shuffled(arrived).map { sets[$0] }
        let heard = random.below(order.count + 1)
        try bring(Array(order.prefix(heard)), to: late, &waiting)
        try admit(cuts, to: late)
        try bring(Array(order.dropFirst(heard)), to: late, &waiting)
        #expect(try Shown(late) == end, "\(each.name), cut after \(heard) sets of \(order.map(\.id))")
      }
    }
  }
}
