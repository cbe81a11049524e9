import Membership
import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// Sets beyond the quota of their author: whenever a store learns of a grant, it ends with the same content as if it had
/// known it from the start.
@Suite struct QuotaTests {
  let alice: Device
  let bob: Device
  let rome = trip(1)
  /// Alice's first five sets, and two by Bob, who has seen her third and her fifth set.
  let history: [VerifiedChangeSet]

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    for number in 2...3 { try alice.write(at: Int64(number) * 10, edit(rome, [1: .text("\(number)")])) }
    try bob.sync(from: alice)
    try bob.write(at: 100, edit(rome, [2: .text("sunny")]))
    for number in 4...5 { try alice.write(at: Int64(number) * 10, edit(rome, [1: .text("\(number)")])) }
    try bob.sync(from: alice)
    try bob.write(at: 200, edit(rome, [3: .text("hot")]))
    history = bob.known
  }

  /// The quota with which a log whose incarnation has number 1 may hold Alice's first sets, and no more.
  private func quota(of sets: Int) -> UInt64 { sets == 0 ? 1 : alice.known[sets - 1].logBytes * 2 }

  /// Applies a quota of Alice's.
  private func admit(
    _ device: Device, _ quota: UInt64, cuts: Set<Set<ChangeSetID>>? = nil
  ) throws {
    let log = alice.log
    _ = try device.store.admit(
      by: { $0 == log ? cuts.map { .cut($0) } ?? .open : .open },
      quota: { author, lane in author == log.device ? quota : DeviceQuotas.standard[lane] },
      horizon: Device.horizon)
  }

  private func state(_ device: Device) throws -> [String] {
    try dump(device.store) + device.store.heads(.records).map { "\($0)" }
  }

  /// A device that knows the quota before the first set arrives.
  private func reader(_ quota: UInt64) throws -> (Device, [Placement]) {
    let reader = try Device("carol")
    try admit(reader, quota)
    return (reader, try reader.receive(history).placements)
  }

  @Test func `a set that fills the quota is stored, and the next one is dropped`() throws {
    let (reader, placements) = try reader(quota(of: 3))
    #expect(
      placements == [
        .place(folds: true), .place(folds: true), .place(folds: true), .place(folds: true), .beyondQuota,
        .beyondQuota, .missing(alice.log, sequence: 5),
      ])
    #expect(reader.store.heads(.records).first { $0.log == alice.log }?.sequence == 3)
    #expect(try reader.store.text(rome, 1) == "3")
    let (tighter, dropped) = try self.reader(quota(of: 3) - 2)
    #expect(dropped[2] == .beyondQuota)
    #expect(try tighter.store.text(rome, 1) == "2")
  }

  @Test func `a dropped set is stored when it arrives again after a grant`() throws {
    let (reader, _) = try reader(quota(of: 3))
    let (informed, _) = try self.reader(quota(of: 5))
    try admit(reader, quota(of: 5))
    #expect(
      try reader.receive(history).placements.suffix(3) == [
        .place(folds: true), .place(folds: true), .place(folds: true),
      ])
    #expect(try state(reader) == state(informed))
  }

  @Test func `sets beyond a quota that shrinks leave, with those that depend on them, and return`() throws {
    let (reader, _) = try reader(quota(of: 5))
    let before = try state(reader)
    let (never, _) = try self.reader(quota(of: 3))
    try admit(reader, quota(of: 3))
    #expect(try state(reader) == state(never))
    #expect(try reader.store.text(rome, 3) == nil)
    // Nothing changes as long as the quota stays.
    let log = alice.log
    let (kept, all) = (quota(of: 3), quota(of: 5))
    #expect(
      try !reader.store.admit(
        by: { _ in .open }, quota: { author, _ in author == log.device ? kept : .max },
        horizon: Device.horizon))
    #expect(
      try reader.store.admit(
        by: { _ in .open }, quota: { author, _ in author == log.device ? all : .max },
        horizon: Device.horizon))
    #expect(try state(reader) == before)
  }

  @Test func `quarantined sets beyond the quota do not cause a rebuild when other sets arrive`() throws {
    let (reader, _) = try reader(quota(of: 5))
    try admit(reader, quota(of: 3))
    let other = try Device("dora")
    let report = try reader.receive(try other.draft(at: 300, [insert(trip(2), [1: .text("Oslo")])]))
    #expect(!report.isRebuilt)
  }

  @Test func `parked sets count`() throws {
    let parked = try Device("mallory")
    let late = Int64(5_000_000)
    for number in 1...3 {
      try parked.receive(
        try parked.draft(at: late, [insert(trip(UInt64(number)), [1: .text("later")])]),
        horizon: Clock(raw: .max))
    }
    let bytes = parked.known[1].logBytes
    let reader = try Device("carol")
    _ = try reader.store.admit(by: { _ in .open }, quota: { _, _ in bytes * 2 }, horizon: Device.horizon)
    #expect(
      try reader.receive(parked.known).placements == [
        .place(folds: false), .place(folds: false), .beyondQuota,
      ])
  }

  @Test func `each branch of a forked log has the room of a whole log`() throws {
    let copy = try Device("alice")
    try copy.receive(Array(alice.known.prefix(2)))
    try copy.write(at: 60, edit(rome, [1: .text("c")]))
    let (reader, _) = try reader(quota(of: 3))
    #expect(try reader.receive(copy.known.suffix(1)).placements == [.place(folds: true)])
  }

  @Test func `an author signs nothing beyond its quota, and its log stays as it was`() throws {
    try admit(alice, quota(of: 5) + 2)
    let before = try state(alice)
    #expect(throws: ChangeSetError.beyondQuota(.records)) {
      try alice.write(at: 300, edit(rome, [1: .text("too much")]))
    }
    #expect(try state(alice) == before)
    try admit(alice, 1 << 20)
    try alice.write(at: 300, edit(rome, [1: .text("enough")]))
    #expect(try alice.store.text(rome, 1) == "enough")
  }

  private struct Chance {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
  }

  @Test(arguments: 1...10)
  func `whenever a grant arrives or becomes void, and in whatever order sets do, the result is the same`(
    _ seed: Int
  ) throws {
    var chance = Chance(state: UInt64(seed))
    let copy = try Device("alice")
    try copy.receive(Array(alice.known.prefix(2)))
    var history = history
    for step in 1...20 {
      let writer = [alice, copy, bob][chance.below(3)]
      if writer === bob { try bob.sync(from: [alice, copy][chance.below(2)]) }
      history += try writer.write(
        at: Int64(300 + step * 10), edit(trip(UInt64(chance.below(3) + 1)), [1: .text("\(step)")]))
    }
    let alices = history.filter { $0.header.log == alice.log }
    let cuts: Set<Set<ChangeSetID>>? = chance.below(2) == 0 ? nil : [[alices[chance.below(alices.count)].id]]
    // The last quota is the one that counts; those before it were known for a while.
    let quotas = (0...2).map { _ in alices[chance.below(alices.count)].logBytes * 2 }
    let last = quotas[2]
    func settled(_ quotas: [UInt64]) throws -> [String] {
      let reader = try Device("carol")
      var waiting = history
      var rest = quotas
      try admit(reader, rest.removeFirst(), cuts: cuts)
      var (step, inVain) = (0, 0)
      while !rest.isEmpty || inVain < waiting.count * 20 {
        step += 1
        inVain += 1
        if !rest.isEmpty, chance.below(20) == 0 { try admit(reader, rest.removeFirst(), cuts: cuts) }
        guard !waiting.isEmpty else { continue }
        let set = waiting.remove(at: chance.below(min(4, waiting.count)))
        switch try reader.receive([set]).placements.first {
        // A set that is not stored is requested again once the quota has changed, and with it the cuts in effect.
        case .missing, .clockConflict, .beyondQuota, .excluded: waiting.append(set)
        default: inVain = 0
        }
        try #require(step < 10_000)
      }
      return try state(reader)
    }
    let expected = try settled([last])
    for _ in 1...3 { #expect(try settled(quotas) == expected) }
    #expect(try settled([UInt64.max, last]) == expected)
  }
}
