import Membership
import Records
import Replication
import SQLite
import Testing
import Wire

import LogStorage
@testable import RecordTables
@testable import Storage

/// An erase takes the values of all writes in its past, on every device and in every order of arrival. Everything else
/// stays: the stamps, the ids, the signatures, and the values of concurrent writes.
@Suite struct EraseTests {
  let alice: Device
  let bob: Device
  let rome = trip(1)
  let oslo = trip(2)

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
  }

  /// Both receive what the other has.
  private func meet() throws {
    let before = alice.known
    try alice.sync(from: bob)
    try bob.receive(before)
    #expect(try tables(alice.store) == tables(bob.store))
  }

  /// A set as a store sends it, which is verified again.
  private func stored(_ set: VerifiedChangeSet, in store: Store) throws -> VerifiedChangeSet {
    let (log, sequence) = (set.header.log, set.header.sequence)
    let want = Want(log: log, from: sequence, through: sequence, tip: set.id)
    let sent = try store.read(.records, [want], bytesMax: .max, setsMax: 1).sets
    return try VerifiedChangeSet(verifying: try #require(sent.first).raw)
  }

  /// The values that a set still has of a record.
  private func values(of record: RecordKey, in set: VerifiedChangeSet) throws -> [FieldNumber: Value] {
    var values: [FieldNumber: Value] = [:]
    for cell in set.body.entries(of: record).flatMap({ set.body.cells[$0.cells] }) {
      values[cell.field] = try set.body.content(cell).map { try Value(encoded: $0) }
    }
    return values
  }

  private func rows(_ store: Store, _ sql: String) throws -> [String] {
    try store.connection.with(sql) { row in
      var rows: [String] = []
      while try row.step() { rows.append(row.text(0)) }
      return rows
    }
  }

  /// The records, siblings, hidden writes and values of a store, without the numbers that depend on the order of
  /// arrival.
  private func tables(_ store: Store) throws -> [String] {
    try dump(store)
      + rows(
        store,
        """
        SELECT 'sibling ' || s.kind || ' ' || hex(s.record) || ' ' || s.field || ' ' || hex(c.id) || ' '
          || s.follows || ' ' || hex(s.content)
        FROM siblings s JOIN change_sets c ON c.number = s.number ORDER BY 1
        """)
      + rows(
        store,
        """
        SELECT 'contest ' || kind || ' ' || hex(record) || ' ' || field || ' ' || count || ' ' || is_conflict
        FROM contested_cells ORDER BY 1
        """)
      + rows(
        store,
        """
        SELECT 'hidden ' || h.kind || ' ' || hex(h.record) || ' ' || hex(c.id) || ' ' || h.by_parent
        FROM hidden_writes h JOIN change_sets c ON c.number = h.number ORDER BY 1
        """)
      + rows(store, "SELECT 'values ' || hex(id) || ' ' || hex(field_values) FROM change_sets ORDER BY 1")
  }

  // MARK: What goes and what stays

  @Test func `an erase removes the values of all earlier writes of its record, and nothing else`() throws {
    let first = try alice.write(
      at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny"), 900: .text("odd")]),
      insert(oslo, [1: .text("Oslo")]))
    let second = try alice.write(at: 20, edit(rome, [2: .text("hot")]), lodging(1, of: rome))
    try bob.sync(from: alice)
    let digest = alice.store.digest(.records)
    #expect(try alice.store.writes(of: rome).first?.content(1) == Value.text("Rome").encoded)
    try bob.write(at: 30, erase(rome))
    try meet()
    for store in [alice.store, bob.store] {
      let row = try #require(try store.record(rome))
      #expect(row.life == false)
      #expect(row.fields.merging(row.unread) { $1 }.values.allSatisfy { $0 == .null })
      #expect(try store.origins(of: row)[1]?.set == first[0].id)
      #expect(try store.text(oslo, 1) == "Oslo")
      #expect(try store.text(lodging(1), 2) == "Casa")
      #expect(try !store.isVisible(lodging(1)))
      for set in first + second {
        let again = try stored(set, in: store)
        #expect(again.id == set.id)
        #expect(!again.body.isComplete)
        #expect(try values(of: rome, in: again) == [:])
      }
      #expect(try values(of: oslo, in: stored(first[0], in: store)) == [1: .text("Oslo")])
      #expect(try values(of: lodging(1), in: stored(second[0], in: store))[2] == .text("Casa"))
      let writes = try store.writes(of: rome)
      #expect(writes.map { $0.cells.map(\.field) } == [[0, 1, 2, 900], [2], [0]])
      let contents = writes.flatMap(\.cells).filter { $0.field != Fields.life }.map(\.content)
      #expect(contents.allSatisfy { $0 == Value.null.encoded })
      #expect(try store.conflicts().isEmpty)
    }
    #expect(alice.store.digest(.records) != digest, "the life of the record was written")
  }

  @Test func `a device that receives the sets without the erased values ends with the same tables`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]), insert(oslo, [1: .text("Oslo")]))
    try alice.write(at: 20, edit(rome, [1: .text("Roma")]))
    try alice.write(at: 30, erase(rome))
    let sent = try alice.known.map { try stored($0, in: alice.store) }
    #expect(sent.map(\.body.isComplete) == [false, false, true])
    try bob.receive(sent)
    #expect(try tables(bob.store) == tables(alice.store))
    // The values arrive late, from a device that has not received the erase.
    let carol = try Device("carol")
    try carol.receive(Array(alice.known.prefix(2)) + [sent[2]])
    #expect(try tables(carol.store) == tables(alice.store))
  }

  @Test func `siblings that the erase has seen go, with their values`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    try alice.write(at: 20, edit(rome, [1: .text("Roma")]))
    try bob.write(at: 30, edit(rome, [1: .text("Rom")]))
    try meet()
    #expect(try alice.store.conflictCount() == 1)
    try alice.write(at: 40, erase(rome))
    try meet()
    for store in [alice.store, bob.store] {
      #expect(try store.conflictCount() == 0)
      #expect(try rows(store, "SELECT hex(record) FROM siblings").isEmpty)
      #expect(try rows(store, "SELECT hex(record) FROM contested_cells").isEmpty)
      for set in alice.known where !set.body.cells.isEmpty {
        #expect(try values(of: rome, in: stored(set, in: store)) == [:])
      }
    }
  }

  @Test(arguments: [20, 40] as [Moment])
  func `a concurrent edit keeps its values, and is listed as lost to the deletion`(_ time: Moment) throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]))
    try bob.sync(from: alice)
    try alice.write(at: 30, erase(rome))
    let late = try bob.write(at: time, edit(rome, [2: .text("hot")]))
    try meet()
    for store in [alice.store, bob.store] {
      #expect(try !store.isVisible(rome))
      #expect(try store.text(rome, 1) == nil)
      #expect(try store.text(rome, 2) == "hot")
      let conflict = try #require(try store.conflicts().first)
      #expect(conflict.reason == .editLostToDelete)
      #expect(conflict.losers.map(\.content) == [.write([2: .text("hot")])])
      #expect(try values(of: rome, in: stored(late[0], in: store)) == [2: .text("hot")])
    }
    // It can be erased in its turn.
    try alice.write(at: 50, erase(rome))
    try meet()
    #expect(try bob.store.text(rome, 2) == nil)
    #expect(try bob.store.conflictCount() == 0)
    #expect(try values(of: rome, in: stored(late[0], in: bob.store)) == [:])
  }

  @Test func `a record that is restored after an erase has only what was written since`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]))
    try bob.sync(from: alice)
    try alice.write(at: 20, erase(rome))
    try bob.sync(from: alice)
    try bob.write(at: 30, edit(rome, [2: .text("hot")]), restore(rome))
    try meet()
    #expect(try alice.store.isVisible(rome))
    #expect(try alice.store.text(rome, 1) == nil)
    #expect(try alice.store.text(rome, 2) == "hot")
    #expect(try alice.store.conflictCount() == 0)
  }

  @Test func `an erase keeps the values of its own set`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]))
    let renewed = try alice.write(at: 20, insert(rome, [1: .text("Roma")]), erase(rome))
    #expect(try alice.store.isVisible(rome))
    #expect(try alice.store.text(rome, 1) == "Roma")
    #expect(try alice.store.text(rome, 2) == nil)
    #expect(try values(of: rome, in: stored(renewed[0], in: alice.store)) == [1: .text("Roma")])
    #expect(try values(of: rome, in: stored(alice.known[0], in: alice.store)) == [:])
    let last = try alice.write(at: 30, edit(rome, [2: .text("hot")]), erase(rome))
    #expect(try !alice.store.isVisible(rome))
    #expect(try alice.store.text(rome, 1) == nil)
    #expect(try alice.store.text(rome, 2) == "hot")
    #expect(try values(of: rome, in: stored(renewed[0], in: alice.store)) == [:])
    #expect(try values(of: rome, in: stored(last[0], in: alice.store)) == [2: .text("hot")])
    try bob.sync(from: alice)
    #expect(try tables(bob.store) == tables(alice.store))
  }

  @Test func `a report counts an erase as a deletion, unless its set inserts the record`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]), insert(oslo, [1: .text("Oslo")]))
    let report = try alice.receive(
      try alice.draft(at: 20, [erase(rome), insert(oslo, [1: .text("Oslo, again")]), erase(oslo)]))
    #expect(report.entries[rome.kind] == CommitReport.EntryCounts(inserts: 1, deletes: 1))
    #expect(report.redactedSets > 0)
    let again = try alice.receive(try alice.draft(at: 30, [erase(rome)]))
    #expect(again.redactedSets == 0, "nothing is left to erase")
  }

  @Test func `an erased value is compared as null`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]))
    try bob.sync(from: alice)
    try alice.write(at: 50, edit(rome, [1: .text("Roma"), 2: .text("hot")]))
    try alice.write(at: 60, erase(rome))
    try bob.write(at: 30, edit(rome, [1: .text("Rom"), 2: .null]))
    try meet()
    for store in [alice.store, bob.store] {
      let conflict = try #require(try store.conflicts().first)
      #expect(conflict.field == 1, "both notes are null, so they are not in conflict")
      #expect(conflict.winner.content == .value(.null))
      #expect(conflict.winner.stamp.device == alice.log.device)
      #expect(conflict.losers.map(\.content) == [.value(.text("Rom"))])
      #expect(try store.conflicts().map(\.reason) == [.field, .editLostToDelete])
    }
  }

  // MARK: Order of arrival

  /// Alice edits and erases while Bob and Carol edit. The erase comes after the edit that it has seen; the other two
  /// arrive at any time.
  @Test func `an erase and concurrent writes give the same tables in any order of arrival`() throws {
    let carol = try Device("carol")
    let base = try alice.write(at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]))
    for device in [bob, carol] { try device.sync(from: alice) }
    let seen = try alice.write(at: 20, edit(rome, [1: .text("Roma"), 2: .text("hot"), 900: .text("odd")]))
    let erasure = try alice.write(at: 30, erase(rome))
    let bobs = try bob.write(at: 40, edit(rome, [1: .text("Rom")]))
    let carols = try carol.write(at: 25, edit(rome, [1: .text("Rim"), 2: .text("cold")]))
    let expected = try Device("dave")
    try expected.receive(base + seen + erasure + bobs + carols)
    #expect(try expected.store.text(rome, 1) == "Rom")
    #expect(try expected.store.text(rome, 2) == "cold")
    #expect(try expected.store.record(rome)?.unread[900] ?? .null == .null)
    #expect(try expected.store.conflicts().map(\.reason) == [.field, .editLostToDelete])
    let orders = [
      [seen, erasure, carols, bobs], [seen, carols, erasure, bobs], [seen, bobs, erasure, carols],
      [seen, carols, bobs, erasure], [seen, bobs, carols, erasure], [carols, seen, erasure, bobs],
      [bobs, seen, erasure, carols], [carols, seen, bobs, erasure], [bobs, seen, carols, erasure],
      [carols, bobs, seen, erasure], [bobs, carols, seen, erasure],
    ]
    for order in orders {
      let reader = try Device("erin")
      for sets in [base] + order { try reader.receive(sets) }
      #expect(try tables(reader.store) == tables(expected.store))
    }
  }

  @Test func `two concurrent erases take what either of them has seen`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]))
    try bob.sync(from: alice)
    let hot = try alice.write(at: 20, edit(rome, [2: .text("hot")]))
    let cold = try bob.write(at: 25, edit(rome, [2: .text("cold")]))
    try alice.write(at: 30, erase(rome))
    try bob.write(at: 35, erase(rome))
    try meet()
    for set in hot + cold { #expect(try values(of: rome, in: stored(set, in: alice.store)) == [:]) }
    #expect(try alice.store.text(rome, 2) == nil)
  }

  @Test func `a rebuild of the tables keeps what an erase has done`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]))
    try bob.sync(from: alice)
    try alice.write(at: 20, edit(rome, [2: .text("hot")]))
    try alice.write(at: 30, erase(rome))
    try bob.write(at: 25, edit(rome, [2: .text("cold")]))
    try meet()
    let before = try tables(alice.store)
    try alice.store.rebuild()
    #expect(try tables(alice.store) == before)
    _ = try alice.store.rebuildLogs(Device.horizon)
    #expect(try tables(alice.store) == before)
  }

  @Test func `a cut that excludes an erase brings the record back without its values`() throws {
    let first = try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    try bob.write(at: 20, erase(rome))
    let digest = alice.store.digest(.records)
    try alice.sync(from: bob)
    let log = bob.log
    _ = try alice.store.admit(by: { $0 == log ? .cut([[]]) : .open }, horizon: Device.horizon)
    #expect(alice.store.digest(.records) == digest)
    #expect(try alice.store.isVisible(rome))
    #expect(try alice.store.text(rome, 1) == nil)
    #expect(try values(of: rome, in: stored(first[0], in: alice.store)) == [:])
  }

  // MARK: Damaged and quarantined sets

  @Test(arguments: [true, false])
  func `a damaged set that a peer sends again loses the erased values again`(isDamagedFirst: Bool) throws {
    try alice.write(
      at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]), insert(oslo, [1: .text("Oslo")]))
    let first = alice.known[0]
    let damage = { [alice] in
      try alice.store.connection.execute("UPDATE change_sets SET signature = zeroblob(64) WHERE number = 1")
    }
    if isDamagedFirst { try damage() }
    try alice.write(at: 20, erase(rome))
    if !isDamagedFirst { try damage() }
    _ = try alice.store.check(after: 0, setsMax: 10, bytesMax: .max)
    #expect(alice.store.damagedSets.map(\.sequence) == [1])
    #expect(try alice.receive([first]).repaired.map(\.sequence) == [1])
    let again = try stored(first, in: alice.store)
    #expect(try values(of: rome, in: again) == [:])
    #expect(try values(of: oslo, in: again) == [1: .text("Oslo")])
    #expect(try alice.store.text(rome, 1) == nil)
  }

  @Test func `a damaged set whose bytes can't be told apart loses all of them to an erase`() throws {
    try alice.write(
      at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]), insert(oslo, [1: .text("Oslo")]))
    let first = alice.known[0]
    try alice.store.connection.execute(
      "UPDATE change_sets SET field_values = CAST(field_values || x'00' AS BLOB) WHERE number = 1")
    try alice.write(at: 20, erase(rome))
    #expect(try rows(alice.store, "SELECT hex(field_values) FROM change_sets WHERE number = 1") == [""])
    _ = try alice.store.check(after: 0, setsMax: 10, bytesMax: .max)
    #expect(try alice.receive([first]).repaired.map(\.sequence) == [1])
    let again = try stored(first, in: alice.store)
    #expect(try values(of: rome, in: again) == [:])
    #expect(try values(of: oslo, in: again) == [1: .text("Oslo")])
  }

  @Test func `an erase removes the values of quarantined sets that it has seen`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    let cut = try alice.write(at: 20, edit(rome, [2: .text("sunny")]))
    try bob.sync(from: alice)
    let erasure = try bob.write(at: 30, erase(rome))
    let carol = try Device("carol")
    try carol.sync(from: alice)
    let (log, kept) = (alice.log, alice.known[0].id)
    _ = try carol.store.admit(by: { $0 == log ? .cut([[kept]]) : .open }, horizon: Device.horizon)
    func quarantined() throws -> [VerifiedChangeSet] {
      try carol.store.connection.with("SELECT header, signature, plan, field_values FROM quarantine") { row in
        var sets: [VerifiedChangeSet] = []
        while try row.step() {
          let raw = RawChangeSet(
            header: row.bytes(0), signature: row.bytes(1), plan: row.bytes(2), values: row.bytes(3))
          sets.append(try VerifiedChangeSet(verifying: raw))
        }
        return sets
      }
    }
    #expect(try quarantined().map(\.id) == cut.map(\.id))
    #expect(try quarantined().map(\.body.isComplete) == [true])
    #expect(try carol.receive(erasure).placements == [.place(folds: true)])
    #expect(try quarantined().map(\.body.isComplete) == [false])
    _ = try carol.store.admit(by: { _ in .open }, horizon: Device.horizon)
    #expect(try quarantined().isEmpty)
    #expect(try values(of: rome, in: stored(cut[0], in: carol.store)) == [:])
    #expect(try tables(carol.store) == tables(bob.store))
  }

  // MARK: Fixed records

  private func profile(_ updatedAt: Int64, _ name: String, _ fields: [FieldNumber: Value] = [:]) -> EntryDraft
  {
    edit(FixedRecords.profile, [1: .integer(updatedAt), 2: .text(name)].merging(fields) { $1 })
  }

  @Test func `an erase of the profile leaves an empty one, which still wins by its stated rank`() throws {
    let first = try alice.write(at: 100, profile(100, "Alice", [3: .text("dark")]))
    try bob.sync(from: alice)
    try alice.write(at: 200, erase(FixedRecords.profile))
    try bob.write(at: 150, profile(90, "Old"))
    try meet()
    for store in [alice.store, bob.store] {
      let row = try #require(try store.record(FixedRecords.profile))
      #expect(row.isVisible)
      #expect(row.fields.values.allSatisfy { $0 == .null })
      #expect(try store.origins(of: row)[2]?.set == first[0].id)
      #expect(try values(of: FixedRecords.profile, in: stored(first[0], in: store)) == [:])
      // The one losing write has seen the winner.
      #expect(try store.conflictCount() == 0)
    }
    try bob.write(at: 300, profile(300, "Alicia"))
    try meet()
    #expect(try alice.store.text(FixedRecords.profile, 2) == "Alicia")
    #expect(try alice.store.conflictCount() == 0)
  }

  /// The time of change was erased with the other values, but still counts in the rank. Alice's clock runs behind it.
  @Test func `an edit of an erased profile is dated after the erased write, and wins`() throws {
    let text = Value.text("Alicia")
    for isPlanned in [false, true] {
      let device = try Device("carol")
      try device.write(at: 500, profile(500, "Alice"))
      try device.write(at: 510, erase(FixedRecords.profile))
      let held = try #require(try device.store.record(FixedRecords.profile))
      #expect(try device.store.timeOfChange(of: held.key) == 500)
      var drafts = [
        ProfileWrite(
          held: held, heldAt: try device.store.timeOfChange(of: held.key) ?? 0,
          changed: [(field: 2, value: text)], now: 400
        ).draft
      ]
      if isPlanned {
        var plan = ChangePlan(now: 400)
        try plan.bring(
          FixedRecords.profile, from: device.store.state(of: FixedRecords.profile),
          to: WantedRecord(isAlive: true, contents: [2: text.encoded]))
        drafts = plan.drafts
      }
      try device.receive(try device.draft(at: 400, drafts))
      #expect(try device.store.text(FixedRecords.profile, 2) == "Alicia")
    }
  }

  @Test func `profiles that an erase has seen are no siblings, and a concurrent one is`() throws {
    let carol = try Device("carol")
    let base = try alice.write(at: 100, profile(100, "Alice"))
    let other = try bob.write(at: 105, profile(95, "Bob"))
    let late = try carol.write(at: 115, profile(110, "Carol"))
    try alice.sync(from: bob)
    #expect(try alice.store.conflicts().map(\.reason) == [.profile])
    let erasure = try alice.write(at: 120, erase(FixedRecords.profile))
    #expect(try alice.store.conflicts().isEmpty)
    let orders = [
      [base, other, erasure, late], [late, base, other, erasure], [base, late, other, erasure],
      [other, base, late, erasure], [other, base, erasure, late],
    ]
    let expected = try Device("dave")
    try expected.receive(base + other + erasure + late)
    #expect(try expected.store.text(FixedRecords.profile, 2) == "Carol")
    #expect(try expected.store.conflicts().isEmpty)
    for order in orders {
      let reader = try Device("erin")
      for sets in order { try reader.receive(sets) }
      #expect(try tables(reader.store) == tables(expected.store))
    }
  }

  @Test func `an erase of None leaves its life and its name`() throws {
    try alice.write(at: 10, edit(FixedRecords.none, [2: .text("911")]))
    try bob.sync(from: alice)
    try bob.write(at: 20, erase(FixedRecords.none))
    try meet()
    #expect(try alice.store.isVisible(FixedRecords.none))
    #expect(try alice.store.text(FixedRecords.none, 1) == "None")
    #expect(try alice.store.text(FixedRecords.none, 2) == nil)
  }

  @Test func `an erase of a record without any write deletes it, and nothing was erased`() throws {
    let report = try alice.receive(try alice.draft(at: 10, [erase(rome)]))
    #expect(report.redactedSets == 0)
    #expect(try alice.store.record(rome)?.life == false)
  }
}
