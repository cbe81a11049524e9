import Membership
import Records
import Replication
import SQLite
import Testing
import Vectors
import Wire

import RecordTables
@testable import Storage

/// Values that arrive after their sets lead to the same tables as if they had been there at first.
@Suite struct MissingValueTests {
  private let rome = trip(1)

  /// A copy of a set without some of its slots.
  private func copy(of set: VerifiedChangeSet, without slots: Set<Int>) throws -> VerifiedChangeSet {
    try VerifiedChangeSet(
      verifying: RawChangeSet(
        header: set.raw.header, signature: set.raw.signature, plan: set.raw.plan,
        values: set.values(without: slots)))
  }

  private func slots(of set: VerifiedChangeSet, _ slots: [Int]) -> SetSlots {
    SetSlots(log: set.header.log, sequence: set.header.sequence, id: set.id, slots: slots)
  }

  /// The values of some slots, as a store with all of them sends them.
  private func values(of set: VerifiedChangeSet, _ numbers: [Int], from store: Store) throws -> ArrivedValues
  {
    let wanted = slots(of: set, numbers)
    let sent = try store.values(set.header.log.lane, [wanted], bytesMax: .max, readMax: .max)
    return ArrivedValues(set: wanted, values: sent.first?.slots ?? [])
  }

  /// Everything that is derived from the log, and the values in it, without the numbers that depend on the order of
  /// arrival and without the form of the values.
  private func tables(_ store: Store) throws -> [String] {
    try dump(store)
      + rows(
        store,
        """
        SELECT 'sibling ' || s.kind || ' ' || hex(s.record) || ' ' || s.field || ' ' || hex(c.id) || ' '
          || s.follows || ' ' || hex(s.content) || ' ' || hex(s.content_hash)
        FROM siblings s JOIN change_sets c ON c.number = s.number ORDER BY 1
        """)
      + rows(
        store,
        """
        SELECT 'contest ' || kind || ' ' || hex(record) || ' ' || field || ' ' || count || ' ' || is_conflict || ' '
          || hex(content_hash) FROM contested_cells ORDER BY 1
        """)
      + rows(
        store,
        """
        SELECT 'hidden ' || h.kind || ' ' || hex(h.record) || ' ' || hex(c.id) || ' ' || h.by_parent
        FROM hidden_writes h JOIN change_sets c ON c.number = h.number ORDER BY 1
        """)
      + rows(
        store,
        """
        SELECT 'trip ' || hex(trip) || ' ' || lodgings || ' ' || activities || ' ' || totals FROM trip_summaries
        WHERE lodgings + transportations + activities > 0 ORDER BY 1
        """)
      + rows(
        store,
        """
        SELECT 'missing ' || hex(c.id) || ' ' || m.slot || ' ' || m.kind || ' ' || hex(m.record)
        FROM missing_values m JOIN change_sets c ON c.number = m.number ORDER BY 1
        """)
  }

  private func rows(_ store: Store, _ sql: String) throws -> [String] {
    try store.connection.with(sql) { row in
      var rows: [String] = []
      while try row.step() { rows.append(row.text(0)) }
      return rows
    }
  }

  /// Random writes of three devices that meet now and then.
  private func history(_ random: inout SeededRandom) throws -> [Device] {
    let devices = try ["alice", "bob", "carol"].map { try Device($0) }
    var time: Moment = 10
    for _ in 0..<24 {
      time += 10
      let writer = devices[random.below(3)]
      let (one, other) = (UInt64(random.below(3)), UInt64(random.below(3)))
      let text = Value.text("text \(random.below(4))")
      switch random.below(9) {
      case 0:
        try writer.write(at: time, insert(trip(one), [1: text, 2: text]), insert(habit(other), [1: text]))
      case 1: try writer.write(at: time, edit(trip(one), [2: text]), edit(habit(other), [1: text]))
      case 2: try writer.write(at: time, lodging(one, of: trip(other)), edit(trip(other), [1: text]))
      case 3: try writer.write(at: time, edit(lodging(one), [1: .bytes(trip(other).id.bytes)]))
      case 4: try writer.write(at: time, delete(trip(one)), edit(trip(one), [1: text]))
      case 5: try writer.write(at: time, restore(trip(one)))
      case 6:
        let profile: [FieldNumber: Value] = [
          2: text, Fields.wholeRecordUpdatedAt: .integer(Int64(random.below(3))),
        ]
        try writer.write(at: time, insert(FixedRecords.profile, profile))
      case 7: try writer.write(at: time, edit(trip(one), [900: text, 1: .integer(3)]))
      default: try writer.write(at: time, erase(trip(one)), edit(lodging(other), [2: text]))
      }
      let reader = devices[random.below(3)]
      if reader !== writer { try reader.sync(from: devices[random.below(3)]) }
    }
    for _ in 0..<2 { for device in devices { for other in devices { try device.sync(from: other) } } }
    return devices
  }

