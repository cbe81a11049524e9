import Foundation
import Records
import Replication
import Storage
import Testing
import Wire

/// Costs that do not depend on the machine: bytes per row. `make bench` measures the rest.
@Suite struct CostTests {
  private func log(_ number: UInt64) -> EntryDraft {
    var random = SplitMix(seed: number)
    let id = RecordID(Bytes16(random.next(), random.next()))
    let habit = Bytes16(random.below(24), 7).bytes
    return EntryDraft(
      .insert, RecordKey(kind: KindNumbers.habitEntry, id: id),
      [
        (1, .bytes(habit)),
        (
          2,
          .array([
            .integer(1_700_000_000_000 + Int64(number) * 1_000), .text("Europe/Rome"), .text("2026-05-03"),
          ])
        ),
        (3, .float(Double(random.below(1_000)) / 10)),
      ])
  }

  @Test func `ten thousand habit logs take at most 95 bytes a row on the wire and 260 on the disk`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.path + "/store.db"
    let rows = 10_000
    let alice = try Device("alice", Store(path: path))
    let sets = try alice.draft(at: 10, (1...UInt64(rows)).map(log))
    // A set holds at most a thousand entries, and none is left half empty.
    #expect(sets.count == (rows + Limits.setEntriesMax - 1) / Limits.setEntriesMax)
    let wire = Message.encodedSets(.records, sets.map(\.raw)).count
    #expect(wire <= 95 * rows, "\(wire / rows) bytes a row on the wire")
    try alice.receive(sets)
    try alice.store.checkpoint()
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
    let disk = try #require(size).intValue
    // Each empty table takes a page.
    #expect(disk <= 260 * rows + 100_000, "\(disk / rows) bytes a row on the disk")
  }
}
