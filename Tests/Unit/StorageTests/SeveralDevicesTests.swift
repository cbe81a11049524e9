import LogStorage
import Membership
import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// What a store reports if several devices, logs, operations or kinds of records are involved at once.
@Suite struct SeveralDevicesTests {
  private let alice: Device
  private let bob: Device
  private let carol: Device

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
    carol = try Device("carol")
  }

  private func setting(_ number: UInt64) -> RecordKey {
    RecordKey(kind: KindNumbers.setting, id: id(number))
  }

  /// Writes one set into any log of a device, and stores it in the device's store.
  @discardableResult
  private func write(
    _ number: UInt64, by device: Device, in log: LogKey, at wall: Moment, _ drafts: EntryDraft...
  ) throws -> VerifiedChangeSet {
    var author = Author(
      position: try device.store.authorPosition(circle: Device.circle, log: log), key: device.key,
      seed: device.nextSeed)
    let operation = OperationDraft(id: OperationID(Bytes16(99, number)), verb: "test")
    let sets = try author.write(drafts, operation: operation, wall: wall)
    try device.receive(sets)
    return try #require(sets.first)
  }

  // MARK: Quotas

  @Test
  func `the use of a quota is the sum of a device's logs in a lane, and the fullest has the least room`()
    throws
  {
    let device = alice.log.device
    let next = LogKey(
      device: device, incarnation: Incarnation(random: Bytes16(5, 5), number: 2), lane: .records)
    let settings = LogKey(device: device, incarnation: alice.log.incarnation, lane: .settings)
    var (first, second): (UInt64, UInt64) = (0, 0)
    for number in UInt64(1)...6 {
      let draft = insert(trip(number), [1: .text("Rome")])
      first = try write(number, by: alice, in: alice.log, at: Moment(number), draft).logBytes
    }
    for number in UInt64(7)...8 {
      let draft = insert(trip(number), [1: .text("Oslo")])
      second = try write(number, by: alice, in: next, at: Moment(number), draft).logBytes
    }
    let third = try write(9, by: alice, in: settings, at: 9, insert(setting(1), [1: .text("key")])).logBytes
    try bob.write(at: 10, insert(trip(20), [1: .text("Bern")]))
    try alice.sync(from: bob)
    _ = try alice.store.admit(
      by: { _ in .open },
      quota: { author, lane in author == device ? (lane == .records ? 640_000 : 64_000) : 1_000_000 },
      horizon: Device.horizon)
    let usages = alice.store.quotaUsages()
    #expect(usages.count == 3)
    let records = try #require(usages.first { $0.device == device && $0.lane == .records })
    #expect(records.bytes == first + second && records.quota == 640_000)
    // The later incarnation has a much smaller share, although the first one holds more.
    #expect(first > second && records.fullestBytes == second && records.fullestShare == 20_000)
    let other = try #require(usages.first { $0.device == device && $0.lane == .settings })
    #expect(other.bytes == third && other.fullestBytes == third)
    #expect(other.quota == 64_000 && other.fullestShare == 32_000)
    let bobs = try #require(usages.first { $0.device == bob.log.device })
    #expect(bobs.lane == .records && bobs.quota == 1_000_000 && bobs.bytes == bob.known.last?.logBytes)
  }

  // MARK: Reports

  @Test func `the report of a batch adds up its sets by kind, lane and device`() throws {
    let names: [FieldNumber: Value] = [1: .text("Rome")]
    try bob.write(at: 10, insert(trip(1), names), insert(trip(2), names), insert(trip(3), names))
    try bob.write(at: 11, delete(trip(3)))
    for device in [alice, carol] { try device.sync(from: bob) }
    let first = try bob.write(
      at: 50, insert(trip(6), names), edit(trip(1), [2: .text("sunny")]), lodging(1, of: trip(1)),
      lodging(2, of: trip(6)))
    let carols = try carol.write(at: 40, delete(trip(2)), restore(trip(3)))
    let second = try bob.write(at: 60, edit(trip(1), [1: .text("Roma")]))
    let settings = LogKey(device: bob.log.device, incarnation: bob.log.incarnation, lane: .settings)
    let third = try write(1, by: bob, in: settings, at: 30, insert(setting(1), [1: .text("key")]))

    let report = try alice.receive(first + carols + second + [third])
    let placed: [Lane: Int] = [.records: 3, .settings: 1]
    #expect(report.placed == placed)
    #expect(report.foldedCount == 4 && report.foldedNumbers.count == 4)
    // The set that comes last has an earlier clock.
    #expect(
      report.foldedClocks == [
        bob.log.device: Clock(milliseconds: 60), carol.log.device: Clock(milliseconds: 40),
      ])
    let trips = CommitReport.EntryCounts(inserts: 1, edits: 2, deletes: 1, restores: 1)
    #expect(report.entries[KindNumbers.trip] == trips)
    #expect(report.entries[KindNumbers.lodging] == CommitReport.EntryCounts(inserts: 2))
    #expect(report.entries[KindNumbers.setting] == CommitReport.EntryCounts(inserts: 1))
    #expect(report.entries.count == 3 && report.entryCount == 8)
    let written: Set<RecordKey> = [
      trip(1), trip(2), trip(3), trip(6), lodging(1), lodging(2), setting(1),
    ]
    #expect(report.records == written)
    #expect(report.heads.map(\.log) == [bob.log, carol.log, settings].sorted())
  }

  @Test func `deletions of a batch are told apart by operation, each with all that it hid`() throws {
    let names: [FieldNumber: Value] = [1: .text("Rome")]
    try bob.write(
      at: 10, insert(trip(1), names), insert(trip(2), names), insert(trip(3), names), lodging(1, of: trip(1)),
      lodging(2, of: trip(1)), lodging(3, of: trip(2)), insert(habit(1), names), insert(habit(2), names))
    try alice.sync(from: bob)
    try alice.write(at: 20, insert(trip(4), names), insert(trip(5), names))
    for device in [bob, carol] { try device.sync(from: alice) }
    let seen = alice.store.newestNumber

    let own = try alice.draft(at: 90, [delete(trip(5))])
    // One lodging is deleted both by itself and with its trip.
    let first = try bob.write(at: 100, delete(trip(1)), delete(trip(2)), delete(lodging(1)), delete(habit(1)))
    let carols = try carol.write(at: 110, delete(habit(2)), delete(trip(4)))
    let second = try bob.write(at: 120, delete(trip(3)))
    let report = try alice.receive(own + first + carols + second)

    func counts(_ seen: [Lane: Int64]) throws -> [[KindNumber: Int]] {
      try alice.store.deletions(report, exceptBy: alice.log.device, seen: seen)
        .map { $0.records.filter { $0.value > 0 } }
    }
    let (trips, lodgings, habits) = (KindNumbers.trip, KindNumbers.lodging, KindNumbers.habit)
    let all = try alice.store.deletions(report, exceptBy: alice.log.device, seen: [.records: seen])
    #expect(all.map(\.operation.device) == [bob, carol, bob].map(\.log.device))
    #expect(all.map(\.clock.milliseconds) == [100, 110, 120])
    let operations = [first, carols, second].compactMap { $0.first?.header.operation }
    #expect(all.map(\.operation.id) == operations)
    let expected: [[KindNumber: Int]] = [
      [trips: 2, lodgings: 3, habits: 1], [trips: 1, habits: 1], [trips: 1],
    ]
    #expect(try counts([.records: seen]) == expected)
    // What was seen of the other lane doesn't matter. Of the records, only its own were seen by this device.
    #expect(try counts([.settings: seen]) == [[trips: 1]])
    #expect(try counts([:]) == [[trips: 1]])
  }

  // MARK: Discards

  @Test(arguments: [false, true])
  func `of several devices that are discarded, each has its own week`(isFinal: Bool) throws {
    for number in UInt64(1)...2 { try alice.write(at: Moment(number), insert(trip(number), [:])) }
    for number in UInt64(3)...5 { try carol.write(at: Moment(number), insert(trip(number), [:])) }
    for device in [alice, carol] { try bob.sync(from: device) }
    try bob.write(at: 9, insert(trip(9), [1: .text("Bern")]))
    let kept = bob.log.device
    _ = try bob.store.admit(
      by: { $0.device == kept ? .open : .cut([[]]) }, horizon: Device.horizon)
    let (week, day) = (Limits.discardMilliseconds, Int64(86_400_000))
    let one = [alice.log.device: false]
    let both = [alice.log.device: false, carol.log.device: isFinal]
    #expect(try bob.store.deleteDiscarded(one, now: 1_000) == 0)
    #expect(try bob.store.deleteDiscarded(both, now: 1_000 + day) == (isFinal ? 3 : 0))
    #expect(try bob.store.deleteDiscarded(both, now: 999 + week) == 0)
    #expect(try bob.store.deleteDiscarded(both, now: 1_000 + week) == 2)
    #expect(try bob.store.deleteDiscarded(both, now: 999 + week + day) == 0)
    #expect(try bob.store.deleteDiscarded(both, now: 1_000 + week + day) == (isFinal ? 0 : 3))
  }

  @Test func `a record counts for the device that wrote the newest of its fields, visible or not`() throws {
    let names: [FieldNumber: Value] = [1: .text("Rome")]
    try alice.write(
      at: 10, insert(trip(1), names), insert(trip(2), names), insert(trip(3), names), insert(habit(1), names))
    for device in [bob, carol] { try device.sync(from: alice) }
    try bob.write(at: 20, edit(trip(2), [2: .text("sunny")]), edit(trip(3), [1: .text("Roma")]))
    try carol.write(at: 30, delete(trip(1)))
    try alice.write(at: 40, edit(trip(3), [2: .text("hot")]))
    for device in [bob, carol] { try alice.sync(from: device) }
    let counts = try [alice, bob, carol].map { try alice.store.recordCount(lastChangedBy: $0.log.device) }
    #expect(counts == [2, 1, 1])
  }

  // MARK: Items that move

  private func move(_ number: UInt64, to parent: UInt64) -> EntryDraft {
    edit(lodging(number), [1: .bytes(trip(parent).id.bytes)])
  }

  /// For each of three trips, the number of its lodgings and the sums of their costs.
  private func summaries(_ device: Device) throws -> [String] {
    try (UInt64(1)...3).map { number in
      let summary = try device.store.tripSummary(id(number))
      let totals = summary.totals.map { "\($0.amount ?? "-") \($0.currency ?? "-")" }
      return (["\(summary.lodgings)"] + totals).joined(separator: ", ")
    }
  }

  @Test func `items that move are counted once, where they are, in every order of the moves`() throws {
    let dora = try Device("dora")
    func cost(_ amount: String) -> [FieldNumber: Value] { [5: .array([.text(amount), .text("EUR")])] }
    let names: [FieldNumber: Value] = [1: .text("Rome")]
    try bob.write(
      at: 10, insert(trip(1), names), insert(trip(2), names), insert(trip(3), names),
      lodging(1, of: trip(1), cost("120")), lodging(2, of: trip(3), cost("30")))
    try alice.sync(from: bob)
    #expect(try summaries(alice) == ["1, 120 EUR", "0", "1, 30 EUR"])
    // Two moves in one batch, then two items that change places in one set.
    let moves = [
      try bob.write(at: 20, move(1, to: 2)), try bob.write(at: 30, move(1, to: 3)),
    ]
    try alice.receive(moves.flatMap { $0 })
    #expect(try summaries(alice) == ["0", "0", "2, 150 EUR"])
    try bob.write(at: 40, move(1, to: 1), move(2, to: 2))
    for device in [alice, carol, dora] { try device.sync(from: bob) }
    #expect(try summaries(alice) == ["1, 120 EUR", "1, 30 EUR", "0"])
    // Concurrent moves, of which the later one wins, in both orders.
    let early = try carol.write(at: 50, move(1, to: 2))
    let late = try bob.write(at: 60, move(1, to: 3))
    for (device, order) in [(alice, late + early), (dora, early + late)] {
      for set in order { try device.receive([set]) }
      #expect(try summaries(device) == ["0", "1, 30 EUR", "1, 120 EUR"], "\(device.name)")
    }
    // An item that moves in the trash counts where it comes back.
    try bob.sync(from: carol)
    try bob.write(at: 70, delete(lodging(1)))
    try alice.sync(from: bob)
    #expect(try summaries(alice) == ["0", "1, 30 EUR", "0"])
    try bob.write(at: 80, move(1, to: 1))
    try alice.sync(from: bob)
    #expect(try summaries(alice) == ["0", "1, 30 EUR", "0"])
    try bob.write(at: 90, restore(lodging(1)))
    for device in [alice, dora] {
      try device.sync(from: bob)
      #expect(try summaries(device) == ["1, 120 EUR", "1, 30 EUR", "0"], "\(device.name)")
      #expect(try device.store.visibleCounts()[KindNumbers.lodging] == 2)
    }
  }
}
