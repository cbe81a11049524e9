import Engine
import Foundation
import JSONDocument
import Membership
import RecordTables
import Replication
import SQLite
import Storage
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting
import Wire

@testable import Control
@testable import NodeOperations
@testable import NodeRuntime
@testable import Waymark

/// Forged and damaged backups, and restores that are interrupted.
struct RestoreTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "restore-\(UUID().uuidString)")

  private func inFolder(_ body: (TestNode, String) async throws -> Void) async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("trip.edit", fields("name=Roma", id: "Rome"))
    try await alice.run("settings.set", ["key": "colorScheme", "value": "dark"])
    let file = folder.path + "/alice.waymark"
    try await alice.run("backup", ["file": .string(file)])
    try await body(alice, file)
  }

  private func restore(
    _ home: Home, _ file: String, isConfirmed: Bool = true,
    _ change: (inout RestoreOperation.Request) -> Void = { _ in }
  ) async throws -> RestoreSummary {
    var request = RestoreOperation.Request(file: file, name: "carol")
    change(&request)
    return try await RestoreOperation(home: home, request: request, wall: { TestNode.morning }).restore(
      isConfirmed: isConfirmed)
  }

  static let forgeries: [(sql: String, saying: String)] = [
    ("UPDATE change_sets SET plan = plan || x'00' WHERE number = 2", "signature of change set 2"),
    ("UPDATE change_sets SET field_values = x'00' WHERE number = 2", "signature of change set 2"),
    ("UPDATE change_sets SET signature = zeroblob(64) WHERE number = 2", "signature of change set 2"),
    ("UPDATE change_sets SET header = x'a0' WHERE number = 2", "signature of change set 2"),
    (
      """
      DELETE FROM change_sets WHERE number = 1;
      UPDATE about SET value = value - 1 WHERE key = 'change_sets'
      """, "a dependency of change set"
    ),
    ("DELETE FROM change_sets WHERE number = 1", "declares 3 rows in change_sets but holds 2"),
    ("UPDATE statements SET bytes = substr(bytes, 1, 80)", "a statement of the circle is invalid"),
    (
      "DELETE FROM statements; UPDATE about SET value = 0 WHERE key = 'statements'",
      "a statement of the circle is invalid"
    ),
    ("DELETE FROM about WHERE key = 'device'", "its description (table about) is incomplete"),
    ("DROP TABLE change_sets", "is damaged: it has no ordinary table change_sets"),
    ("PRAGMA user_version = 3", "newer version of Waymark"),
    ("PRAGMA user_version = 1", "has the former format 1"),
    ("PRAGMA application_id = 0", "not a Waymark backup"),
  ]

  @Test(arguments: forgeries)
  func `a modified backup is refused, and nothing is changed`(
    _ sql: String, _ saying: String
  ) async throws {
    try await inFolder { alice, file in
      do { try Connection(.file(file)).execute(sql) }
      let fresh = try TestHome()
      let failure = await #expect(throws: WaymarkError.self) { try await restore(fresh.home, file) }
      #expect(failure?.message.description.contains(saying) == true, "\(failure?.message ?? "")")
      #expect(!FileManager.default.fileExists(atPath: fresh.home.path))
      await alice.close()
      await #expect(throws: WaymarkError.self) { try await restore(alice.home, file) }
      #expect(!FileManager.default.fileExists(atPath: alice.home.staging))
      let trips = try await ControlClient.run("trip.list", home: alice.home)["trips"]
      #expect(trips?[0]?["name"] == "Roma")
    }
  }

  /// The sets of another circle, with valid signatures, in a backup of this one.
  @Test func `change sets of another circle are not restored with a backup`() async throws {
    try await inFolder { alice, file in
      let mallory = try await TestNode.founder("mallory")
      try await mallory.run("trip.add", fields("name=Elsewhere"))
      let other = folder.path + "/mallory.waymark"
      try await mallory.run("backup", ["file": .string(other)])
      let mine = try Connection(.file(file))
      let theirs = try Connection(.file(other))
      let set = try theirs.with("SELECT header, signature, plan, field_values FROM change_sets") { row in
        _ = try row.step()
        return (0..<4).map { row.bytes($0) }
      }
      let sql = """
        UPDATE change_sets SET (header, signature, plan, field_values) = (?1, ?2, ?3, ?4) WHERE number = 3
        """
      try mine.with(sql) { row in
        for index in 0..<4 { try row.bind(index + 1, set[index]) }
        try row.run()
      }
      let fresh = try TestHome()
      let failure = await #expect(throws: WaymarkError.self) { try await restore(fresh.home, file) }
      #expect(failure?.message.description.contains("change set 3 does not belong to this circle") == true)
    }
  }

  @Test func `a backup of another circle needs a yes, and the old store and keys are kept among the backups`()
    async throws
  {
    try await inFolder { alice, file in
      let bob = try await TestNode.founder("bob")
      try await bob.run("trip.add", fields("name=Oslo"))
      await bob.close()
      let failure = await #expect(throws: WaymarkError.self) {
        try await restore(bob.home, file, isConfirmed: false)
      }
      #expect(failure?.exitCode == ExitCode.needsYes)
      let restored = try await restore(bob.home, file)
      #expect(restored.hasNewKeys)
      #expect(!restored.isAdmitted)
      let kept = try #require(restored.keptAt)
      for name in ["store.db", "store.waymark", "device.key", "root.key"] {
        #expect(FileManager.default.fileExists(atPath: "\(kept)/\(name)"), "\(name)")
      }
      #expect(!FileManager.default.fileExists(atPath: bob.home.rootKey))
      // And back, with the root key that was kept.
      let back = try await restore(bob.home, kept + "/store.waymark") { $0.rootKey = kept + "/root.key" }
      #expect(back.isAdmitted)
      let trips = try await ControlClient.run("trip.list", home: bob.home)["trips"]
      #expect(trips?[0]?["name"] == "Oslo")
    }
  }

  @Test func `a restore of this device's own store keeps what was chosen here since the backup`() async throws
  {
    try await inFolder { alice, file in
      try await alice.run("peers.add", ["address": "192.0.2.7:7433"])
      await alice.close()
      _ = try await restore(alice.home, file)
      let kept = try Store(path: alice.home.store).metaLines(MetaKey.addresses)
      #expect(kept.contains { $0.contains("192.0.2.7:7433") }, "\(kept)")
    }
  }

  @Test func `a store with a damaged page is replaced by a backup, and no backup of it is promised`()
    async throws
  {
    try await inFolder { alice, file in
      let home = alice.home
      // Incompressible data.
      let note = (0..<700).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
      try await alice.run("trip.add", fields("name=Long", "notes=" + note))
      await alice.close()
      do { try Store(path: home.store).rest() }
      // The continuation of what did not fit on the page of the change set.
      let values = try Connection(.file(home.store)).with(
        "SELECT field_values FROM change_sets ORDER BY length(field_values) DESC LIMIT 1"
      ) { row in
        try #require(try row.step())
        return row.bytes(0)
      }
      var bytes = try Data(contentsOf: URL(filePath: home.store))
      let half = try #require(bytes.range(of: Data(values[values.count / 2..<values.count / 2 + 40])))
      let page = half.lowerBound / 4_096 * 4_096
      bytes.replaceSubrange(page..<page + 4, with: [0xff, 0xff, 0xff, 0xff])
      try bytes.write(to: URL(filePath: home.store))
      let restored = try await restore(home, file)
      #expect(restored.keptBackup == nil)
      let kept = try #require(restored.keptAt)
      #expect(try Data(contentsOf: URL(filePath: kept + "/store.db")) == bytes)
      let trips = try await ControlClient.run("trip.list", home: home)["trips"]
      #expect(trips?.array?.compactMap { $0["name"]?.string } == ["Roma"])
    }
  }

  /// The moments when a process may end while a complete store is put in place.
  enum Moment: CaseIterable { case beforeAnything, oldStoreMoved, newStoreMoved }

  @Test(arguments: Moment.allCases)
  func `an interrupted restore is completed by the next start`(_ moment: Moment) async throws {
    try await inFolder { alice, file in
      try await alice.run("trip.add", fields("name=Later"))
      await alice.close()
      let home = alice.home
      let before = try Data(contentsOf: URL(filePath: home.store))
      let staged = Home(path: home.staging)
      try staged.prepare()
      let source = try BackupSource(file)
      let plan = try RestorePlan(
        source, try PresentStore(home), home, RestoreOperation.Request(file: file, name: "x"),
        now: TestNode.morning)
      _ = try plan.makeStore(in: staged, now: TestNode.morning) { _ in }
      let aside = home.backups + "/aside"
      let files = FileManager.default
      try Data("same circle\n\(aside)\n".utf8).write(to: URL(filePath: home.staging + "/ready"))
      if moment != .beforeAnything {
        try files.createDirectory(atPath: aside, withIntermediateDirectories: true)
        for suffix in ["-wal", "-shm", ""] where files.fileExists(atPath: home.store + suffix) {
          try files.moveItem(atPath: home.store + suffix, toPath: aside + "/store.db" + suffix)
        }
      }
      if moment == .newStoreMoved { try files.moveItem(atPath: staged.store, toPath: home.store) }
      let trips = try await ControlClient.run("trip.list", home: home)["trips"]
      #expect(trips?.array?.compactMap { $0["name"]?.string } == ["Roma"])
      #expect(try Data(contentsOf: URL(filePath: aside + "/store.db")) == before)
      #expect(!files.fileExists(atPath: home.staging))
    }
  }

  /// Otherwise an old backup would bring back a device that was revoked since.
  @Test func `statements newer than the backup stay in force`() async throws {
    try await inFolder { alice, file in
      let key = folder.path + "/issuer"
      let issuer = try Issuer.create(key)
      try await alice.run("issuer.trust", ["file": .string(key + ".pub")])
      await alice.close()
      _ = try await restore(alice.home, file)
      let node = try Node(home: alice.home)
      #expect(await node.circle.evaluation.issuers.contains(issuer))
      await node.close()
    }
  }

  @Test func `an erase that was held stays held, although there are far more records now`() async throws {
    let circle = try await TestCircle("alice", "bob", storage: .directories)
    let trips = (0..<40).map { Trip(name: "Trip \($0)") }
    try await circle["alice"].change { for trip in trips { $0.save(trip) } }
    try await circle.settle()
    let erased = Array(trips.prefix(MassRemoval.least))
    _ = try await circle.during { try await circle["bob"].erase(erased) }
    try await circle.settle()
    #expect(try await circle["alice"].hasHeldErase())
    try await circle["alice"].change { for number in 0..<200 { $0.save(Trip(name: "Later \(number)")) } }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "alice.waymark")
    try await circle["alice"].backUp(to: file)
    await circle.close()
    let home = try TestHome()
    _ = try await restore(home.home, file.path)
    let node = try Node(home: home.home, wall: { TestNode.morning })
    #expect(try await node.hasHeldErase())
    await node.close()
  }

  @Test func `a log shortened by a cut is restored shortened, and verifies as intact`() async throws {
    try await inFolder { alice, file in
      try await alice.node.cutOwnRecords()
      #expect(try await alice.run("trip.list")["trips"]?[0]?["name"] == "Rome")
      #expect(try await alice.run("verify", ["deep": true])["ok"] == true)
      let digest = try await alice.run("status")["lanes"]?["records"]?["digest"]
      let short = folder.path + "/short.waymark"
      try await alice.run("backup", ["file": .string(short)])
      await alice.close()
      // The older backup contains sets that the cut excludes; the cut is known here.
      for backup in [short, file] {
        _ = try await restore(alice.home, backup)
        let node = try Node(home: alice.home)
        #expect(try await node.run("status")["lanes"]?["records"]?["digest"] == digest)
        #expect(try await node.run("verify", ["deep": true])["ok"] == true)
        await node.close()
      }
    }
  }

  @Test func `a store that a restore has replaced is restored with its files`() async throws {
    try await inFolder { alice, file in
      let trip = try #require(try await alice.node.records(Trip.all).first)
      let hotel = try await alice.node.save(Lodging(name: "Casa", tripID: trip.id))
      let content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 983) })
      let ticket = try await alice.node.attach(content, named: "ticket.pdf", to: .lodging(hotel.id))
      await alice.close()
      let replaced = try await restore(alice.home, file)
      let back = try await restore(alice.home, try #require(replaced.keptBackup))
      #expect((back.files, back.missingFiles) == (1, 0))
      let again = try Node(home: alice.home)
      #expect(try await again.data(of: ticket) == content)
      await again.close()
    }
  }

  @Test func `a preview verifies everything and changes nothing`() async throws {
    try await inFolder { alice, file in
      try await alice.run("trip.add", fields("name=Later"))
      await alice.close()
      let before = try Data(contentsOf: URL(filePath: alice.home.store))
      let request = RestoreOperation.Request(file: file, name: "alice")
      let preview = try await RestoreOperation(home: alice.home, request: request).preview()
      #expect(preview.discardedSets == 1)
      #expect(preview.records == 2)
      #expect(try Data(contentsOf: URL(filePath: alice.home.store)) == before)
      #expect(!FileManager.default.fileExists(atPath: alice.home.staging))
    }
  }

  @Test func `a preview works while the node has its store open, and leaves no folder behind`() async throws {
    try await inFolder { alice, file in
      try await alice.run("trip.add", fields("name=Later"))
      let request = RestoreOperation.Request(file: file, name: "alice")
      let preview = try await RestoreOperation(home: alice.home, request: request).preview()
      #expect(preview.isPreview && preview.discardedSets == 1 && preview.records == 2)
      #expect(try await alice.run("status")["counts"]?["trips"] == 2)
      let left = try FileManager.default.contentsOfDirectory(atPath: alice.home.path)
      #expect(!left.contains { $0.hasPrefix("joining") }, "\(left)")
      // The restore itself still needs the store for itself.
      await #expect { try await self.restore(alice.home, file) } throws: {
        ($0 as? WaymarkError)?.code == .storeHeld
      }
    }
  }
}

extension Node {
  /// Ends the records log of this incarnation after its first set.
  /// Whether the erases of another device are held.
  fileprivate func hasHeldErase() async throws -> Bool {
    try await run("status")["notices"]?.array?.contains { $0["reason"] == "mass_erase" } ?? false
  }

  fileprivate func cutOwnRecords() throws {
    let log = LogKey(device: identity.device, incarnation: replicator.incarnation, lane: .records)
    let head = try #require(store.heads(.records).first { $0.log == log })
    let want = Want(log: log, from: 1, through: head.sequence, tip: head.id)
    let kept = try #require(try store.read(.records, [want], bytesMax: 1_000_000, setsMax: 1).sets.first)
    let cut = LogCut(circle: circle.id, log: log, tip: kept.id, issued: TestNode.morning)
    core.loop.handle(.statementsAdded([try Membership.Statement(signing: cut, with: identity.signing).bytes]))
  }
}
