import Records
import Replication
import Storage
import Testing
import Wire

/// Records whose parent is none that they can have, as another device may write them.
struct ParentRuleTests {
  @Test func `an attachment of anything but an item is neither shown nor counted until it is moved to one`()
    throws
  {
    let alice = try Device("alice")
    let lodgings = Int64(KindNumbers.lodging.rawValue)
    let parents: [[FieldNumber: Value]] = [
      [1: owner(trip(1))], [1: owner(attachment(9))], [1: owner(lodging(2))],
      [1: .array([.integer(9_999), .bytes(lodging(1).id.bytes)])],
      [1: .array([.integer(lodgings), .bytes([1])])], [1: .null], [:],
    ]
    var drafts = [insert(trip(1), [1: .text("Rome")]), lodging(1, of: trip(1))]
    drafts.append(insert(attachment(9), [1: owner(lodging(1)), 2: .text("ticket.pdf")]))
    for (index, fields) in parents.enumerated() {
      drafts.append(insert(attachment(UInt64(index + 1)), fields.merging([2: .text("\(index).pdf")]) { $1 }))
    }
    try alice.receive(try alice.draft(at: 10, drafts))
    let bob = try Device("bob")
    func expect(visible: Int, of device: Device, _ after: Comment) throws {
      #expect(try device.store.visibleCounts()[KindNumbers.attachment] == visible, after)
      #expect(try device.store.count(RecordQuery(KindNumbers.attachment)) == visible, after)
      #expect(try device.store.children(of: trip(1), KindNumbers.attachment).isEmpty, after)
      #expect(try device.store.livingChildren(of: trip(1)) == [lodging(1)], after)
    }
    try expect(visible: 1, of: alice, "one ticket and hostile parents")
    for index in parents.indices {
      #expect(try !alice.store.isVisible(attachment(UInt64(index + 1))), "\(index)")
    }
    try alice.write(at: 20, delete(trip(1)))
    #expect(try alice.store.count(RecordQuery(KindNumbers.attachment)) == 0)
    try alice.write(at: 30, restore(trip(1)))
    try expect(visible: 1, of: alice, "the restoration of the trip")
    let moves = parents.indices.map { edit(attachment(UInt64($0 + 1)), [1: owner(lodging(1))]) }
    try alice.receive(try alice.draft(at: 40, moves))
    try bob.sync(from: alice)
    for device in [alice, bob] {
      try expect(visible: 1 + parents.count, of: device, "the move of all attachments")
      #expect(try device.store.children(of: lodging(1), KindNumbers.attachment).count == 1 + parents.count)
    }
    #expect(try dump(alice.store) == dump(bob.store))
  }
}
