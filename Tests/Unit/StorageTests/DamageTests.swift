import Foundation
import Membership
import Replication
import SQLite
import Testing
import Wire

import RecordTables
@testable import Backups
@testable import LogStorage
@testable import Storage

/// A bit that the disk has altered in a stored change set costs the content of that set and nothing else, and a peer
/// that sends the set again restores it.
@Suite struct DamageTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "damage-\(UUID().uuidString)")

  /// Alice's store in a file, whose second change set of five is altered.
  private func inDamagedStore(
    _ damage: String, _ body: (_ path: String, _ alice: Device, _ bob: Device) throws -> Void
  ) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.path + "/store.db"
    let bob = try Device("bob")
    do {
      let alice = try Device("alice", Store(path: path))
      try alice.write(at: 10, insert(trip(1), [1: .text("Rome")]))
      try alice.write(at: 20, edit(trip(1), [1: .text("Roma")]))
      try bob.sync(from: alice)
      try bob.write(at: 30, insert(trip(2), [1: .text("Oslo")]))
      try alice.sync(from: bob)
      try alice.write(at: 40, insert(trip(3), [1: .text("Bern")]))
      try alice.write(at: 50, edit(trip(2), [1: .text("Oslo, again")]))
      try bob.sync(from: alice)
    }
    try Connection(.file(path)).execute(damage)
    try body(path, try Device("alice", Store(path: path)), bob)
  }

  static let damages = ["header", "signature", "plan", "field_values"].map {
    "UPDATE change_sets SET \($0) = CAST(substr(\($0), 1, 20) || x'a7' || substr(\($0), 22) AS BLOB) WHERE number = 2"
  }

  /// Everything that could be folded without the damaged set.
  private func expectTheRest(_ store: Store) throws {
    #expect(try store.text(trip(1), 1) == "Rome")
    #expect(try store.text(trip(2), 1) == "Oslo, again")
    #expect(try store.text(trip(3), 1) == "Bern")
    #expect(store.damagedSets.map(\.sequence) == [2])
    #expect(store.damagedSets.map(\.isUnfolded) == [true])
  }

  /// The same set again, as a peer sends it.
  private func expectRepair(_ alice: Device, _ bob: Device) throws {
    let damaged = try #require(alice.store.damagedSets.first)
    let again = try #require(bob.known.first { $0.id == damaged.id })
    let report = try alice.store.commit([again], horizon: Device.horizon)
    #expect(report.placements == [.duplicate])
    #expect(report.repaired == [damaged])
    #expect(alice.store.damagedSets.isEmpty)
    #expect(try dump(alice.store) == dump(bob.store))
  }

  @Test(arguments: [damages[0], damages[2], damages[3]])
  func `a rebuild of the tables leaves out a damaged set, and the store opens`(_ damage: String) throws {
    try inDamagedStore(damage) { path, alice, bob in
      try alice.store.setMeta("anything", [1])
      try Connection(.file(path)).execute("UPDATE meta SET value = 'another version' WHERE key = 'derived'")
      // Opened a second time, as the lock only works between processes that use it.
      let store = try Store(path: path, isLocked: true)
      try expectTheRest(store)
      let heads = store.heads(.records).map { [$0.sequence, $0.foldedSequence] }
      #expect(heads == bob.store.heads(.records).map { [$0.sequence, $0.foldedSequence] })
      // The finding is stored.
      let opened = try Device("alice", Store(path: path, isLocked: true))
      try expectTheRest(opened.store)
      try expectRepair(opened, bob)
    }
  }

  @Test(arguments: [damages[0], damages[2], damages[3]])
  func `logs that are rebuilt for a cut keep a damaged set in its position`(_ damage: String) throws {
    try inDamagedStore(damage) { path, alice, bob in
      let carol = try Device("carol")
      try carol.write(at: 35, insert(trip(4), [1: .text("Paris")]))
      try alice.sync(from: carol)
      try bob.sync(from: carol)
      let admission: (LogKey) -> Admission = { $0 == carol.log ? .cut([[]]) : .open }
      for store in [alice.store, bob.store] {
        #expect(try store.admit(by: admission, horizon: Device.horizon))
        #expect(try !store.isVisible(trip(4)))
      }
      try expectTheRest(alice.store)
      #expect(alice.store.heads(.records) == bob.store.heads(.records))
      // The next start does not rebuild anything, and has the same findings.
      let opened = try Device("alice", Store(path: path, isLocked: true))
      #expect(try !opened.store.admit(by: admission, horizon: Device.horizon))
      try expectTheRest(opened.store)
      try opened.write(at: 60, insert(trip(5), [1: .text("Turin")]))
      try bob.sync(from: opened)
      try expectRepair(opened, bob)
    }
  }

  @Test func `an altered id is restored from the signed header when logs are rebuilt`() throws {
    try inDamagedStore("UPDATE change_sets SET id = zeroblob(32) WHERE number = 2") { _, alice, bob in
      _ = try alice.store.rebuildLogs(Device.horizon)
      #expect(alice.store.damagedSets.isEmpty)
      #expect(try dump(alice.store) == dump(bob.store))
      #expect(alice.store.heads(.records) == bob.store.heads(.records))
    }
  }

  @Test func `tables of another version stay unchanged if folding the log into new ones fails`() throws {
    try inDamagedStore("DELETE FROM branches") { path, _, _ in
      let file = try Connection(.file(path))
      try file.execute("UPDATE meta SET value = 'another version' WHERE key = 'derived'")
      #expect(throws: StoreError.self) { try Store(path: path, isLocked: true) }
      let names = try file.with("SELECT name FROM trips ORDER BY name") { row in
        var names: [String] = []
        while try row.step() { names.append(row.text(0)) }
        return names
      }
      #expect(names == ["Bern", "Oslo, again", "Roma"])
    }
  }

  @Test(arguments: damages)
  func `a damaged set is found when it is read for a peer, and those before it are still sent`(
    _ damage: String
  ) throws {
    try inDamagedStore(damage) { _, alice, _ in
      #expect(alice.store.damagedSets.isEmpty)
      let tip = try #require(alice.store.heads(.records).first { $0.log == alice.log })
      let want = Want(log: tip.log, from: 1, through: tip.sequence, tip: tip.id)
      let part = try alice.store.read(.records, [want], bytesMax: .max, setsMax: .max)
      #expect(part.sets.map(\.sequence) == [1])
      #expect(part.rest.isEmpty)
      #expect(alice.store.damagedSets.map(\.sequence) == [2])
      // The tables already include it, and no refold is needed.
      #expect(alice.store.damagedSets.map(\.isUnfolded) == [false])
      let behind = Want(log: tip.log, from: 3, through: tip.sequence, tip: tip.id)
      let rest = try alice.store.read(.records, [behind], bytesMax: .max, setsMax: .max)
      #expect(rest.sets.map(\.sequence) == [3, 4])
    }
  }

  @Test(arguments: damages)
  func `a check of the whole store finds a damaged set in steps`(_ damage: String) throws {
    try inDamagedStore(damage) { path, alice, _ in
      var last: Int64 = 0
      var count = 0
      while let next = try alice.store.check(after: last, setsMax: 2, bytesMax: .max).last {
        #expect(next > last)
        last = next
        count += 1
      }
      #expect((last, count) == (5, 3))
      #expect(alice.store.damagedSets.map(\.sequence) == [2])
      #expect(try Store(path: path, isLocked: true).damagedSets == alice.store.damagedSets)
    }
  }

  @Test func `history omits what only a damaged set contains`() throws {
    try inDamagedStore(Self.damages[2]) { _, alice, _ in
      let writes = try alice.store.writes(of: trip(1))
      #expect(writes.map(\.place.sequence) == [1])
      #expect(try alice.store.operations(limit: 10).count == 4)
      #expect(alice.store.damagedSets.count == 1)
    }
  }

  private var about: BackupAbout {
    BackupAbout(created: 0, program: "test", device: DeviceKey(.zero), name: "alice", kept: [:])
  }

  @Test(arguments: damages)
  func `a backup names the damaged set, and is written only on request`(_ damage: String) throws {
    try inDamagedStore(damage) { path, alice, _ in
      let file = folder.path + "/alice.waymark"
      let failure = #expect(throws: BackupDamageError.self) {
        try alice.store.backup(to: file, about: about, allowsDamage: false)
      }
      #expect(failure?.damaged.map(\.sequence) == [2])
      #expect(!FileManager.default.fileExists(atPath: file))
      let summary = try Store.backup(storeAt: path, to: file, about: about)
      #expect(summary.damaged.map(\.head) == failure?.damaged.map(\.head))
      #expect(summary.changeSets == 5)
    }
  }
}
