import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

@Suite struct FoldTests {
  let alice: Device
  let bob: Device
  let rome = trip(1)

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
  }

  /// Both receive what the other has.
  private func meet() throws {
    let before = alice.known
    try alice.sync(from: bob)
    try bob.receive(before)
    #expect(try dump(alice.store) == dump(bob.store))
  }

  @Test func `an inserted record is read with all its fields`() throws {
    try alice.write(
      at: 10, insert(rome, [1: .text("Rome"), 4: .integer(77), 6: .bool(true), 2: .null]))
    let row = try #require(try alice.store.record(rome))
    #expect(row.isVisible)
    #expect(row.fields == [1: .text("Rome"), 2: .null, 4: .integer(77), 6: .bool(true)])
    #expect(row[2] == nil)
    #expect(try alice.store.origins(of: row)[1]?.clock == Clock(milliseconds: 10))
  }

  @Test func `an edit changes its field and keeps the others`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]))
    try alice.write(at: 20, edit(rome, [1: .text("Roma")]))
    #expect(try alice.store.text(rome, 1) == "Roma")
    #expect(try alice.store.text(rome, 2) == "sunny")
    #expect(try alice.store.conflictCount() == 0)
  }

  @Test func `a deleted record is kept and can be restored`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try alice.write(at: 20, delete(rome))
    #expect(try !alice.store.isVisible(rome))
    #expect(try alice.store.text(rome, 1) == "Rome")
    try alice.write(at: 30, restore(rome))
    #expect(try alice.store.isVisible(rome))
    #expect(try alice.store.conflictCount() == 0)
  }

  @Test func `fields edited on both sides merge, one field by the newest stamp`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome"), 2: .text("sunny")]))
    try bob.sync(from: alice)
    try alice.write(at: 20, edit(rome, [1: .text("Roma"), 2: .text("hot")]))
    try bob.write(at: 30, edit(rome, [1: .text("Rom")]))
    try meet()
    #expect(try alice.store.text(rome, 1) == "Rom")
    #expect(try alice.store.text(rome, 2) == "hot")
    let conflict = try #require(try alice.store.conflicts().first)
    #expect(conflict.field == 1)
    #expect(conflict.reason == .field)
    #expect(conflict.winner.content == .value(.text("Rom")))
    #expect(conflict.losers.map(\.content) == [.value(.text("Roma"))])
    #expect(conflict.losers.map(\.stamp.device) == [alice.log.device])
  }

  @Test func `equal values written on both sides are not a conflict`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    try alice.write(at: 20, edit(rome, [1: .text("Roma")]))
    try bob.write(at: 30, edit(rome, [1: .text("Roma")]))
    try meet()
    #expect(try alice.store.conflicts().isEmpty)
    #expect(try alice.store.conflictCount() == 0)
  }

  @Test func `a later write that has seen both resolves a conflict everywhere`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    try alice.write(at: 20, edit(rome, [1: .text("Roma")]))
    try bob.write(at: 30, edit(rome, [1: .text("Rom")]))
    try meet()
    #expect(try bob.store.conflictCount() == 1)
    try alice.write(at: 40, edit(rome, [1: .text("Roma")]))
    try meet()
    #expect(try bob.store.conflictCount() == 0)
    #expect(try bob.store.text(rome, 1) == "Roma")
  }

  @Test func `a delete wins over a concurrent edit, and is reported`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    try alice.write(at: 20, delete(rome))
    try bob.write(at: 30, edit(rome, [1: .text("Rom")]))
    try meet()
    #expect(try !bob.store.isVisible(rome))
    let conflict = try #require(try bob.store.conflicts().first)
    #expect(conflict.reason == .editLostToDelete)
    #expect(conflict.winner.stamp.device == alice.log.device)
    #expect(conflict.losers.map(\.stamp.device) == [bob.log.device])
    try bob.write(at: 40, restore(rome))
    try meet()
    #expect(try alice.store.text(rome, 1) == "Rom")
    #expect(try alice.store.isVisible(rome))
    #expect(try alice.store.conflictCount() == 0)
  }

  @Test func `a lodging added while its trip is deleted elsewhere is hidden, not lost`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    try alice.write(at: 20, delete(rome))
    try bob.write(at: 15, lodging(1, of: rome))
    try meet()
    #expect(try !alice.store.isVisible(lodging(1)))
    let conflict = try #require(try alice.store.conflicts().first)
    #expect(conflict.reason == .hiddenByParent)
    #expect(conflict.record == lodging(1))
    try alice.write(at: 40, restore(rome))
    try meet()
    #expect(try bob.store.isVisible(lodging(1)))
    #expect(try bob.store.conflictCount() == 0)
  }

  @Test func `a record that leaves a trip in the batch that restores the trip is no longer hidden by it`()
    throws
  {
    let photo: Value = .array([.integer(Int64(KindNumbers.lodging.rawValue)), .bytes(lodging(1).id.bytes)])
    try alice.write(
      at: 10, insert(rome, [1: .text("Rome")]), insert(trip(2), [1: .text("Oslo")]), lodging(1, of: rome))
    try bob.sync(from: alice)
    try alice.write(at: 20, delete(rome))
    try bob.write(at: 20, edit(lodging(1), [2: .text("Casa Rosa")]), insert(attachment(1), [1: photo]))
    try meet()
    #expect(try alice.store.conflicts().map(\.reason) == [.hiddenByParent, .hiddenByParent])
    try alice.write(at: 30, restore(rome), edit(lodging(1), [1: .bytes(trip(2).id.bytes)]))
    try meet()
    for store in [alice.store, bob.store] {
      #expect(try store.isVisible(lodging(1)))
      #expect(try store.isVisible(attachment(1)))
      #expect(try store.conflictCount() == 0)
    }
  }

  @Test func `deleting a trip that was seen completely is not a conflict`() throws {
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try bob.sync(from: alice)
    try bob.write(at: 15, lodging(1, of: rome))
    try alice.sync(from: bob)
    try alice.write(at: 20, delete(rome))
    try meet()
    #expect(try !bob.store.isVisible(lodging(1)))
    #expect(try bob.store.conflictCount() == 0)
  }

  @Test func `an edit without an insert creates an invisible record`() throws {
    try alice.write(at: 10, edit(rome, [1: .text("Rome")]))
    let row = try #require(try alice.store.record(rome))
    #expect(row.life == nil)
    #expect(!row.isVisible)
    try alice.write(at: 20, restore(rome))
    #expect(try alice.store.isVisible(rome))
  }

  @Test func `None cannot be renamed or deleted by any device`() throws {
    let empty = alice.store.digest(.records)
    try alice.write(at: 10, delete(FixedRecords.none), edit(FixedRecords.none, [1: .text("Some")]))
    #expect(try alice.store.isVisible(FixedRecords.none))
    #expect(try alice.store.text(FixedRecords.none, 1) == "None")
    #expect(alice.store.digest(.records) == empty)
    try alice.write(at: 20, edit(FixedRecords.none, [2: .text("911")]))
    #expect(try alice.store.text(FixedRecords.none, 2) == "911")
    #expect(alice.store.digest(.records) != empty)
  }

  @Test func `a value of another type is kept, counted, and read as absent`() throws {
    try alice.write(at: 10, insert(rome, [1: .integer(5), 2: .text("notes")]))
    let row = try #require(try alice.store.record(rome))
    #expect(row[1] == nil)
    #expect(row.unread == [1: .integer(5)])
    #expect(row[2] == .text("notes"))
    let before = alice.store.digest(.records)
    try alice.write(at: 20, edit(rome, [1: .text("Rome")]))
    #expect(try alice.store.text(rome, 1) == "Rome")
    #expect(try alice.store.record(rome)?.unread == [:])
    #expect(alice.store.digest(.records) != before)
  }

  @Test func `unknown fields and kinds are folded like any other`() throws {
    let kind = try #require(KindNumber(4_000))
    let strange = RecordKey(kind: kind, id: id(9))
    try alice.write(
      at: 10, insert(rome, [1: .text("Rome"), 900: .array([.integer(1)])]),
      insert(strange, [70: .text("new"), 3: .float(1.5)]))
    try bob.sync(from: alice)
    try alice.write(at: 20, edit(strange, [70: .text("newer")]))
    try bob.write(at: 30, edit(strange, [70: .text("newest")]), edit(rome, [900: .null]))
    try meet()
    #expect(try dump(alice.store, kinds: [kind]) == dump(bob.store, kinds: [kind]))
    #expect(try alice.store.record(strange)?.fields == [70: .text("newest"), 3: .float(1.5)])
    #expect(try alice.store.record(rome)?.unread == [900: .null])
    #expect(try alice.store.conflicts().map(\.record) == [strange])
  }

  @Test func `a failed transaction leaves the digest of every bucket as it was`() throws {
    struct Failure: Error {}
    let alice = try Device("alice")
    try alice.write(at: 1, EntryDraft(.insert, trip(1), [(1, .text("Rome"))]))
    let before = alice.store.fold.digests.buckets(.records)
    let sets = try alice.draft(at: 2, [EntryDraft(.insert, trip(2), [(1, .text("Oslo"))])])
    #expect(throws: Failure.self) {
      try alice.store.commit(sets, horizon: Device.horizon, noting: { _ in throw Failure() })
    }
    #expect(alice.store.fold.digests.buckets(.records) == before)
  }
}
