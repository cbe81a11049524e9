import LogStorage
import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// What a store says about erased records, held erases and the sets that still have values.
@Suite struct ErasedRecordTests {
  private let alice: Device
  private let bob: Device
  private let carol: Device
  private let names: [FieldNumber: Value] = [1: .text("Rome")]

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
    carol = try Device("carol")
  }

  // MARK: Erased records

  @Test func `a record of which nothing is left is told apart from one that is only deleted or empty`() throws
  {
    try alice.write(
      at: 10, insert(trip(1), names), insert(trip(2), names), insert(trip(3), names), insert(trip(4), [:]))
    let erased = try alice.write(at: 20, erase(trip(1)), delete(trip(2)), erase(trip(3)), delete(trip(4)))
    try alice.write(at: 30, restore(trip(3)))
    func left(_ number: UInt64) throws -> ChangeSetID? {
      let row = try #require(try alice.store.record(trip(number)))
      return try alice.store.completeErasure(of: row)?.place.origin.stamp.set
    }
    #expect(try left(1) == erased.first?.id)
    #expect(try left(2) == nil, "it has its values")
    #expect(try left(3) == nil, "it is alive")
    #expect(try left(4) == nil, "it never had values")
    try alice.write(at: 40, edit(trip(1), [2: .text("sunny")]))
    #expect(try left(1) == nil, "it has a value again")
  }

  @Test func `of several erases of a record the newest by their clocks counts, in any order of arrival`()
    throws
  {
    try alice.write(at: 10, insert(trip(1), names))
    for device in [bob, carol] { try device.sync(from: alice) }
    let early = try bob.write(at: 20, erase(trip(1)))
    let late = try carol.write(at: 30, erase(trip(1)))
    for order in [early + late, late + early] {
      let reader = try Device("dora")
      try reader.sync(from: alice)
      for set in order { try reader.receive([set]) }
      let erasure = try #require(try reader.store.erasure(of: trip(1)))
      #expect(erasure.device == carol.log.device && erasure.clock == late.first?.header.clock)
    }
    #expect(try alice.store.erasure(of: trip(1))?.number == nil)
  }

  @Test func `the newest erase of a device is found by lane, and only from a time on`() throws {
    let setting = RecordKey(kind: KindNumbers.setting, id: id(1))
    let settings = LogKey(device: bob.log.device, incarnation: bob.log.incarnation, lane: .settings)
    func writeSetting(_ number: UInt64, at wall: Moment, _ draft: EntryDraft) throws -> VerifiedChangeSet {
      var author = Author(
        position: try bob.store.authorPosition(circle: Device.circle, log: settings), key: bob.key,
        seed: bob.nextSeed)
      let operation = OperationDraft(id: OperationID(Bytes16(99, number)), verb: "test")
      let sets = try author.write([draft], operation: operation, wall: wall)
      try bob.receive(sets)
      return try #require(sets.first)
    }
    try bob.write(at: 10, insert(trip(1), names), insert(trip(2), names), insert(trip(3), names))
    try bob.write(at: 20, erase(trip(1)))
    let newest = try #require(try bob.write(at: 30, erase(trip(2))).first)
    _ = try writeSetting(1, at: 40, insert(setting, [1: .text("key")]))
    let other = try writeSetting(2, at: 50, erase(setting))
    try bob.write(at: 60, edit(trip(3), [2: .text("sunny")]))
    for device in [alice, carol] { try device.sync(from: bob) }
    try carol.write(at: 70, erase(trip(3)))
    try alice.sync(from: carol)
    func found(_ device: Device, _ lane: Lane, since: Clock = .zero) throws -> ChangeSetID? {
      try alice.store.newestErase(by: device.log.device, lane, since: since)?.origin.stamp.set
    }
    #expect(try found(bob, .records) == newest.id)
    #expect(try found(bob, .records, since: newest.header.clock) == newest.id)
    #expect(try found(bob, .records, since: newest.header.clock.next) == nil)
    #expect(try found(bob, .settings) == other.id)
    #expect(try found(carol, .records) == carol.known.last?.id)
    #expect(try found(alice, .records) == nil)
  }

  @Test
  func `records that no erase has named and that have values are still to be erased, also in the trash`()
    throws
  {
    try alice.write(
      at: 10, insert(trip(1), names), insert(trip(2), names), insert(trip(3), [:]), insert(trip(4), names))
    try alice.write(at: 20, erase(trip(1)), delete(trip(4)))
    // What was written after the erase is not what was erased elsewhere.
    try alice.write(at: 30, restore(trip(1)), edit(trip(1), [1: .text("Roma")]))
    let asked = [trip(9), trip(4), trip(3), trip(2), trip(1)]
    #expect(try alice.store.unerased(asked).map(\.key) == [trip(4), trip(2)])
  }

  // MARK: Sets with values

  @Test func `a set has values of a record until they are erased, and a deletion has none`() throws {
    let first = try alice.write(at: 10, insert(trip(1), names))
    let second = try alice.write(at: 20, edit(trip(1), [1: .text("Roma")]), insert(trip(2), names))
    try alice.write(at: 30, delete(trip(1)))
    func sets(_ records: RecordKey...) throws -> [ChangeSetID] {
      try alice.store.setsWithValues(of: Set(records)).map(\.origin.stamp.set)
    }
    let (one, two) = (try #require(first.first).id, try #require(second.first).id)
    #expect(try sets(trip(1)) == [one, two])
    #expect(try sets(trip(2)) == [two])
    #expect(try sets(trip(1), trip(2)) == [one, two])
    try alice.write(at: 40, erase(trip(1)))
    #expect(try sets(trip(1)) == [])
    #expect(try sets(trip(1), trip(2)) == [two])
  }

  @Test func `a head leads to the sets before it in its own branch, and to no others`() throws {
    let first = try alice.write(at: 10, insert(trip(1), names))
    let copy = try Device("alice")
    try copy.receive(first)
    try alice.write(at: 20, edit(trip(1), [1: .text("Roma")]))
    let branch = try copy.write(at: 21, edit(trip(1), [1: .text("Rom")]))
    try bob.sync(from: alice)
    try bob.receive(branch)
    let places = try (Int64(1)...3).map { try bob.store.place($0) }
    let heads = places.map { place in
      let sequence = UInt64(bitPattern: place.sequence)
      return LogHead(
        log: place.log, sequence: sequence, id: place.origin.stamp.set, foldedSequence: sequence)
    }
    var found: [[Bool]] = []
    for head in heads { found.append(try places.map { try bob.store.leads(head, to: $0) }) }
    #expect(found == [[true, false, false], [true, true, false], [true, false, true]])
    let unknown = LogHead(
      log: alice.log, sequence: 2, id: ChangeSetID(Bytes32(9, 9, 9, 9)), foldedSequence: 2)
    #expect(try !bob.store.leads(unknown, to: places[0]))
    let strange = LogHead(log: bob.log, sequence: 2, id: heads[1].id, foldedSequence: 2)
    #expect(try !bob.store.leads(strange, to: places[0]))
  }

  // MARK: Held erases

  @Test func `heads move back to before the first held erase, and those of other devices stay`() throws {
    try bob.write(at: 10, insert(trip(1), names), insert(trip(2), names), insert(trip(3), names))
    let dora = try Device("dora")
    try dora.sync(from: bob)
    let before = try #require(try bob.write(at: 20, edit(trip(1), [2: .text("sunny")])).first)
    var held = try bob.write(at: 30, erase(trip(1)))
    try bob.write(at: 40, edit(trip(2), [2: .text("cold")]))
    held += try bob.write(at: 50, erase(trip(2)))
    held += try dora.write(at: 60, erase(trip(3)))
    try carol.write(at: 70, insert(trip(9), names))
    for device in [bob, dora, carol] { try alice.sync(from: device) }
    try alice.store.holdErases(held.map(\.id), until: 900)
    #expect(try alice.store.firstHeldErases(by: bob.log.device).map(\.sequence) == [3])
    func head(_ device: Device) throws -> LogHead {
      try #require(alice.store.heads(.records).first { $0.log == device.log })
    }
    let moved = LogHead(log: bob.log, sequence: 2, id: before.id, foldedSequence: 2)
    let (bobs, carols, doras) = (try head(bob), try head(carol), try head(dora))
    #expect(
      try alice.store.heads([bobs, carols], beforeHeldErasesBy: bob.log.device) == [moved, carols])
    #expect(try alice.store.heads([moved], beforeHeldErasesBy: bob.log.device) == [moved])
    #expect(try alice.store.heads([doras], beforeHeldErasesBy: dora.log.device) == [], "nothing is before it")
    #expect(try alice.store.heads([doras], beforeHeldErasesBy: bob.log.device) == [doras])
  }

  @Test func `of the held erases of a record the last one counts, and each keeps its first date`() throws {
    try bob.write(at: 10, insert(trip(1), names), insert(trip(2), names))
    try carol.sync(from: bob)
    let first = try bob.write(at: 20, erase(trip(1)))
    let second = try carol.write(at: 30, erase(trip(1)))
    try alice.sync(from: bob)
    try alice.sync(from: carol)
    #expect(try alice.store.heldErase(of: trip(1))?.due == nil)
    #expect(try alice.store.nextHeldErase == nil)
    try alice.store.holdErases(second.map(\.id), until: 900)
    try alice.store.holdErases(first.map(\.id), until: 500)
    try alice.store.holdErases(second.map(\.id), until: 950)
    let held = try #require(try alice.store.heldErase(of: trip(1)))
    #expect(held.due == 900 && held.erasure.device == carol.log.device)
    #expect(try alice.store.heldErase(of: trip(2))?.due == nil)
    #expect(try alice.store.nextHeldErase == 500)
    #expect(try alice.store.massErases().map(\.due) == [500, 900])
  }

  @Test func `whether others would hold an erase depends on what the device has erased in seven days`() throws
  {
    try alice.receive(try alice.draft(at: 10, (1...100).map { insert(trip($0), names) }))
    try alice.receive(try alice.draft(at: 11, (1...19).map { insert(habit($0), names) }))
    try bob.sync(from: alice)
    let device = bob.log.device
    func isMass(_ trips: ClosedRange<UInt64>, by device: DeviceKey, at now: Moment) throws -> Bool {
      try alice.store.isMassErase(of: Set(trips.map { trip($0) }), by: device, now: now)
    }
    #expect(try isMass(1...26, by: device, at: 1_000))
    #expect(try !isMass(1...25, by: device, at: 1_000))
    #expect(try !alice.store.isMassErase(of: Set((1...19).map { habit($0) }), by: device, now: 1_000))
    let sets = try bob.draft(at: 20, (1...20).map { erase(trip($0)) })
    let holding = EraseHolding(device: alice.log.device, now: 1_000)
    _ = try alice.store.commit(sets, horizon: Device.horizon, holding: holding)
    #expect(try alice.store.massErases() == [])
    #expect(try isMass(21...26, by: device, at: 1_000 + EraseHolding.milliseconds - 1))
    #expect(try !isMass(21...25, by: device, at: 1_000))
    #expect(try !isMass(21...26, by: device, at: 1_000 + EraseHolding.milliseconds))
    #expect(try !isMass(21...26, by: carol.log.device, at: 1_000))
  }
}
