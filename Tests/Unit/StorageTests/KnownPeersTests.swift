import LogStorage
import Membership
import RecordTables
import Records
import Replication
import Testing
import Wire

@testable import Storage

/// What a store remembers about its peers and about itself, next to the log: after a restart it must be the same.
@Suite struct KnownPeersTests {
  private struct Failure: Error {}

  private let alice: Device
  private let bob: Device
  private let rome = trip(1)

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    try bob.write(at: 20, edit(rome, [2: .text("sunny")]))
    try alice.sync(from: bob)
  }

  /// A head as a peer announces it: how far a peer has folded is not stored.
  private func head(of device: Device) throws -> LogHead {
    let head = try #require(device.store.heads(.records).first { $0.log == device.log })
    return LogHead(log: head.log, sequence: head.sequence, id: head.id, foldedSequence: 0)
  }

  // MARK: Holdings

  @Test func `what each device holds is read back as it was stored, for each device by itself`() throws {
    let (one, other) = (bob.log.device, DeviceKey(Bytes32(9, 9, 9, 9)))
    var full = Replica.Holding()
    full.syncedAt = 70
    full[.records].heads = Heads([try head(of: alice), try head(of: bob)])
    full[.records].levelAt = 50
    full[.records].toldAt = 60
    full[.settings].toldAt = 40
    let empty = Replica.Holding()
    try alice.store.keep(full, of: one)
    try alice.store.keep(empty, of: other)
    #expect(try alice.store.holdings() == [one: full, other: empty])
    // What is stored again replaces what was known, and does not add to it.
    var less = Replica.Holding()
    less[.records].heads = Heads([try head(of: bob)])
    less[.settings].levelAt = 80
    try alice.store.keep(less, of: one)
    #expect(try alice.store.holdings() == [one: less, other: empty])
    try alice.store.keep(nil, of: other)
    #expect(try alice.store.holdings() == [one: less])
  }

  @Test func `heads of logs that this store lacks are not stored, so that peers can't fill it`() throws {
    var holding = Replica.Holding()
    let strange = LogKey(
      device: DeviceKey(Bytes32(5, 5, 5, 5)), incarnation: Incarnation(Bytes16(1, 1)), lane: .records)
    let made = LogHead(
      log: strange, sequence: 7, id: ChangeSetID(Bytes32(1, 1, 1, 1)), foldedSequence: 0)
    holding[.records].heads = Heads([made, try head(of: alice)])
    try alice.store.keep(holding, of: bob.log.device)
    let stored = try #require(try alice.store.holdings()[bob.log.device])
    let known = try head(of: alice)
    #expect(stored[.records].heads.sorted == [known])
  }

  @Test func `unreadable lines about a device count as unknown, and the others are read`() throws {
    let good = try head(of: alice)
    let text = [
      "synced now", "lane 1 50 -", "lane 7 1 1", "lane 0", "head 1 \(good.log.device) zz 1 \(good.id)",
      "head 1 \(good.log.device) \(good.log.incarnation) 0 \(good.id)",
      "head 1 \(good.log.device) \(good.log.incarnation) \(good.sequence) \(good.id)", "other 1", "",
    ].joined(separator: "\n")
    try alice.store.setMeta("holds.\(bob.log.device)", Array(text.utf8))
    try alice.store.setMeta("holds.no device", Array("synced 5".utf8))
    let holdings = try alice.store.holdings()
    #expect(Set(holdings.keys) == [bob.log.device])
    let holding = try #require(holdings[bob.log.device])
    #expect(holding.syncedAt == nil)
    #expect(holding[.records].levelAt == 50 && holding[.records].toldAt == nil)
    #expect(holding[.settings].levelAt == nil && holding[.records].heads.sorted == [good])
  }

  @Test func `the newest of some heads is that with the latest clock, and unknown ones do not count`() throws
  {
    let unknown = LogHead(
      log: alice.log, sequence: 9, id: ChangeSetID(Bytes32(1, 1, 1, 1)), foldedSequence: 0)
    let heads = [try head(of: bob), try head(of: alice), unknown]
    let newest = try #require(bob.known.last)
    for order in [heads, heads.reversed()] {
      let found = try alice.store.newestOrigin(of: order)
      #expect(found?.clock == newest.header.clock)
      #expect(
        found?.operation == OperationKey(id: newest.header.operation, device: bob.log.device))
    }
    for none in [[unknown], []] {
      let clock = try alice.store.newestOrigin(of: none)?.clock
      #expect(clock == nil)
    }
    let held = try head(of: bob)
    #expect(try alice.store.holds(held))
    #expect(try !alice.store.holds(unknown))
  }

  // MARK: Quotas

  @Test func `the use of a quota is that of all logs of a device, of the longest branch of each`() throws {
    let copy = try Device("alice")
    try copy.receive(Array(alice.known.prefix(1)))
    for number: UInt64 in 1...3 {
      try copy.write(at: 100 + Moment(number), insert(trip(number + 10), [1: .text("copy")]))
    }
    try alice.write(at: 100, edit(rome, [1: .text("Roma")]))
    try alice.sync(from: copy)
    let device = alice.log.device
    _ = try alice.store.admit(
      by: { _ in .open }, quota: { author, _ in author == device ? 10_000 : 1_000_000 },
      horizon: Device.horizon)
    let longest = try #require(copy.known.last).logBytes
    let usages = alice.store.quotaUsages()
    #expect(usages.map(\.device) == [device, bob.log.device].sorted())
    let usage = try #require(usages.first { $0.device == device })
    #expect(usage.lane == .records)
    #expect(usage.bytes == longest && usage.fullestBytes == longest)
    #expect(usage.quota == 10_000 && usage.fullestShare == 5_000, "a first incarnation has half of it")
    #expect(usage.percent == Int(longest * 100 / 5_000))
    let written = try #require(bob.known.last).logBytes
    #expect(try alice.store.room(in: bob.log) == 500_000 - written)
  }

  @Test(
    arguments: [
      (0, 100, 0, false), (90, 100, 90, false), (91, 100, 91, true), (99, 100, 99, true),
      (100, 100, 100, true), (150, 100, 150, true), (UInt64.max, UInt64.max, 100, true),
      (UInt64.max / 2, UInt64.max, 49, false),
    ] as [(UInt64, UInt64, Int, Bool)])
  func `a quota is nearly used beyond nine tenths, and its percentage is rounded down`(
    bytes: UInt64, share: UInt64, percent: Int, isNearlyUsed: Bool
  ) {
    let usage = QuotaUsage(
      device: DeviceKey(.zero), lane: .records, bytes: bytes, quota: share, fullestBytes: bytes,
      fullestShare: share)
    #expect(usage.percent == percent)
    #expect(usage.isNearlyUsed == isNearlyUsed)
  }

  // MARK: Statements, parked sets and what was seen

  @Test func `replacing all statements removes the others and leaves those that stay as they were`() throws {
    let ids = (1...3).map { StatementID(Bytes32(UInt64($0), 0, 0, 0)) }
    try alice.store.saveStatements([(ids[0], [1]), (ids[1], [2])])
    try alice.store.replaceStatements([(ids[1], [9]), (ids[2], [3])])
    #expect(try alice.store.statements() == [[2], [3]])
    try alice.store.replaceStatements([])
    #expect(try alice.store.statements() == [])
  }

  @Test func `the authors of parked sets are listed until their sets are folded`() throws {
    let mallory = try Device("mallory")
    try mallory.receive(
      try mallory.draft(at: 2_000_000, [insert(trip(7), [:])]), horizon: Clock(raw: .max))
    #expect(try alice.store.parkedAuthors() == [])
    try alice.receive(mallory.known)
    #expect(try alice.store.parkedAuthors() == [mallory.log.device])
    #expect(try alice.store.parkedCount(.settings) == 0)
    _ = try alice.store.foldParked(horizon: Clock(milliseconds: 2_000_000))
    #expect(try alice.store.parkedAuthors() == [])
  }

  @Test func `of several changes at once that fail none has happened, in memory neither`() throws {
    let before = try dump(alice.store)
    let heads = alice.store.heads(.records)
    let sets = try alice.draft(at: 30, [edit(rome, [1: .text("Roma")])])
    try alice.store.setMeta("name", [1])
    #expect(throws: Failure.self) {
      try alice.store.atOnce {
        try alice.store.setMeta("name", [2])
        try alice.store.setMeta("other", [3])
        throw Failure()
      }
    }
    #expect(try alice.store.meta("name") == [1])
    #expect(try alice.store.meta("other") == nil)
    #expect(throws: Failure.self) {
      try alice.store.commit(sets, horizon: Device.horizon, noting: { _ in throw Failure() })
    }
    #expect(try dump(alice.store) == before)
    #expect(alice.store.heads(.records) == heads)
    let position = try alice.store.authorPosition(circle: Device.circle, log: alice.log)
    #expect(position.sequence == 1 && position.unseen.map(\.sequence) == [1])
    try alice.receive(sets)
    #expect(try alice.store.text(rome, 1) == "Roma")
  }

  @Test func `which sets were stored when all was in sync is known after a restart, for each lane`() throws {
    var synced = try SyncedSets(alice.store)
    #expect(synced.newest.isEmpty && !synced.isNews)
    synced.note([.records], upTo: 2)
    #expect(synced.newest == [.records: 2] && synced.isNews)
    try synced.save(to: alice.store)
    #expect(!synced.isNews)
    synced.note([.records], upTo: 2)
    #expect(!synced.isNews, "nothing to store")
    synced.note([.settings, .records], upTo: 5)
    #expect(synced.isNews)
    try synced.save(to: alice.store)
    var again = try SyncedSets(alice.store)
    #expect(again.newest == [.settings: 5, .records: 5] && !again.isNews)
    again.renumber(upTo: 3)
    #expect(again.newest == [.settings: 3, .records: 3] && again.isNews)
  }
}
