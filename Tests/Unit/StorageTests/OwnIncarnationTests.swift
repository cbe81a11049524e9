import LogStorage
import Membership
import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// A device that writes in several incarnations: which one it has left, which numbers are free, and how late it is.
@Suite struct OwnIncarnationTests {
  private let alice: Device
  private let bob: Device

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
  }

  /// A log of a device in another incarnation or lane.
  private func otherLog(of device: Device, _ number: Int, _ lane: Lane) -> LogKey {
    let incarnation =
      number == device.log.incarnation.number
      ? device.log.incarnation : Incarnation(random: Bytes16(5, 5), number: number)
    return LogKey(device: device.log.device, incarnation: incarnation, lane: lane)
  }

  /// Writes one set into any log of a device, and stores it in the device's store.
  @discardableResult
  private func write(by device: Device, in log: LogKey, at wall: Moment) throws -> VerifiedChangeSet {
    var author = Author(
      position: try device.store.authorPosition(circle: Device.circle, log: log), key: device.key,
      seed: device.nextSeed)
    let operation = OperationDraft(id: OperationID(Bytes16(99, UInt64(wall))), verb: "test")
    let kind = log.lane == .settings ? KindNumbers.setting : KindNumbers.trip
    let draft = insert(RecordKey(kind: kind, id: id(UInt64(wall))), [1: .text("Rome")])
    let sets = try author.write([draft], operation: operation, wall: wall)
    try device.receive(sets, horizon: Clock(raw: .max))
    return try #require(sets.first)
  }

  @Test func `a number is free if the device has no set of it, stored or quarantined, in either lane`() throws
  {
    #expect(alice.log.incarnation.number == 1)
    let seventh = otherLog(of: alice, 7, .settings)
    try write(by: alice, in: alice.log, at: 10)
    try write(by: alice, in: seventh, at: 20)
    try write(by: bob, in: otherLog(of: bob, 3, .records), at: 30)
    try bob.sync(from: alice)
    let device = alice.log.device
    let free = Set(1...Limits.incarnationsMax).subtracting([1, 7])
    #expect(try bob.store.freeNumbers(of: device) == free)
    #expect(try !bob.store.hasQuarantined(device, seventh.incarnation))
    _ = try bob.store.admit(by: { $0 == seventh ? .cut([[]]) : .open }, horizon: Device.horizon)
    #expect(bob.store.heads(.settings) == [])
    #expect(try bob.store.freeNumbers(of: device) == free)
    #expect(try bob.store.hasQuarantined(device, seventh.incarnation))
    #expect(try !bob.store.hasQuarantined(device, alice.log.incarnation))
    #expect(try !bob.store.hasQuarantined(bob.log.device, seventh.incarnation))
  }

  @Test func `an author has left a log if it has written in another incarnation since`() throws {
    let first = alice.log
    let second = otherLog(of: alice, 2, .settings)
    try write(by: alice, in: first, at: 10)
    #expect(!alice.store.hasLeft(first))
    try write(by: alice, in: otherLog(of: alice, 1, .settings), at: 15)
    try write(by: bob, in: otherLog(of: bob, 2, .records), at: 20)
    try alice.sync(from: bob)
    #expect(!alice.store.hasLeft(first), "neither its other lane nor another device counts")
    try write(by: alice, in: second, at: 30)
    #expect(alice.store.hasLeft(first) && !alice.store.hasLeft(second))
    try write(by: alice, in: first, at: 40)
    #expect(!alice.store.hasLeft(first) && alice.store.hasLeft(second))
    #expect(alice.store.incarnations(of: first.device) == [first.incarnation, second.incarnation])
    #expect(alice.store.incarnations(of: bob.log.device).count == 1)
  }

  @Test func `the newest clock is that of either lane, of the device or the others, folded or not`() throws {
    let device = alice.log.device
    #expect(alice.store.newestClock(of: device) == .zero)
    let own = try write(by: alice, in: otherLog(of: alice, 1, .settings), at: 300)
    try write(by: alice, in: alice.log, at: 100)
    let bobs = try write(by: bob, in: otherLog(of: bob, 1, .settings), at: 200)
    try write(by: bob, in: bob.log, at: 150)
    try alice.sync(from: bob)
    #expect(alice.store.newestClock(of: device) == own.header.clock)
    #expect(alice.store.newestClock(otherThan: device) == bobs.header.clock)
    #expect(alice.store.newestFoldedClock(otherThan: device) == bobs.header.clock)
    let parked = try write(by: bob, in: bob.log, at: 2_000_000)
    try alice.receive([parked])
    #expect(alice.store.newestClock(otherThan: device) == parked.header.clock)
    #expect(alice.store.newestFoldedClock(otherThan: device) == bobs.header.clock)
    #expect(alice.store.newestClock(of: device) == own.header.clock)
  }
}
