import Backups
import Foundation
import Records
import Replication
import SQLite
import Storage
import Testing
import Vectors
import Wire

/// The bytes of erased values in the files of a store: after the next checkpoint, none of them is left.
@Suite struct EraseBytesTests {
  private let rome = trip(1)
  private let oslo = trip(2)

  /// Begins every text that is to be erased.
  private static let planted = "planted"

  private func inFolder(_ body: (_ folder: URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "erase-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }

  private func path(_ folder: URL) -> String { folder.appending(path: "store.db").path }

  /// How often a text occurs in each file of a folder; files without it are left out.
  private func occurrences(of text: String = Self.planted, in folder: URL) throws -> [String: Int] {
    let word = Data(text.utf8)
    var found: [String: Int] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let bytes = try Data(contentsOf: folder.appending(path: name))
      var start = bytes.startIndex
      while let range = bytes.range(of: word, in: start..<bytes.endIndex) {
        found[name, default: 0] += 1
        start = range.upperBound
      }
    }
    return found
  }

  /// Alice's store with values in every place where there can be any: columns, unknown fields, siblings, a profile, and
  /// the change sets themselves.
  private func plant(_ folder: URL) throws -> Device {
    let alice = try Device("alice", Store(path: path(folder)))
    let bob = try Device("bob")
    func text(_ number: Int) -> Value { .text("\(Self.planted) \(number)") }
    try alice.write(
      at: 10, insert(rome, [1: text(1), 2: text(2), 900: text(3)]), insert(oslo, [1: .text("kept")]),
      edit(FixedRecords.profile, [1: .integer(10), 2: text(4)]))
    try bob.sync(from: alice)
    try alice.write(at: 20, edit(rome, [1: text(5), 4: text(6)]))
    try bob.write(at: 30, edit(rome, [1: text(7)]), edit(FixedRecords.profile, [1: .integer(5), 2: text(8)]))
    try alice.sync(from: bob)
    try alice.store.checkpoint()
    // Some of it is still in the write-ahead log only.
    try alice.write(at: 40, edit(rome, [2: text(9)]))
    #expect(try occurrences(in: folder)["store.db"] ?? 0 > 8)
    #expect(try occurrences(in: folder)["store.db-wal"] ?? 0 > 0)
    return alice
  }

  private func erasePlanted(_ alice: Device) throws {
    try alice.write(at: 50, erase(rome), erase(FixedRecords.profile))
  }

  @Test func `after a checkpoint no file of the store contains an erased value`() throws {
    try inFolder { folder in
      let alice = try plant(folder)
      #expect(try !alice.store.isErasePending)
      try erasePlanted(alice)
      #expect(try alice.store.isErasePending)
      try alice.store.checkpoint()
      #expect(try !alice.store.isErasePending)
      #expect(try occurrences(in: folder).isEmpty)
      #expect(try !occurrences(of: "kept", in: folder).isEmpty, "the search finds what was not erased")
      #expect(try alice.store.text(oslo, 1) == "kept")
    }
  }

  /// Splits of pages leave copies of rows behind, and records with random ids cause many of them.
  @Test(arguments: [(20, 60), (200, 900), (3_000, 9_000)])
  func `no copy of an erased value is left in the free space of any page`(least: Int, most: Int) throws {
    try inFolder { folder in
      var random = SeededRandom(seed: 7)
      let alice = try Device("alice", Store(path: path(folder)))
      func note(_ number: Int) -> Value {
        let length = least + random.below(most - least)
        return .text("\(Self.planted) \(number) " + String(repeating: "x", count: length))
      }
      let records = (0..<300).map { _ in
        RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(random.next(), random.next())))
      }
      var wall: Moment = 10
      for start in stride(from: 0, to: records.count, by: 50) {
        wall += 10
        let drafts = records[start..<start + 50].enumerated().map { insert($1, [1: note($0), 2: note($0)]) }
        try alice.receive(try alice.draft(at: wall, drafts))
      }
      for record in records where random.below(3) == 0 {
        wall += 10
        try alice.write(at: wall, edit(record, [2: note(0)]))
      }
      try alice.store.rest()
      try alice.receive(try alice.draft(at: wall + 10, records.map(erase)))
      try alice.store.checkpoint()
      #expect(try occurrences(in: folder).isEmpty)
    }
  }

  /// The copy is what a power loss leaves, or a file system that makes snapshots.
  @Test func `a copy of the files from before the checkpoint is cleaned when it is opened and checkpointed`()
    throws
  {
    try inFolder { folder in
      let alice = try plant(folder)
      try erasePlanted(alice)
      let copy = folder.appending(path: "copy")
      try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
      for name in ["store.db", "store.db-wal"] {
        try FileManager.default.copyItem(at: folder.appending(path: name), to: copy.appending(path: name))
      }
      #expect(try !occurrences(in: copy).isEmpty)
      let store = try Store(path: path(copy))
      #expect(try store.isErasePending)
      try store.checkpoint()
      #expect(try !store.isErasePending)
      #expect(try occurrences(in: copy).isEmpty)
      #expect(try dump(store) == dump(alice.store))
    }
  }

  @Test func `a reader delays the cleaning until it ends`() throws {
    try inFolder { folder in
      let alice = try plant(folder)
      let reader = try Connection(.existingFileReadOnly(path(folder)))
      try reader.setUpReadOnly()
      try reader.snapshot {
        // The snapshot begins with the first read.
        _ = try reader.with("SELECT count(*) FROM trip_rows") { try $0.step() }
        try erasePlanted(alice)
        try alice.store.checkpoint()
        #expect(try alice.store.isErasePending)
      }
      try alice.store.checkpoint()
      #expect(try !alice.store.isErasePending)
      #expect(try occurrences(in: folder).isEmpty)
    }
  }

  @Test func `a backup contains no erased value, even if the store was not checkpointed since`() throws {
    try inFolder { folder in
      let alice = try plant(folder)
      try erasePlanted(alice)
      let backups = folder.appending(path: "backups")
      try FileManager.default.createDirectory(at: backups, withIntermediateDirectories: true)
      let file = backups.appending(path: "alice.waymark").path
      let about = BackupAbout(created: 0, program: "test", device: DeviceKey(.zero), name: "alice", kept: [:])
      let summary = try alice.store.backup(to: file, about: about)
      #expect(summary.damaged.isEmpty)
      #expect(try occurrences(in: backups).isEmpty)
      let restored = try Device("carol")
      try BackupFile(path: file).forEachPart(of: 100) { part in
        try restored.receive(try part.map { try VerifiedChangeSet(verifying: $0) })
      }
      #expect(try dump(restored.store) == dump(alice.store))
    }
  }
}