  @Test(arguments: UInt64(0)..<25)
  func `values in any order and at any time lead to the tables of a device that always had them`(
    _ seed: UInt64
  ) throws {
    var random = SeededRandom(seed: seed)
    let devices = try history(&random)
    let (alice, late) = (devices[0], try Device("late"))
    // What an erase has taken is missing at Alice too, so the originals serve as the source of values.
    let sets = alice.known
    var withheld: [(set: VerifiedChangeSet, slots: [Int])] = []
    for set in sets {
      let gone = (0..<set.body.slots.count).filter { _ in random.below(2) == 0 }
      if !gone.isEmpty { withheld.append((set, gone)) }
      try late.receive([copy(of: set, without: Set(gone))])
      guard random.below(3) == 0, !withheld.isEmpty else { continue }
      let (early, slots) = withheld.remove(at: random.below(withheld.count))
      _ = try late.store.fill([original(early, slots)])
    }
    #expect(late.store.digest(.records) == alice.store.digest(.records))
    while !withheld.isEmpty {
      let (set, slots) = withheld.remove(at: random.below(withheld.count))
      let split = random.below(slots.count + 1)
      for part in [slots[..<split], slots[split...]] where !part.isEmpty {
        #expect(try !late.store.fill([original(set, Array(part))]).hasWrong)
      }
      let before = try tables(late.store)
      try late.store.rebuild()
      #expect(try tables(late.store) == before, "a rebuild finds the same values and lacks the same")
    }
    #expect(try !late.store.isAnyValueMissing)
    #expect(try tables(late.store) == tables(alice.store))
  }

  /// The values of some slots of a set as its author wrote it.
  private func original(_ set: VerifiedChangeSet, _ numbers: [Int]) -> ArrivedValues {
    ArrivedValues(
      set: slots(of: set, numbers),
      values: numbers.compactMap { set.body.slots.value($0, in: set.raw.values) })
  }

