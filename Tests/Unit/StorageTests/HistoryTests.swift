import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// Histories of three authors, from a seed, delivered in many causal orders and batches.
@Suite struct HistoryTests {
  /// Numbers from a seed, the same on every platform.
  private struct Chance {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      var mixed = state
      mixed ^= mixed >> 33
      mixed = mixed &* 0xff51_afd7_ed55_8ccd
      mixed ^= mixed >> 33
      return Int(mixed % UInt64(bound))
    }
  }

  private static let strange = KindNumber(4_000)

  private func entry(_ chance: inout Chance, _ step: Int) -> EntryDraft {
    let trips = [trip(1), trip(2)]
    let item = lodging(UInt64(chance.below(3)))
    let parent = trips[chance.below(2)]
    switch chance.below(18) {
    case 0: return insert(parent, [1: .text("trip \(step)")])
    case 1: return edit(parent, [1: .text("name \(chance.below(3))"), 2: .text("notes \(step)")])
    case 2: return delete(parent)
    case 3: return restore(parent)
    case 4: return insert(item, [1: .bytes(parent.id.bytes), 5: .array([.text("1.5"), .text("EUR")])])
    case 5: return edit(item, [1: .bytes(parent.id.bytes)])
    case 6: return edit(item, [2: .integer(Int64(step)), 5: .array([.text("\(step).25"), .null])])
    case 7: return delete(item)
    case 8:
      return edit(
        FixedRecords.profile,
        [1: .integer(Int64(chance.below(step * 10 + 10))), 2: .text("me \(chance.below(2))")])
    case 9: return edit(FixedRecords.none, [2: .text("\(step)"), 1: .text("renamed")])
    case 10: return insert(attachment(1), [1: owner(item), 2: .text("\(step)")])
    case 11: return edit(attachment(1), [1: owner(item), 3: .text("\(step)")])
    case 12: return restore(item)
    case 13: return edit(item, [333: .integer(Int64(chance.below(2)))])
    case 14: return erase(parent)
    case 15: return erase(item)
    case 16: return erase(chance.below(2) == 0 ? FixedRecords.profile : FixedRecords.none)
    default:
      let kind = Self.strange ?? KindNumbers.trip
      return insert(RecordKey(kind: kind, id: id(7)), [4: .text("\(step)")])
    }
  }

  private static let kinds = Schema.builtIn.kinds.map(\.number) + (strange.map { [$0] } ?? [])

  @Test(arguments: 1...8)
  func `every order and batching of a history gives the same store`(_ seed: Int) throws {
    var chance = Chance(state: UInt64(seed))
    let devices = try ["alice", "bob", "carol"].map { try Device($0) }
    var history: [VerifiedChangeSet] = []
    for step in 1...40 {
      let device = devices[chance.below(3)]
      if chance.below(3) == 0 { try device.sync(from: devices[chance.below(3)]) }
      history += try device.write(at: Int64(step * 10 - chance.below(25)), entry(&chance, step))
    }
    let expected = try replay(history, &chance, batched: false)
    for _ in 0..<4 { #expect(try replay(history, &chance, batched: true) == expected, "seed \(seed)") }
    for device in devices {
      try device.receive(history)
      #expect(try dump(device.store, kinds: Self.kinds) == expected, "seed \(seed), \(device.name)")
    }
  }

  /// Delivers a history in a causal order, and checks that folding the log again changes nothing.
  private func replay(
    _ history: [VerifiedChangeSet], _ chance: inout Chance, batched: Bool
  ) throws -> [String] {
    let store = try Store.inMemory()
    var waiting = history
    while !waiting.isEmpty {
      var batch: [VerifiedChangeSet] = []
      for _ in 0..<(batched ? 1 + chance.below(8) : 1) where !waiting.isEmpty {
        batch.append(batched ? waiting.remove(at: chance.below(waiting.count)) : waiting.removeFirst())
      }
      let horizon = batched && chance.below(3) == 0 ? Clock(milliseconds: 200) : Device.horizon
      let report = try store.commit(batch, horizon: horizon)
      for (set, placement) in zip(batch, report.placements) {
        if case .missing = placement { waiting.append(set) }
      }
    }
    _ = try store.foldParked(horizon: Device.horizon)
    #expect(try store.parkedCount(.records) == 0)
    let result = try dump(store, kinds: Self.kinds)
    try store.rebuild()
    #expect(try dump(store, kinds: Self.kinds) == result)
    return result
  }
}
