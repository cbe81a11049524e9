import Foundation
import Records
import Replication
import Storage
import Testing
import Wire

/// The index of logs by day is dropped while very many arrive, and is created again when the store is idle.
@Suite struct DayIndexTests {
  private func log(_ number: UInt64) -> EntryDraft {
    EntryDraft(
      .insert,
      RecordKey(kind: KindNumbers.habitEntry, id: RecordID(Bytes16(number &* 0x9e37_79b9_7f4a_7c15, number))),
      [
        (1, .bytes(Self.habit.bytes)),
        (2, .array([.integer(Int64(number) * 1_000), .null, .text("2026-05-03")])), (3, .float(1)),
      ])
  }

  private static let habit = Bytes16(7, 7)

  private func receive(_ count: UInt64, after first: UInt64 = 0, into device: Device) throws {
    try device.receive(device.draft(at: 10 + Int64(first), (first + 1...first + count).map(log)))
  }

  private func folder() throws -> String {
    let folder = FileManager.default.temporaryDirectory.appending(path: "days-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.path
  }

  private func logs(_ device: Device) throws -> Int {
    var query = RecordQuery(KindNumbers.habitEntry)
    query.visibleOnly = false
    query.conditions = [.init(1, .equals(.blob(Self.habit.bytes)))]
    return try device.store.count(query)
  }

  @Test func `the index is dropped while many logs arrive, and created again when the store is idle`() throws
  {
    let alice = try Device("alice")
    try receive(10_000, into: alice)
    #expect(!alice.store.lacksIndex, "so few are inserted into the index one by one")
    try receive(10_000, after: 10_000, into: alice)
    #expect(alice.store.lacksIndex)
    #expect(try logs(alice) == 20_000, "reads give the same result without it")
    try alice.store.rest()
    #expect(!alice.store.lacksIndex)
    #expect(try logs(alice) == 20_000)
  }

  @Test func `the index stays if the new rows are few compared with the existing ones`() throws {
    let alice = try Device("alice")
    for part in 0..<8 {
      try receive(10_000, after: UInt64(part) * 10_000, into: alice)
      try alice.store.rest()
    }
    try receive(17_000, after: 80_000, into: alice)
    #expect(!alice.store.lacksIndex)
  }

  @Test func `a store whose process ended before it was idle works without the index, and creates it again`()
    throws
  {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/store.db"
    do {
      let alice = try Device("alice", Store(path: path))
      try receive(20_000, into: alice)
      alice.store.leaveLogOnClose()
    }
    let again = try Device("alice", Store(path: path))
    #expect(again.store.lacksIndex)
    #expect(try logs(again) == 20_000)
    try again.store.rest()
    #expect(!again.store.lacksIndex)
  }

  @Test func `the index is unchanged if the transaction that dropped it fails`() throws {
    struct Refused: Error {}
    let alice = try Device("alice")
    let sets = try alice.draft(at: 10, (1...20_000).map(log))
    #expect(throws: Refused.self) {
      try alice.store.commit(sets, horizon: Device.horizon) { _ in throw Refused() }
    }
    #expect(!alice.store.lacksIndex)
    try receive(20_000, into: alice)
    #expect(alice.store.lacksIndex, "it can be dropped again")
  }

  @Test func `refolding the log drops the index and creates it again`() throws {
    let alice = try Device("alice")
    try receive(20_000, into: alice)
    try alice.store.rest()
    try alice.store.rebuild()
    #expect(alice.store.lacksIndex)
    try alice.store.rest()
    #expect(try logs(alice) == 20_000)
  }
}