  @Test func `an erase explains missing values of its past, in either order of arrival`() throws {
    let (alice, bob, carol) = (try Device("alice"), try Device("bob"), try Device("carol"))
    let set = try alice.write(at: 10, insert(rome, [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")]))[
      0]
    let lacking = try copy(of: set, without: [0, 1])
    try bob.receive([lacking])
    #expect(try bob.store.missingValues(after: 0, max: 9).map(\.set) == [slots(of: set, [0, 1])])
    let erase = try alice.write(at: 20, erase(rome))
    try bob.receive(erase)
    #expect(try bob.store.missingValues(after: 0, max: 9).map(\.set) == [slots(of: set, [1])])
    try carol.receive([lacking] + erase)
    #expect(try tables(carol.store) == tables(bob.store))
    // What was erased does not return, no matter who sends it.
    let result = try bob.store.fill([original(set, [0, 1])])
    #expect(!result.hasWrong && result.report.filledSlots == 1)
    #expect(try bob.store.text(rome, 1) == nil)
    #expect(try bob.store.text(trip(2), 1) == "Oslo")
    #expect(try tables(bob.store) == tables(alice.store))
    #expect(try values(of: set, [0, 1], from: bob.store).values.map(\.slot) == [1])
  }

  @Test func `a record whose parent becomes known by a value shows its children and their files`() throws {
    let (alice, bob) = (try Device("alice"), try Device("bob"))
    let set = try alice.write(
      at: 10, insert(rome, [1: .text("Rome")]), lodging(1, of: rome),
      insert(attachment(7), [1: owner(lodging(1))]))[0]
    try bob.receive([copy(of: set, without: [1])])
    let report = try bob.store.fill([original(set, [1])]).report
    #expect(report.owned == [attachment(7)])
  }

  @Test func `only values that match their commitments are stored, also next to wrong ones`() throws {
    let (alice, bob) = (try Device("alice"), try Device("bob"))
    let set = try alice.write(at: 10, insert(rome, [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")]))[
      0]
    try bob.receive([copy(of: set, without: [0, 1])])
    let right = original(set, [0, 1]).values
    let wrong = [
      SlotValue(slot: 0, salt: right[0].salt, content: right[1].content),
      SlotValue(slot: 0, salt: right[1].salt, content: right[0].content),
      SlotValue(slot: 1, salt: right[0].salt, content: right[0].content),
    ]
    for value in wrong {
      let result = try bob.store.fill([ArrivedValues(set: slots(of: set, [value.slot]), values: [value])])
      #expect(result.hasWrong && result.report.filledSlots == 0)
    }
    let mixed = ArrivedValues(set: slots(of: set, [0, 1, 2]), values: [wrong[0], right[1]])
    #expect(try bob.store.fill([mixed]).hasWrong)
    #expect(try bob.store.text(rome, 1) == nil)
    #expect(try bob.store.text(trip(2), 1) == "Oslo")
    let beyond = SlotValue(slot: 2, salt: right[0].salt, content: right[0].content)
    #expect(try !bob.store.fill([ArrivedValues(set: slots(of: set, [2]), values: [beyond])]).hasWrong)
    #expect(try bob.store.fill([original(set, [0])]).report.filledSlots == 1)
    #expect(try tables(bob.store) == tables(alice.store))
  }

  @Test func `only folded sets are served, up to the limits`() throws {
    let (alice, bob) = (try Device("alice"), try Device("bob"))
    let first = try alice.write(at: 10, insert(rome, [1: .text("Rome")]))[0]
    let second = try alice.write(at: 20, edit(rome, [1: .text("Roma")]))[0]
    let parked = try alice.write(at: 2_000_000, edit(rome, [1: .text("later")]))[0]
    try bob.receive([first, second, parked])
    let wanted = [first, second, parked].map { slots(of: $0, [0, 7]) }
    func served(_ bytes: Int = .max, _ read: Int = .max, _ lane: Lane = .records) throws -> [ChangeSetID] {
      try bob.store.values(lane, wanted, bytesMax: bytes, readMax: read).map(\.id)
    }
    #expect(try served() == [first.id, second.id])
    #expect(try served(150) == [first.id])
    #expect(try served(.max, 1) == [first.id])
    #expect(try served(.max, .max, .settings).isEmpty)
    let other = SetSlots(log: first.header.log, sequence: 2, id: first.id, slots: [0])
    #expect(try bob.store.values(.records, [other], bytesMax: .max, readMax: .max).isEmpty)
  }

  @Test func `who sent a set without values is known until they arrive`() throws {
    let (alice, bob) = (try Device("alice"), try Device("bob"))
    let set = try alice.write(at: 10, insert(rome, [1: .text("Rome")]), edit(trip(2), [1: .text("Oslo")]))[0]
    let lacking = try copy(of: set, without: [0, 1])
    _ = try bob.store.commit([lacking], horizon: Device.horizon) { _ in
      try bob.store.noteValueSenders([(lacking, alice.log.device)])
    }
    let found = try bob.store.missingValueRecords()
    #expect(found.map(\.sender) == [alice.log.device] && found.map(\.records) == [2])
    try bob.store.rebuild()
    #expect(try bob.store.missingValueRecords().map(\.sender) == [alice.log.device])
    _ = try bob.store.fill([original(set, [0, 1])]) { _ in try bob.store.forgetValueSenders() }
    #expect(try bob.store.missingValueRecords().isEmpty)
    #expect(try rows(bob.store, "SELECT hex(id) FROM value_senders").isEmpty)
  }
}
