import Membership
import RecordTables
import Records
import Replication
import Storage
import Testing
import Vectors
import Wire

/// A revert for an override: what it writes, and what remains when other devices sync again.
@Suite struct RevertTests {
  let alice: Device
  let bob: Device
  let carol: Device

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
    carol = try Device("carol")
  }

  /// Alice mirrors Bob's current state.
  private func mirror(at wall: Moment, _ scope: Revert.Scope = .init()) throws -> RevertPlan {
    let direction = Revert(
      wanted: bob.store.heads(.records), present: alice.store.heads(.records), scope: scope)
    try alice.sync(from: bob)
    return try write(direction, at: wall)
  }

  @discardableResult
  private func write(_ direction: Revert, at wall: Moment) throws -> RevertPlan {
    let plan = try alice.store.plan(direction, now: wall)
    if !plan.changes.drafts.isEmpty { try alice.receive(try alice.draft(at: wall, plan.changes.drafts)) }
    #expect(try alice.store.plan(direction, now: wall + 1).changes.drafts.isEmpty)
    return plan
  }

  /// All devices sync with each other.
  private func meet() throws {
    for _ in 0..<2 {
      for device in [alice, bob, carol] {
        for other in [alice, bob, carol] where other !== device { try device.sync(from: other) }
      }
    }
    #expect(try dump(bob.store) == dump(alice.store))
    #expect(try dump(carol.store) == dump(alice.store))
  }

  // MARK: What is written

  @Test func `only Alice's changes are reverted, and Bob's are visible`() throws {
    try alice.write(
      at: 10, insert(trip(1), [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo"), 2: .text("cold")]),
      insert(trip(3), [1: .text("Bonn")]))
    try bob.sync(from: alice)
    try bob.write(at: 20, edit(trip(1), [1: .text("Roma")]), insert(trip(5), [1: .text("Kyiv")]))
    try alice.write(
      at: 30, edit(trip(1), [1: .text("Rom"), 2: .text("hot")]), delete(trip(2)),
      insert(trip(4), [1: .text("Paris")]))
    let expected = try visible(bob.store)
    let plan = try mirror(at: 40)
    #expect(try visible(alice.store) == expected)
    let counts = try #require(plan.counts[KindNumbers.trip])
    #expect([counts.inserts, counts.edits, counts.deletes, counts.restores] == [0, 1, 1, 1])
    try meet()
    #expect(try visible(carol.store) == expected)
  }

  @Test func `the highest sequences are counted up to the maximum without overflow`() throws {
    let heads = (1...3 as ClosedRange<UInt64>).map { number in
      let log = LogKey(device: bob.log.device, incarnation: Incarnation(Bytes16(9, number)), lane: .records)
      let id = ChangeSetID(Bytes32(9, 9, 9, number))
      return LogHead(log: log, sequence: UInt64(Int64.max), id: id, foldedSequence: 0)
    }
    let direction = Revert(wanted: heads, present: [])
    #expect(try alice.store.missing(direction) { _ in true } == .max)
  }

  @Test(arguments: ["it came", "it never came"])
  func `the rest of a log that was cut while a mirror waited for more of it is not reverted`(more: String)
    throws
  {
    for number in 1...3 as ClosedRange<UInt64> {
      try carol.write(at: Int64(number), insert(trip(number), [1: .text("\(number)")]))
    }
    try alice.sync(from: carol)
    try alice.write(at: 10, insert(trip(9), [1: .text("by Alice")]))
    try carol.write(at: 20, insert(trip(4), [1: .text("4")]))
    try bob.sync(from: carol)
    let direction = Revert(wanted: bob.store.heads(.records), present: alice.store.heads(.records))
    if more == "it came" { try alice.sync(from: carol) }
    let (log, kept) = (carol.log, carol.known[2].id)
    _ = try alice.store.admit(by: { $0 == log ? .cut([[kept]]) : .open }, horizon: Device.horizon)
    try write(direction, at: 30)
    #expect(try alice.store.text(trip(3), 1) == "3")
    let keys = try visible(alice.store).map(\.key).filter { $0.kind == KindNumbers.trip }
    #expect(keys == [trip(1), trip(2), trip(3)])
  }

  @Test func `equal records that both imported are left alone`() throws {
    for device in [alice, bob] { try device.write(at: 10, insert(trip(1), [1: .text("Rome")])) }
    #expect(try mirror(at: 20).changes.drafts.isEmpty)
  }

  @Test func `the profile is Bob's again, as a whole`() throws {
    try bob.write(at: 10, edit(FixedRecords.profile, [1: .integer(10), 2: .text("Bob")]))
    try alice.write(at: 20, edit(FixedRecords.profile, [1: .integer(500), 2: .text("Al"), 3: .text("dark")]))
    let expected = try visible(bob.store)
    _ = try mirror(at: 30)
    #expect(try visible(alice.store) == expected)
    try meet()
    #expect(try visible(bob.store) == expected)
  }

  @Test func `later changes from other devices are neither wanted nor reverted`() throws {
    try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")]))
    try carol.sync(from: alice)
    let direction = Revert(
      wanted: bob.store.heads(.records), present: alice.store.heads(.records))
    try carol.write(at: 20, edit(trip(2), [1: .text("Oslo!")]), insert(trip(3), [1: .text("Bonn")]))
    try alice.sync(from: carol)
    #expect(try write(direction, at: 30).later == [KindNumbers.trip: 2])
    // A delete wins over an edit of what it deletes.
    #expect(try visible(alice.store).map(\.key) == [trip(3), FixedRecords.none, FixedRecords.profile])
  }

  @Test func `the branch of a forked log that Bob lacks is reverted`() throws {
    let copy = try Device("alice")
    try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]))
    for device in [copy, bob] { try device.sync(from: alice) }
    try copy.write(at: 20, edit(trip(1), [1: .text("Roma")]), insert(trip(2), [:]))
    try alice.write(at: 21, edit(trip(1), [1: .text("Rom")]), insert(trip(3), [:]))
    try bob.sync(from: copy)
    let expected = try visible(bob.store)
    _ = try mirror(at: 30)
    #expect(try visible(alice.store) == expected)
  }

  @Test func `wanted sets that are missing are counted, and no others`() throws {
    try bob.write(at: 10, insert(trip(1), [:]))
    try bob.write(at: 11, insert(trip(2), [:]))
    let direction = Revert(wanted: bob.store.heads(.records), present: [])
    #expect(try alice.store.missing(direction) { _ in true } == 2)
    #expect(try alice.store.missing(direction) { _ in false } == 0)
    try alice.receive([bob.known[0]])
    #expect(try alice.store.missing(direction) { _ in true } == 1)
    try alice.receive([bob.known[1]], horizon: Clock(milliseconds: 5))
    #expect(try alice.store.missing(direction) { _ in true } == 1)
    _ = try alice.store.foldParked(horizon: Device.horizon)
    #expect(try alice.store.missing(direction) { _ in true } == 0)
  }

  // MARK: A part

  private let casa = lodging(1)
  private let photo = RecordKey(kind: KindNumbers.attachment, id: id(9))

  private func photoOfCasa() -> EntryDraft {
    insert(photo, [1: .array([.integer(Int64(KindNumbers.lodging.rawValue)), .bytes(casa.id.bytes)])])
  }

  @Test func `a single kind is reverted`() throws {
    try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]), insert(habit(1), [1: .text("Water")]))
    let plan = try mirror(at: 20, .init(kind: KindNumbers.habit))
    #expect(plan.changes.drafts.map(\.key) == [habit(1)])
  }

  @Test func `one trip is reverted with everything that belongs or will belong to it, at any depth`() throws {
    try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")]))
    try alice.write(at: 11, lodging(1, of: trip(1)), lodging(2, of: trip(2)), lodging(3, of: trip(1)))
    try bob.sync(from: alice)
    let later = [
      photoOfCasa(), edit(casa, [2: .text("Casa Rosa")]), edit(trip(1), [2: .text("hot")]),
      edit(trip(2), [2: .text("cold")]), edit(lodging(2), [2: .text("Hotel")]),
      // Moved away from the trip and into it.
      edit(lodging(3), [1: .bytes(trip(2).id.bytes)]), lodging(4, of: trip(1)),
    ]
    try alice.receive(try alice.draft(at: 20, later))
    let plan = try mirror(at: 30, .init(trip: trip(1)))
    #expect(plan.changes.drafts.map(\.key) == [trip(1), casa, lodging(3), lodging(4), photo])
  }

  // MARK: A third device

  @Test func `Carol, who was offline and did nothing, brings nothing back`() throws {
    try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")]))
    try carol.sync(from: alice)
    try bob.sync(from: alice)
    try bob.write(at: 20, delete(trip(1)))
    try alice.write(at: 30, edit(trip(2), [1: .text("Bergen")]))
    try carol.sync(from: alice)
    let expected = try visible(bob.store)
    _ = try mirror(at: 40)
    try meet()
    #expect(try visible(carol.store) == expected)
  }

  @Test func `Carol's offline changes to the same records are found, once`() throws {
    try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")]))
    try carol.sync(from: alice)
    _ = try mirror(at: 40)
    let operation = try #require(try alice.store.operations(limit: 1).first)
    var looked = try alice.store.lastNumberBeforeParked()
    #expect(try alice.store.overtaking(operation, &looked).isEmpty)
    // After a rebuild, all sets are checked again. Those that the mirror had seen do not overtake it.
    var fromStart: Int64 = 0
    #expect(try alice.store.overtaking(operation, &fromStart).isEmpty)
    try carol.write(at: 50, edit(trip(1), [1: .text("Roma")]), insert(trip(3), [1: .text("Bonn")]))
    try alice.sync(from: carol)
    #expect(try alice.store.overtaking(operation, &looked) == [trip(1)])
    #expect(try alice.store.overtaking(operation, &looked).isEmpty)
    // From here on Carol has seen it.
    try carol.sync(from: alice)
    try carol.write(at: 60, restore(trip(2)))
    try alice.sync(from: carol)
    #expect(try alice.store.overtaking(operation, &looked).isEmpty)
    try carol.write(at: 70, edit(trip(1), [1: .text("Rome")]))
    try alice.sync(from: carol)
    #expect(try alice.store.overtaking(operation, &looked).isEmpty)
  }

  // MARK: Any history

  @Test(arguments: 1...40)
  func `after any history Alice shows the same as a store with only Bob's sets`(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let devices = [alice, bob, carol]
    for step in 1...60 {
      let device = devices[random.below(3)]
      if random.below(4) == 0 {
        let other = devices[random.below(3)]
        if other !== device { try device.sync(from: other) }
      } else {
        try device.receive(try device.draft(at: Int64(step * 10), [change(&random)]))
      }
    }
    let fresh = try Device("dora")
    try fresh.sync(from: bob)
    _ = try mirror(at: 1_000)
    #expect(try visible(alice.store) == visible(fresh.store))
    for other in [bob, carol] { try other.sync(from: alice) }
    #expect(try visible(bob.store) == visible(fresh.store))
  }

  private func change(_ random: inout SeededRandom) -> EntryDraft {
    let number = UInt64(random.below(4))
    let text = Value.text("\(random.below(5))")
    switch random.below(8) {
    case 0: return insert(trip(number), [1: text])
    case 1: return edit(trip(number), [FieldNumber(1 + random.below(2)): text])
    case 2: return delete(trip(number))
    case 3: return restore(trip(number))
    case 4: return lodging(number, of: trip(UInt64(random.below(4))), [2: text])
    case 5: return edit(lodging(number), [2: text, 1: .bytes(trip(UInt64(random.below(4))).id.bytes)])
    case 6: return edit(FixedRecords.profile, [1: .integer(Int64(random.below(600))), 2: text])
    default: return edit(FixedRecords.none, [2: text])
    }
  }
}

/// A record as users see it.
private struct Seen: Equatable {
  let key: RecordKey
  let fields: [FieldNumber: Value]
}

/// All visible records of a store, without authors and times.
private func visible(_ store: Store) throws -> [Seen] {
  var seen: [Seen] = []
  for kind in Schema.builtIn.kinds where kind.number.lane == .records {
    try store.forEach(RecordQuery(kind.number)) { row in
      var fields = row.fields.merging(row.unread) { $1 }.filter { $0.value != .null }
      if kind.mergeClass == .wholeRecord { fields[Fields.wholeRecordUpdatedAt] = nil }
      seen.append(Seen(key: row.key, fields: fields))
    }
  }
  return seen
}
