import LogStorage
import RecordTables
import Replication
import SQLite
import Storage
import Testing
import Wire

/// Sets that a restored store has without their bytes, or with altered ones: they keep their positions, so that what
/// follows them is there, until a peer sends them again.
@Suite struct KeptPositionTests {
  private let alice: Device
  private let bob: Device

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
    try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]))
    try alice.write(at: 20, edit(trip(1), [1: .text("Roma")]))
    try alice.write(at: 30, insert(trip(2), [1: .text("Oslo")]))
  }

  /// The device receives the second set again, which it lacks, and then has what Alice has.
  private func expectRepair(_ device: Device) throws {
    let lost = alice.known[1]
    #expect(device.store.damagedSets.map(\.id) == [lost.id])
    let report = try device.receive([lost])
    #expect(report.placements == [.duplicate])
    #expect(report.repaired.map(\.id) == [lost.id])
    #expect(device.store.damagedSets == [])
    #expect(try dump(device.store) == dump(alice.store))
  }

  @Test func `a set that was restored with altered bytes keeps its position, and is kept once`() throws {
    let sets = alice.known
    try bob.receive([sets[0]])
    let raw = sets[1].raw
    var plan = raw.plan
    plan[plan.count - 1] ^= 1
    let altered = RawChangeSet(header: raw.header, signature: raw.signature, plan: plan, values: raw.values)
    func keep() throws -> Bool {
      try bob.store.keepDamaged(sets[1].id, sets[1].header, altered, horizon: Device.horizon)
    }
    #expect(try keep())
    #expect(try !keep())
    #expect(try bob.receive([sets[2]]).placements == [.place(folds: true)])
    #expect(try bob.store.text(trip(1), 1) == "Rome")
    #expect(try bob.store.text(trip(2), 1) == "Oslo")
    #expect(bob.store.heads(.records).map(\.sequence) == [3])
    try expectRepair(bob)
  }

  @Test func `the position of a lost set is kept for the next set of its log`() throws {
    let sets = alice.known
    try bob.receive([sets[0]])
    #expect(try bob.receive([sets[2]]).placements == [.missing(alice.log, sequence: 2)])
    try bob.store.keepAncestors(of: sets[2].header, horizon: Device.horizon)
    #expect(try bob.receive([sets[2]]).placements == [.place(folds: true)])
    #expect(try bob.store.text(trip(2), 1) == "Oslo")
    try expectRepair(bob)
  }

  @Test func `the position of a lost set is kept for a set of another log, and its own log goes on`() throws {
    try bob.receive(Array(alice.known.prefix(2)))
    let seen = try bob.write(at: 25, edit(trip(1), [2: .text("sunny")]))
    let header = try #require(seen.first).header
    let carol = try Device("carol")
    try carol.receive([alice.known[0]])
    try carol.store.keepAncestors(of: header, horizon: Device.horizon)
    #expect(try carol.receive(seen).placements == [.place(folds: true)])
    #expect(try carol.store.text(trip(1), 2) == "sunny")
    // How much the lost set added to its log is known only from the next one.
    #expect(try carol.receive([alice.known[2]]).placements == [.place(folds: true)])
    try alice.receive(seen)
    try expectRepair(carol)
    // Without the beginning of the log, there is no position to keep.
    let dora = try Device("dora")
    try dora.store.keepAncestors(of: header, horizon: Device.horizon)
    #expect(dora.store.heads(.records) == [] && dora.store.damagedSets == [])
    #expect(try dora.receive(seen).placements == [.missing(alice.log, sequence: 2)])
  }

  // MARK: Checking

  @Test func `of the sets that another reader found damaged, those that are so are remembered`() throws {
    try alice.store.connection.execute("UPDATE change_sets SET signature = zeroblob(64) WHERE number = 2")
    let log = alice.log
    let named = alice.known.map { DamagedSet(id: $0.id, log: log, sequence: $0.header.sequence) }
    let unknown = DamagedSet(id: ChangeSetID(Bytes32(9, 9, 9, 9)), log: log, sequence: 2)
    try alice.store.checkAgain([unknown, named[0], named[2]])
    #expect(alice.store.damagedSets == [])
    try alice.store.checkAgain(named)
    #expect(alice.store.damagedSets == [named[1]])
  }

  @Test func `a check with room for little examines one set at a time, and misses none`() throws {
    try alice.store.connection.execute("UPDATE change_sets SET signature = zeroblob(64) WHERE number = 2")
    var damaged: [Int] = []
    var last: Int64 = 0
    for _ in 0..<3 {
      let stretch = try alice.store.check(after: last, setsMax: 10, bytesMax: 1)
      #expect(stretch.count == 1 && stretch.last == last + 1)
      damaged.append(stretch.damaged)
      last += 1
    }
    #expect(damaged == [0, 1, 0])
    let end = try alice.store.check(after: last, setsMax: 10, bytesMax: 1)
    #expect(end.last == nil && end.count == 0)
  }
}
