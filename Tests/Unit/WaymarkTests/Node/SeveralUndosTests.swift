import ChangeHistory
import LogStorage
import Membership
import RecordTables
import Records
import Replication
import Sodium
import Storage
import Testing
import Wire

/// Operations that several devices undo, and undos that are undone themselves.
struct SeveralUndosTests {
  private let store: Store
  private let keys: [SigningKey]
  private let trip = RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(1, 1)))

  init() throws {
    store = try Store.inMemory()
    keys = try [UInt8(1), 2, 3].map { try SigningKey(seed: Array(repeating: $0, count: 32)) }
  }

  private func id(_ number: UInt64) -> OperationID { OperationID(Bytes16(0, number)) }

  /// One of three devices writes an operation, which may undo another one.
  private func write(
    _ number: UInt64, by author: Int, undoing target: UInt64? = nil, incarnation: UInt64 = 1
  ) throws {
    let key = keys[author]
    let log = LogKey(
      device: DeviceKey(key), incarnation: Incarnation(Bytes16(incarnation, 1)), lane: .records)
    var writer = Author(
      position: try store.authorPosition(circle: CircleID(.zero), log: log), key: key,
      seed: { Bytes16(5, number) })
    let operation = OperationDraft(
      id: id(number), verb: target == nil ? "trip.edit" : "undo", target: target.map { id($0) })
    let draft = EntryDraft(.put, trip, [(1, .text("\(number)"))])
    let sets = try writer.write([draft], operation: operation, wall: Moment(number) * 1_000)
    _ = try store.commit(sets, horizon: Clock(raw: .max))
  }

  /// The operation that currently undoes another one.
  private func undo(of number: UInt64) throws -> OperationID? {
    let found = try store.operations(named: id(number))
    let operation = try #require(found.first)
    return try operation.undo(in: store)?.key.id
  }

  @Test func `an operation is undone as long as any of its undos is in effect`() throws {
    try write(1, by: 0)
    #expect(try undo(of: 1) == nil)
    try write(2, by: 1, undoing: 1)
    try write(3, by: 2, undoing: 1)
    let undos = try store.undos(of: id(1))
    #expect(undos.map(\.key.id) == [id(2), id(3)])
    #expect(undos.map(\.key.device) == [keys[1], keys[2]].map { DeviceKey($0) })
    #expect(try undo(of: 1) == id(2))
    // The first of the two is undone, and then the other one too.
    try write(4, by: 0, undoing: 2)
    #expect(try undo(of: 1) == id(3))
    #expect(try undo(of: 2) == id(4))
    #expect(try undo(of: 3) == nil)
    try write(5, by: 1, undoing: 3)
    #expect(try undo(of: 1) == nil)
    #expect(try undo(of: 3) == id(5))
    // Without its undo, the first one counts again.
    try write(6, by: 2, undoing: 4)
    #expect(try undo(of: 1) == id(2))
    #expect(try undo(of: 2) == nil)
    #expect(try undo(of: 4) == id(6))
    // The undo of another operation changes nothing.
    try write(7, by: 0, undoing: 5)
    #expect(try undo(of: 3) == nil)
    #expect(try undo(of: 1) == id(2))
    try store.rebuild()
    #expect(try undo(of: 1) == id(2))
    #expect(try undo(of: 2) == nil)
    #expect(try store.undos(of: id(1)).count == 2)
  }

  @Test func `the newest operations of one device are those of all its logs, and of no other device`() throws
  {
    try write(1, by: 0)
    try write(2, by: 1)
    try write(3, by: 0, incarnation: 2)
    try write(4, by: 2)
    try write(5, by: 1, incarnation: 2)
    func numbers(of author: Int?, _ limit: Int = 9) throws -> [UInt64] {
      try store.operations(of: author.map { DeviceKey(keys[$0]) }, limit: limit).map(\.key.id.raw.word1)
    }
    #expect(try numbers(of: nil) == [5, 4, 3, 2, 1])
    #expect(try numbers(of: nil, 2) == [5, 4])
    #expect(try numbers(of: 0) == [3, 1])
    #expect(try numbers(of: 1) == [5, 2])
    #expect(try numbers(of: 2, 1) == [4])
  }
}
