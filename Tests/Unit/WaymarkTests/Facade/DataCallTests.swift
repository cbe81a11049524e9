import Exchange
import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Home
@testable import Waymark

/// Files, backups and large changes, as applications use them.
struct DataCallTests {
  private func inFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "calls-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  @Test func `an export is imported elsewhere without loss, with a preview and progress`() async throws {
    try await inFolder { folder in
      let alice = try await TestNode.founder("alice")
      try await alice.run("trip.add", fields("name=Rome"))
      try await alice.run("activity.add", fields("trip=Rome", "name=Forum"))
      let file = folder.appending(path: "trips.json")
      let exported = try await alice.node.export(as: .travelingSnails, to: file)
      #expect(exported.format == .travelingSnails && exported.bytes > 0 && exported.files == [])
      let content = try await alice.node.export(as: .travelingSnails)
      #expect(content.content.count == exported.bytes)
      let bob = try await TestNode.founder("bob")
      let heard = Heard<ImportEvent>()
      let preview = try await bob.node.importPreview(of: [file]) { heard.note($0) }
      #expect(preview.isPreview && preview.added == 2 && preview.updated == 0)
      #expect(heard.all.first == .reading(file, done: 0, total: 1))
      #expect(try await bob.node.status().counts.trips == 0)
      let summary = try await bob.node.importFiles([file], as: .travelingSnails)
      #expect(!summary.isPreview && summary.added == 2)
      #expect(try await bob.node.importFiles([file]).unchanged == 2)
      #expect(try await bob.node.status().counts.activities == 1)
      #expect(try await bob.node.undoNewestPreview().changes.map(\.deleted) == [1, 1])
      try await bob.node.undoNewest()
      #expect(try await bob.node.status().counts.trips == 0)
      await alice.close()
      await bob.close()
    }
  }

  @Test func `the file of an imported attachment counts as being on the device at once`() async throws {
    try await inFolder { folder in
      let (alice, bob) = (try Node.inMemory(name: "alice"), try Node.inMemory(name: "bob"))
      let trip = try await alice.save(Trip(name: "Rome"))
      let hotel = try await alice.save(Lodging(name: "Casa", tripID: trip.id))
      let content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 983) })
      let ticket = try await alice.attach(content, named: "ticket.pdf", to: .lodging(hotel.id))
      let file = folder.appending(path: "trips.json")
      _ = try await alice.export(as: .json, to: file)
      _ = try await bob.importFiles([file])
      let totals = try await bob.status().files
      #expect((totals.here, totals.bytes, totals.missing) == (1, 100_000, 0))
      #expect(try await bob.data(of: ticket) == content)
      await alice.close()
      await bob.close()
    }
  }

  @Test func `one trip is exported alone, folders are created, and unsupported exports are refused`()
    async throws
  {
    try await inFolder { folder in
      let circle = try await SocketCircle.premium(["alice"], syncing: ["alice"])
      defer { circle.end() }
      let alice = circle["alice"]
      let rome = try await circle.add("alice", "trip", "name=Rome")
      _ = try await circle.add("alice", "trip", "name=Oslo")
      let calendar = try await alice.export(as: .json, trip: Trip.ID(rome)).content
      #expect(String(decoding: calendar, as: UTF8.self).contains("Rome"))
      #expect(!String(decoding: calendar, as: UTF8.self).contains("Oslo"))
      let tables = folder.appending(path: "tables")
      #expect(try await alice.export(as: .csv, to: tables).files.contains("trips.csv"))
      #expect(try await refusal { _ = try await alice.export(as: .csv) } == "usage")
      #expect(
        try await refusal { _ = try await alice.export(as: .ritualist, trip: Trip.ID(rome)) } == "usage")
      #expect(try await refusal { _ = try await alice.export(as: .json, trip: .new()) } == "not_found")
      let broken = folder.appending(path: "broken.json")
      try Data("{".utf8).write(to: broken)
      #expect(try await refusal { try await alice.importFiles([broken]) } == "import")
    }
  }

  @Test func `every format is offered by name, as a file or a folder`() {
    #expect(
      ImportFormat.allCases.map(\.rawValue).sorted() == ExchangeFormat.imported.map(\.rawValue).sorted())
    #expect(
      ExportFormat.allCases.map(\.rawValue).sorted() == ExchangeFormat.exported.map(\.rawValue).sorted())
    #expect(ExportFormat.allCases.filter(\.isFolder) == [.csv, .loopCSV])
  }

  @Test func `a backup is written, previewed, and restores everything`() async throws {
    try await inFolder { folder in
      let alice = try await TestNode.founder("alice")
      try await alice.run("trip.add", fields("name=Rome"))
      let file = folder.appending(path: "alice.waymark")
      let heard = Heard<WorkProgress>()
      let backup = try await alice.node.backUp(to: file) { heard.note($0) }
      #expect(
        backup.records == 1 && backup.changeSets == 1
          && backup.created == Date(milliseconds: TestNode.morning))
      #expect(heard.all.last?.stage == "writing")
      #expect(try await refusal { try await alice.node.backUp(to: file) } == "needs_yes")
      try await alice.node.backUp(to: file, overwrites: true)
      try await alice.run("trip.add", fields("name=Oslo"))
      await alice.close()
      let restoring = RestoreOperation(home: alice.home, backup: file, name: "alice")
      let preview = try await restoring.preview()
      #expect(preview.isPreview && preview.discardedSets == 1 && preview.records == 1 && !preview.hasNewKeys)
      #expect(try await refusal { try await restoring.restore() } == "needs_yes")
      let done = try await restoring.restore(isConfirmed: true)
      #expect(!done.isPreview && done.isAdmitted && done.keptAt != nil)
      let restored = try Node(home: alice.home)
      #expect(try await restored.status().counts.trips == 1)
      await restored.close()
    }
  }

  @Test func `a store is verified against its log, and peers against each other`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    _ = try await circle.add("alice", "trip", "name=Rome")
    try await circle.inSync()
    let verdict = try await circle["alice"].verify()
    #expect(verdict.verdict == .equal && verdict.peers.map(\.name) == ["bob"])
    #expect(verdict.peers.first?.lanes.records == .equal)
    let deep = try await circle["alice"].verifyStore()
    #expect(deep.isSound && deep.found == 0 && deep.findings == [] && deep.isRepaired == nil)
    let bob = try await circle.device("bob")
    await circle["bob"].close()
    try await circle.until("bob is disconnected") {
      try await circle["alice"].peers().first?.roundTrip == nil
    }
    #expect(try await refusal { _ = try await circle["alice"].verify(with: bob) } != nil)
  }

  @Test func `test leftovers are listed, deleted, and restored`() async throws {
    let alice = try await TestNode.founder("alice")
    for name in ["Rome", "Test Trip 4", "DEMO two"] {
      try await alice.run("trip.add", fields("name=\(name)"))
    }
    let found = try await alice.node.testTrips()
    #expect(Set(found.map(\.name)) == ["Test Trip 4", "DEMO two"])
    let done = try await alice.node.deleteTestTrips()
    #expect(done.deleted == 2 && done.backup != nil)
    #expect(try await alice.node.status().counts.trips == 1)
    try await alice.node.undo(try #require(done.operation))
    #expect(try await alice.node.status().counts.trips == 3)
    await alice.close()
  }

  @Test func `a mirror and an assertion are previewed, applied, and undone`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let bob = try await circle.device("bob")
    let rome = try await circle.add("alice", "trip", "name=Rome")
    try await circle.inSync()
    try await circle["alice"].turnSyncOff()
    _ = try await circle.add("alice", "trip", "name=Oslo")
    try await circle.run("alice", "trip.edit", fields("name=Roma", id: "Rome"))
    let preview = try await circle["alice"].mirrorPreview(of: bob)
    #expect(preview.isPreview && preview.turnsSyncOn && preview.from?.name == "bob")
    #expect(preview.total.deleted == 1 && preview.total.changed == 1 && preview.kinds.map(\.kind) == [.trip])
    #expect(try await circle["alice"].mirrorPreview(of: bob, .trip(Trip.ID(rome))).total.deleted == 0)
    #expect(try await circle["alice"].mirrorPreview(of: bob, .kind(.habit)).kinds == [])
    let done = try await circle["alice"].mirror(bob)
    #expect(done.backup != nil && done.elsewhere == [])
    try await circle.inSync()
    for name in ["alice", "bob"] { #expect(try await circle[name].status().counts.trips == 1, "\(name)") }
    try await circle["alice"].undo(try #require(done.operation))
    try await circle.inSync()
    #expect(try await circle["bob"].status().counts.trips == 2)
    try await circle["bob"].turnSyncOff()
    _ = try await circle.add("bob", "trip", "name=Wien")
    #expect(try await circle["bob"].overrideCirclePreview().total.added == 1)
    try await circle["bob"].overrideCircle()
    try await circle.inSync()
    #expect(try await circle["alice"].status().counts.trips == 3)
  }

  @Test func `changes dated by a fast clock are restamped`() async throws {
    let now = Wall(TestNode.morning)
    let alice = try await TestNode.founder("alice", wall: { now.value })
    #expect(try await alice.node.restampPreview().changeSets == 0)
    now.value += 3_600_000
    try await alice.run("trip.add", fields("name=Rome"))
    now.value -= 3_600_000
    let preview = try await alice.node.restampPreview()
    #expect(preview.changeSets == 1 && preview.backup == nil)
    #expect(preview.newest == Date(milliseconds: TestNode.morning + 3_600_000))
    #expect(try await alice.node.restamp().backup != nil)
    #expect(try await alice.node.restampPreview().changeSets == 0)
    #expect(try await alice.node.status().counts.trips == 1)
    await alice.close()
  }

  @Test func `a deleted record is restored with what was hidden with it`() async throws {
    let circle = try await SocketCircle.premium(["alice"], syncing: ["alice"])
    defer { circle.end() }
    let alice = circle["alice"]
    let rome = try await circle.add("alice", "trip", "name=Rome")
    let forum = try await circle.add("alice", "activity", "trip=Rome", "name=Forum")
    try await circle.run("alice", "trip.delete", ["id": "Rome"])
    let trip = try #require(try await alice.deleted(Trip.self).first)
    #expect(trip.id == Trip.ID(rome) && trip.record.name == "Rome" && trip.hiddenBy == nil)
    #expect(trip.deletedBy == DeviceReference(device: try await circle.device("alice"), name: "alice"))
    let activity = try #require(try await alice.deleted(Activity.self).first)
    #expect(
      activity.id == Activity.ID(forum) && activity.hiddenBy?.id == rome && activity.hiddenBy?.kind == .trip)
    #expect(try await alice.restore(trip.id)?.name == "Rome")
    #expect(try await alice.deleted(Activity.self) == [])
    #expect(try await alice.status().counts.activities == 1)
  }

  @Test func `keys are sealed with a passphrase and opened again`() async throws {
    let alice = try await TestNode.founder("alice")
    await alice.close()
    let sealed = Home(path: alice.home.path, passphrases: giving("four words nobody guesses"))
    #expect(try sealed.protectKeys(with: words("four words nobody guesses")).keys.allSatisfy(\.isSealed))
    #expect(throws: (any Error).self) { try Node(home: Home(path: alice.home.path, passphrases: .none)) }
    let opened = try Node(home: sealed)
    await opened.close()
    #expect(try sealed.unprotectKeys().keys.allSatisfy { !$0.isSealed && $0.isChanged })
  }
}
