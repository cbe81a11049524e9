import LogStorage
import Records
import Replication
import Storage
import Testing
import Wire

@testable import ChangeHistory

/// The counts behind mass deletions: how they are stored, told apart, ordered and forgotten.
struct MassDeletionCountTests {
  private func loss(
    _ operation: UInt64, by device: UInt64 = 1, _ records: [KindNumber: Int]
  ) -> DeletedRecords {
    let key = OperationKey(
      id: OperationID(Bytes16(0, operation)), device: DeviceKey(Bytes32(0, 0, 0, device)))
    return DeletedRecords(operation: key, clock: Clock(milliseconds: 5), records: records)
  }

  private func id(_ operation: UInt64) -> OperationID { OperationID(Bytes16(0, operation)) }

  @Test func `counts are stored with every kind and device, and an acknowledgement removes the large ones`()
    throws
  {
    let store = try Store.inMemory()
    var deletes = MassDeletions()
    deletes.add(
      [loss(1, by: 1, [KindNumbers.trip: 30, KindNumbers.habit: 22])],
      visible: [KindNumbers.trip: 10, KindNumbers.habit: 3])
    deletes.add([loss(2, by: 2, [KindNumbers.trip: 5])], visible: [KindNumbers.trip: 5])
    try deletes.save(to: store)
    let stored = try MassDeletions(store)
    #expect(stored.tallies == deletes.tallies)
    let large = try #require(stored.large.first)
    #expect(stored.large.count == 1 && large.device == DeviceKey(Bytes32(0, 0, 0, 1)) && large.time == 5)
    #expect(large.large.map(\.kind) == [KindNumbers.trip, KindNumbers.habit])
    #expect(large.large.map(\.count.deleted) == [30, 22] && large.large.map(\.count.before) == [40, 25])
    try MassDeletions.acknowledge(in: store)
    let rest = try MassDeletions(store)
    #expect(rest.tallies.map(\.operation) == [id(2)])
    // The small one is continued after that, as if the node had been opened again.
    var continued = rest
    continued.add([loss(2, by: 2, [KindNumbers.trip: 15])], visible: [:])
    #expect(continued.large.map(\.operation) == [id(2)])
    try continued.save(to: store)
    try MassDeletions.acknowledge(in: store)
    #expect(try store.meta(MetaKey.deletions) == nil)
  }

  @Test func `what two devices delete under one operation's id is two deletions`() {
    var deletes = MassDeletions()
    deletes.add(
      [loss(1, by: 1, [KindNumbers.trip: 15]), loss(1, by: 2, [KindNumbers.trip: 15])],
      visible: [KindNumbers.trip: 0])
    #expect(deletes.large.isEmpty && deletes.tallies.count == 2)
    deletes.add([loss(1, by: 2, [KindNumbers.trip: 10])], visible: [:])
    #expect(deletes.large.map(\.device) == [DeviceKey(Bytes32(0, 0, 0, 2))])
    #expect(deletes.large.first?.counts[KindNumbers.trip]?.deleted == 25)
  }

  @Test func `the kind with the most deleted records comes first, and small ones are left out`() {
    var deletes = MassDeletions()
    deletes.add(
      [
        loss(
          1,
          [
            KindNumbers.category: 22, KindNumbers.habit: 22, KindNumbers.trip: 21,
            FixedRecords.organization: 19,
          ])
      ], visible: [:])
    #expect(
      deletes.large.first?.large.map(\.kind) == [KindNumbers.habit, KindNumbers.category, KindNumbers.trip])
  }

  @Test func `of too many small deletions the oldest is forgotten, and the others can grow large`() {
    var deletes = MassDeletions()
    for number in UInt64(1)...33 {
      deletes.add([loss(number, [KindNumbers.trip: 15])], visible: [:])
    }
    #expect(deletes.tallies.map(\.operation) == (2...33).map { id($0) })
    for number in [2, 33, 1] as [UInt64] {
      deletes.add([loss(number, [KindNumbers.trip: 15])], visible: [:])
    }
    #expect(Set(deletes.large.map(\.operation)) == [id(2), id(33)])
    #expect(deletes.large.allSatisfy { $0.counts[KindNumbers.trip]?.deleted == 30 })
  }
}
