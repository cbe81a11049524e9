import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

/// What belongs to a record, and what hides it.
@Suite struct ParentsAndChildrenTests {
  private let alice: Device
  private let house = lodging(5)
  /// An item of another kind with the same id.
  private let walk = RecordKey(kind: KindNumbers.activity, id: id(5))
  private let names: [FieldNumber: Value] = [1: .text("Rome")]

  init() throws {
    alice = try Device("alice")
    try alice.write(
      at: 10, insert(trip(1), names), lodging(5, of: trip(1)), insert(walk, [1: .bytes(trip(1).id.bytes)]),
      insert(attachment(1), [1: owner(house)]), insert(attachment(2), [1: owner(walk)]),
      insert(attachment(3), [1: owner(house)]))
    try alice.write(at: 20, delete(attachment(3)))
  }

  @Test func `children belong to the record of their kind, and the living ones are told apart from all`()
    throws
  {
    #expect(try alice.store.allChildren(of: house) == [attachment(1), attachment(3)])
    #expect(try alice.store.livingChildren(of: house) == [attachment(1)])
    #expect(try alice.store.allChildren(of: walk) == [attachment(2)])
    #expect(try alice.store.livingChildren(of: walk) == [attachment(2)])
    let items = try alice.store.allChildren(of: trip(1))
    #expect(Set(items) == [house, walk] && items.count == 2)
    #expect(try alice.store.allChildren(of: attachment(1)) == [])
    #expect(try alice.store.livingChildren(of: trip(2)) == [])
  }

  @Test func `children of a record that is hidden are living and not visible`() throws {
    try alice.write(at: 30, delete(trip(1)))
    #expect(try alice.store.livingChildren(of: house) == [attachment(1)])
    #expect(try Set(alice.store.livingChildren(of: trip(1))) == [house, walk])
    #expect(try alice.store.children(of: house, KindNumbers.attachment).isEmpty)
    #expect(try alice.store.children(of: trip(1), KindNumbers.lodging).isEmpty)
    try alice.write(at: 40, restore(trip(1)))
    #expect(try alice.store.children(of: house, KindNumbers.attachment).map(\.key) == [attachment(1)])
  }

  @Test func `the deleted records that hide a record are listed from itself upwards`() throws {
    #expect(try alice.store.deletedAncestors(attachment(1)) == [])
    #expect(try alice.store.deletedAncestors(attachment(3)) == [attachment(3)])
    try alice.write(at: 30, delete(trip(1)))
    // The living lodging between the two does not end the search.
    #expect(try alice.store.deletedAncestors(attachment(1)) == [trip(1)])
    #expect(try alice.store.deletedAncestors(attachment(3)) == [attachment(3), trip(1)])
    try alice.write(at: 40, delete(house))
    #expect(try alice.store.deletedAncestors(attachment(1)) == [house, trip(1)])
    #expect(try alice.store.deletedAncestors(attachment(2)) == [trip(1)])
    #expect(try alice.store.deletedAncestors(attachment(9)) == [])
  }

  @Test func `the parent of a record is the one that it names, of its kind, whether or not that exists`()
    throws
  {
    try alice.write(at: 30, lodging(6, of: trip(9)), insert(attachment(4), [1: .text("nothing")]))
    func parent(_ key: RecordKey) throws -> RecordKey? {
      alice.store.parent(of: try #require(try alice.store.record(key)))
    }
    #expect(try parent(attachment(1)) == house)
    #expect(try parent(attachment(2)) == walk)
    #expect(try parent(lodging(6)) == trip(9))
    #expect(try parent(attachment(4)) == nil)
    #expect(try parent(trip(1)) == nil)
  }

  @Test func `what is put into a dead record also restores it, and a new record is inserted`() throws {
    try alice.write(at: 30, insert(trip(2), names), edit(trip(3), names))
    try alice.write(at: 35, delete(trip(2)))
    let fields: [(field: FieldNumber, value: Value)] = [(1, .text("Roma"))]
    func types(_ key: RecordKey, _ fields: [(field: FieldNumber, value: Value)]) throws -> [EntryType] {
      EntryDraft.putting(key, fields, on: try alice.store.record(key)).map(\.type)
    }
    #expect(try types(trip(1), fields) == [.put])
    #expect(try types(trip(1), []) == [])
    #expect(try types(trip(2), fields) == [.put, .restore])
    #expect(try types(trip(2), []) == [.restore])
    #expect(try types(trip(3), fields) == [.put, .restore], "a record that was never alive")
    #expect(try types(trip(4), fields) == [.insert])
    for number in UInt64(2)...4 {
      let drafts = EntryDraft.putting(trip(number), fields, on: try alice.store.record(trip(number)))
      try alice.receive(try alice.draft(at: 40 + Moment(number), drafts))
      #expect(try alice.store.isVisible(trip(number)) && alice.store.text(trip(number), 1) == "Roma")
    }
  }
}
