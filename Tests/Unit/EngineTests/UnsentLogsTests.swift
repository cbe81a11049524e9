import Families
import Membership
import Records
import Replication
import Storage
import Testing
import Wire

@testable import Engine

/// Which sets of this device's own logs may have been sent.
@Suite struct UnsentLogsTests {
  private static let key = Family.key("alice")
  private static let incarnation = Incarnation(Bytes16(1, 1))
  private static let log = LogKey(device: DeviceKey(key), incarnation: incarnation, lane: .records)

  private static func write(_ number: UInt64, _ store: Store) throws {
    var author = Author(
      position: try store.authorPosition(circle: CircleID(.zero), log: log), key: key, seed: Family.seed)
    let draft = EntryDraft(
      .insert, RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(1, number))), [(1, .text("Rome"))])
    let operation = OperationDraft(id: OperationID(Bytes16(9, number)), verb: "test")
    _ = try store.commit(
      try author.write([draft], operation: operation, wall: Family.start), horizon: Clock(raw: .max))
  }

  @Test func `sets that a peer turns out to hold do not count as unsent, in this run and the next`() throws {
    let store = try Store.inMemory()
    var unsent = try UnsentLogs(store, device: DeviceKey(Self.key), incarnation: Self.incarnation)
    try Self.write(1, store)
    let first = store.newestHead(of: Self.log)
    try Self.write(2, store)
    #expect(unsent.unsent(.records, in: store).map(\.sequence) == [0])
    unsent.moved(to: first)
    #expect(unsent.unsent(.records, in: store).map(\.sequence) == [1])
    unsent.moved(to: store.newestHead(of: Self.log))
    unsent.moved(to: first)
    #expect(unsent.unsent(.records, in: store).isEmpty)
    try unsent.save(store)
    let next = try UnsentLogs(store, device: DeviceKey(Self.key), incarnation: Self.incarnation)
    #expect(!next.hasUnsent(Self.log, in: store))
  }

  @Test func `sets of one lane stay unsent when the other lane is released`() throws {
    let store = try Store.inMemory()
    var unsent = try UnsentLogs(store, device: DeviceKey(Self.key), incarnation: Self.incarnation)
    try Self.write(1, store)
    unsent.forget(Lane.settings)
    #expect(unsent.unsent(.records, in: store).map(\.sequence) == [0])
    unsent.forget(Lane.records)
    #expect(unsent.unsent(.records, in: store).isEmpty)
  }
}
