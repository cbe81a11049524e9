import Engine
import Exchange
import Foundation
import JSONDocument
import LogStorage
import Membership
import Platform
import Records
import Replication
import Storage
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeOperations
@testable import NodeRuntime
@testable import Waymark

/// `mirror` and `assert` between real nodes.
@Suite(.serialized) struct MirrorAndAssertTests {
  // MARK: Stage

  /// All have premium; records sync is on for the devices given.
  private func premium(_ names: [String], syncing: [String]) async throws -> SocketCircle {
    let circle = try await SocketCircle.premium(names, syncing: syncing)
    let pairs = names.dropFirst().flatMap { [(names[0], $0), ($0, names[0])] }
    for (name, other) in pairs {
      let reason = syncing.contains(other) ? ReasonCode.open : .syncOff
      let device = await circle[other].identity.device
      try await eventually("\(name) knows whether sync is on at \(other)") {
        await circle[name].refusal(from: device) == reason
      }
    }
    return circle
  }

  @discardableResult
  private func run(
    _ circle: SocketCircle, _ name: String, _ command: String, _ arguments: JSON = [:]
  ) async throws -> JSON {
    try await circle[name].run(command, arguments)
  }

  private func failure(
    _ circle: SocketCircle, _ name: String, _ command: String, _ arguments: JSON = [:]
  ) async throws -> WaymarkError? {
    do {
      try await run(circle, name, command, arguments)
      return nil
    } catch let failure as WaymarkError {
      return failure
    }
  }

  private func trips(_ circle: SocketCircle, _ name: String) async throws -> [String] {
    try await run(circle, name, "trip.list")["trips"]?.array?.compactMap { $0["name"]?.string } ?? []
  }

  private func addTrips(_ circle: SocketCircle, _ name: String, _ trips: String...) async throws {
    for trip in trips { try await run(circle, name, "trip.add", fields("name=\(trip)")) }
  }

  /// Waits until all hold the same trips, and nothing is missing on any device.
  private func agree(
    _ circle: SocketCircle, _ names: [String], _ expected: [String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for name in names {
      try await eventually("\(name) holds \(expected)", sourceLocation: sourceLocation) {
        try await trips(circle, name) == expected
      }
    }
    try await eventually("digests of \(names) are equal", sourceLocation: sourceLocation) {
      var digests: Set<[UInt8]> = []
      for name in names { digests.insert(await circle[name].recordsDigest) }
      return digests.count == 1
    }
  }

  // MARK: mirror

  @Test func `mirror shows what would change, and asks`() async throws {
    let circle = try await premium(["alice", "bob"], syncing: ["bob"])
    defer { circle.end() }
    try await addTrips(circle, "alice", "Rome", "Oslo")
    try await run(circle, "alice", "habit.add", fields("name=Water"))
    try await addTrips(circle, "bob", "Bonn")
    let preview = try await run(circle, "alice", "mirror", ["from": "bob", "preview": true])
    #expect(preview["total"] == ["added": 1, "changed": 0, "deleted": 3, "restored": 0])
    #expect(preview["kinds"]?.array?.map { $0["kind"] } == ["trip", "habit"])
    #expect([preview["preview"], preview["turnsSyncOn"]] == [true, true])
    let refused = try #require(try await failure(circle, "alice", "mirror", ["from": "bob"]))
    #expect(refused.exitCode == ExitCode.needsYes)
    #expect(
      refused.message.description.contains("1 trip added")
        && refused.message.description.contains("2 trips deleted"))
    #expect(refused.message.description.contains("turns on sync of records"))
    #expect(refused.next?.description == "waymark mirror --from bob --yes")
    #expect(try await trips(circle, "alice") == ["Oslo", "Rome"])
    #expect(!FileManager.default.fileExists(atPath: circle["alice"].home.backups))
    #expect(try await run(circle, "alice", "sync.status")["preference"] == false)
  }

  @Test func `mirror gives this device and all others the peer's records`() async throws {
    let circle = try await premium(["alice", "bob", "carol"], syncing: ["bob", "carol"])
    defer { circle.end() }
    try await addTrips(circle, "bob", "Bonn", "Kyiv")
    try await agree(circle, ["bob", "carol"], ["Bonn", "Kyiv"])
    try await addTrips(circle, "alice", "Rome", "Oslo")
    let done = try await run(circle, "alice", "mirror", ["from": "bob", "yes": true])
    #expect(done["total"] == ["added": 2, "changed": 0, "deleted": 2, "restored": 0])
    #expect(FileManager.default.fileExists(atPath: done["backup"]?.string ?? ""))
    #expect(done["elsewhere"] == [])
    let newest = try #require(try await circle["alice"].newestOperation())
    #expect(newest.verb == "mirror")
    #expect(newest.key.id.description == done["operation"]?.string)
    #expect(try await run(circle, "alice", "sync.status")["preference"] == true)
    try await agree(circle, ["alice", "bob", "carol"], ["Bonn", "Kyiv"])
    // A second run changes nothing, and asks nothing.
    let again = try await run(circle, "alice", "mirror", ["from": "bob"])
    #expect(again["operation"] == .null)
    #expect(try await run(circle, "alice", "status").otherNotices == [])
    try await run(circle, "carol", "undo", ["operation": done["operation"] ?? .null, "yes": true])
    try await agree(circle, ["alice", "bob", "carol"], ["Bonn", "Kyiv", "Oslo", "Rome"])
  }

  @Test func `a peer that can't be mirrored is named, with the next step`() async throws {
    let circle = try await premium(["alice", "bob"], syncing: [])
    defer { circle.end() }
    let closed = try #require(try await failure(circle, "alice", "mirror", ["from": "bob", "yes": true]))
    #expect([closed.code.rawValue, "\(closed.exitCode)"] == ["peer_sync_off", "3"])
    let nobody = try #require(try await failure(circle, "alice", "mirror", ["from": "dora"]))
    #expect(nobody.exitCode == ExitCode.notFound)
    #expect(try await failure(circle, "alice", "mirror")?.exitCode == ExitCode.usage)
    let kind = try #require(
      try await failure(circle, "alice", "mirror", ["from": "bob", "only": "setting", "yes": true]))
    #expect(kind.exitCode == ExitCode.usage)
    await circle["bob"].close()
    try await eventually("bob is disconnected") { await circle["alice"].connected == 0 }
    for command in ["mirror", "assert"] {
      let away = try #require(try await failure(circle, "alice", command, ["from": "bob", "yes": true]))
      #expect(away.exitCode == ExitCode.notRunning, "\(command): \(away)")
    }
  }

  @Test func `a free device is told what it needs, and a stopped one that it must run`() async throws {
    let alone = try await TestNode.founder("alice")
    for command in ["mirror", "assert"] {
      let refused = try #require(try await WaymarkTests.failure(alone, command, ["from": "x", "yes": true]))
      #expect(
        refused.exitCode == (command == "mirror" ? ExitCode.notFound : ExitCode.needsPremium),
        "\(command): \(refused)")
    }
    #expect(try await WaymarkTests.failure(alone, "assert", ["yes": true])?.exitCode == ExitCode.needsPremium)
  }

  // MARK: assert

  @Test func `assert gives all connected devices this device's records`() async throws {
    let circle = try await premium(["alice", "bob", "carol"], syncing: ["bob", "carol"])
    defer { circle.end() }
    try await addTrips(circle, "bob", "Bonn", "Kyiv")
    try await agree(circle, ["bob", "carol"], ["Bonn", "Kyiv"])
    try await addTrips(circle, "alice", "Rome")
    let preview = try await run(circle, "alice", "assert", ["preview": true])
    #expect(preview["schema"] == "waymark.assert/1")
    #expect(preview["total"] == ["added": 1, "changed": 0, "deleted": 2, "restored": 0])
    #expect(preview["peers"]?.array?.map { $0["name"] } == ["bob", "carol"])
    #expect(preview["notAsked"] == [])
    try await run(circle, "carol", "sync.off")
    try await eventually("alice sees that carol is offline") {
      let preview = try await run(circle, "alice", "assert", ["preview": true])
      return preview["notAsked"]?.array?.map { $0["name"] } == ["carol"]
    }
    try await run(circle, "carol", "sync.on", ["yes": true])
    try await eventually("alice sees that carol is online") {
      try await run(circle, "alice", "assert", ["preview": true])["notAsked"] == []
    }
    #expect(try await failure(circle, "alice", "assert")?.exitCode == ExitCode.needsYes)
    let done = try await run(circle, "alice", "assert", ["yes": true])
    #expect(try await circle["alice"].newestOperation()?.verb == "assert")
    #expect(done["operation"]?.string != nil)
    try await agree(circle, ["alice", "bob", "carol"], ["Rome"])
  }

  @Test func `only the given kind or trip is reverted; the rest merges`() async throws {
    let circle = try await premium(["alice", "bob"], syncing: ["bob"])
    defer { circle.end() }
    try await addTrips(circle, "bob", "Bonn")
    try await run(circle, "bob", "habit.add", fields("name=Water"))
    try await run(circle, "alice", "habit.add", fields("name=Run"))
    let done = try await run(circle, "alice", "assert", ["only": "habit", "yes": true])
    #expect(done["kinds"]?.array?.map { $0["kind"] } == ["habit"])
    try await agree(circle, ["alice", "bob"], ["Bonn"])
    let habits = try await run(circle, "bob", "habit.list")["habits"]?.array?.map { $0["name"] }
    #expect(habits == ["Run"])

    try await run(circle, "alice", "sync.off")
    try await run(circle, "alice", "lodging.add", fields("trip=Bonn", "name=Casa"))
    try await addTrips(circle, "alice", "Rome")
    try await run(circle, "alice", "mirror", ["from": "bob", "trip": "Bonn", "yes": true])
    try await agree(circle, ["alice", "bob"], ["Bonn", "Rome"])
    for name in ["alice", "bob"] {
      #expect(try await run(circle, name, "lodging.list")["lodgings"] == [])
    }
  }

  // MARK: A third device

  @Test func `a device that was offline brings nothing back`() async throws {
    let circle = try await premium(["alice", "bob", "carol"], syncing: ["alice", "bob", "carol"])
    defer { circle.end() }
    try await addTrips(circle, "alice", "Rome", "Oslo")
    try await agree(circle, ["alice", "bob", "carol"], ["Oslo", "Rome"])
    try await run(circle, "carol", "sync.off")
    try await run(circle, "alice", "sync.off")
    try await run(circle, "bob", "trip.delete", ["id": "Rome"])
    try await run(circle, "alice", "trip.edit", fields("name=Bergen", id: "Oslo"))
    try await run(circle, "alice", "mirror", ["from": "bob", "yes": true])
    try await agree(circle, ["alice", "bob"], ["Oslo"])
    try await run(circle, "carol", "sync.on", ["yes": true])
    try await agree(circle, ["alice", "bob", "carol"], ["Oslo"])
    #expect(try await run(circle, "alice", "status").otherNotices == [])
  }

  @Test func `changes made offline are merged, and reported`() async throws {
    let circle = try await premium(["alice", "bob", "carol"], syncing: ["alice", "bob", "carol"])
    defer { circle.end() }
    try await addTrips(circle, "alice", "Rome", "Oslo")
    try await agree(circle, ["alice", "bob", "carol"], ["Oslo", "Rome"])
    for name in ["alice", "carol"] { try await run(circle, name, "sync.off") }
    try await run(circle, "alice", "trip.edit", fields("name=Bergen", id: "Oslo"))
    try await run(circle, "alice", "mirror", ["from": "bob", "yes": true])
    try await run(circle, "carol", "trip.edit", fields("name=Tromso", id: "Oslo"))
    try await addTrips(circle, "carol", "Bonn")
    try await run(circle, "carol", "sync.on", ["yes": true])
    try await agree(circle, ["alice", "bob", "carol"], ["Bonn", "Rome", "Tromso"])
    let notices = try await run(circle, "alice", "status").otherNotices.array ?? []
    #expect(notices.map { $0["reason"] } == ["override_overtaken"])
    #expect(notices.first?["text"]?.string?.contains("1 trip") == true)
    #expect(try await run(circle, "bob", "status").otherNotices == [])
  }

  @Test func `thousands of records are reverted at once`() async throws {
    let circle = try await premium(["alice", "bob"], syncing: ["bob"])
    defer { circle.end() }
    var size = SampleData.Size()
    size.logs = 3_000
    for (name, seed) in [("alice", UInt64(1)), ("bob", 2)] {
      let file = circle[name].home.path + "/habits.json"
      try Data(SampleData.ritualist(seed: seed, size: size)).write(to: URL(filePath: file))
      try await run(circle, name, "import", ["files": [.string(file)]])
    }
    let wanted = try await run(circle, "bob", "status")["counts"]
    let logs = try await run(circle, "bob", "entry.list")["entries"]
    let done = try await run(circle, "alice", "mirror", ["from": "bob", "yes": true])
    #expect((done["total"]?["deleted"]?.integer ?? 0) > 2_500)
    try await agree(circle, ["alice", "bob"], [])
    for name in ["alice", "bob"] {
      #expect(try await run(circle, name, "status")["counts"] == wanted)
      #expect(try await run(circle, name, "entry.list")["entries"] == logs)
    }
  }

  // MARK: Meanwhile

  /// Adds a trip at alice while her command waits for bob, whose queue is held up.
  ///
  /// - Parameter next: what bob does before he answers.
  private func addLate(
    _ circle: SocketCircle, during command: String, _ arguments: JSON,
    then next: @escaping @Sendable (NodeCore) throws -> Void = { _ in }
  ) async throws {
    try await whileBobIsHeldUp(circle, command, arguments, then: next) { alice in
      _ = try await alice.withCore {
        try $0.write("test", [EntryDraft(.insert, Self.late, [(1, .text("Late"))])])
      }
    }
  }

  /// Runs a command at alice, and something else as soon as it waits for bob, whose queue is held up.
  private func whileBobIsHeldUp(
    _ circle: SocketCircle, _ command: String, _ arguments: JSON,
    then next: @escaping @Sendable (NodeCore) throws -> Void = { _ in },
    _ body: (Node) async throws -> Void
  ) async throws {
    let (alice, bob) = (circle["alice"], circle["bob"])
    let isHeld = Mutex(false)
    let held = Task {
      try await bob.withCore { core in
        isHeld.withLock { $0 = true }
        sleepThread(seconds: 2)
        try next(core)
      }
    }
    try await eventually("bob is held up") { isHeld.withLock { $0 } }
    let done = Task { try await alice.run(command, arguments) }
    // A command gives up the queue for the first time when it asks its peer.
    try await eventually("alice waits for bob") {
      await alice.withCore { _ in alice.commandsUnderWay.load(ordering: .relaxed) == 1 }
    }
    try await body(alice)
    _ = try await (held.value, done.value)
  }

  private static let late = RecordKey(kind: KindNumbers.trip, id: RecordID(milliseconds: 1, random: .zero))
  private static let other = RecordKey(kind: KindNumbers.trip, id: RecordID(milliseconds: 2, random: .zero))

  @Test func `what is written here while a mirror waits for the peer is not reverted`() async throws {
    let circle = try await premium(["alice", "bob"], syncing: ["bob"])
    defer { circle.end() }
    try await addTrips(circle, "alice", "Rome")
    try await addTrips(circle, "bob", "Bonn")
    try await addLate(circle, during: "mirror", ["from": "bob", "yes": true])
    try await agree(circle, ["alice", "bob"], ["Bonn", "Late"])
  }

  @Test func `what is written here while an assert asks its peers is not reverted`() async throws {
    let circle = try await premium(["alice", "bob"], syncing: ["alice", "bob"])
    defer { circle.end() }
    try await addTrips(circle, "alice", "Rome")
    try await agree(circle, ["alice", "bob"], ["Rome"])
    // Bob has one more trip when he answers, so there is something to revert.
    try await addLate(circle, during: "assert", ["yes": true]) { bob in
      _ = try bob.write("test", [EntryDraft(.insert, Self.other, [(1, .text("Bonn"))])])
    }
    try await agree(circle, ["alice", "bob"], ["Late", "Rome"])
  }

  @Test func `an assert fails if the only peer leaves before it answers`() async throws {
    let circle = try await premium(["alice", "bob"], syncing: ["bob"])
    defer { circle.end() }
    try await addTrips(circle, "alice", "Rome")
    try await addTrips(circle, "bob", "Bonn")
    let failure = await #expect(throws: WaymarkError.self) {
      try await whileBobIsHeldUp(circle, "assert", ["yes": true]) { alice in
        _ = try await alice.run("peers.pause", ["peer": "bob"])
      }
    }
    #expect(failure?.exitCode == ExitCode.notRunning)
    #expect(try await trips(circle, "bob") == ["Bonn"])
  }

  // MARK: Trouble

  @Test func `turning sync off drops a pending override`() async throws {
    let circle = try await premium(["alice", "bob"], syncing: ["bob"])
    defer { circle.end() }
    try await addTrips(circle, "alice", "Rome")
    try await addTrips(circle, "bob", "Bonn")
    let order = try await circle["alice"].mirrorRequest(of: "bob")
    try await run(circle, "bob", "sync.off")
    try await circle["alice"].withCore { try OverrideOperation.begin(order, on: $0) }
    try await run(circle, "alice", "sync.off")
    #expect(try await run(circle, "alice", "status").otherNotices == [])
    for name in ["alice", "bob"] { try await run(circle, name, "sync.on", ["yes": true]) }
    try await agree(circle, ["alice", "bob"], ["Bonn", "Rome"])
  }

  @Test func `an override confirmed while the node was closing does not take effect later`() async throws {
    let circle = try await premium(["alice", "bob"], syncing: ["bob"])
    defer { circle.end() }
    try await addTrips(circle, "alice", "Rome")
    try await addTrips(circle, "bob", "Bonn")
    let order = try await circle["alice"].mirrorRequest(of: "bob")
    await circle["alice"].close()
    do { try Store(path: circle.home("alice").store).setMeta(MetaKey.pendingOverride, order.encoded) }
    try await circle.start("alice")
    for _ in 0..<2 {
      try await run(circle, "alice", "sync.on", ["yes": true])
      try await agree(circle, ["alice", "bob"], ["Bonn", "Rome"])
      try await circle.restart("alice")
    }
  }

  @Test func `an override survives the loss of its peer: nothing is half done, and it is completed later`()
    async throws
  {
    let circle = try await premium(["alice", "bob"], syncing: ["bob"])
    defer { circle.end() }
    try await addTrips(circle, "alice", "Rome")
    try await addTrips(circle, "bob", "Bonn", "Kyiv")
    let order = try await circle["alice"].mirrorRequest(of: "bob")
    try await run(circle, "bob", "sync.off")
    try await circle["alice"].withCore { try OverrideOperation.begin(order, on: $0) }
    let notice = try #require(try await run(circle, "alice", "status").otherNotices.array?.first)
    #expect(notice["reason"] == "override_waiting")
    #expect(notice["text"]?.string?.contains("2 change sets") == true)
    try await circle.restart("alice")
    #expect(try await trips(circle, "alice") == ["Rome"])
    #expect(try await run(circle, "alice", "status").otherNotices.array?.count == 1)
    // A later change is neither wanted nor reverted.
    try await addTrips(circle, "alice", "Oslo")
    try await run(circle, "bob", "sync.on", ["yes": true])
    try await agree(circle, ["alice", "bob"], ["Bonn", "Kyiv", "Oslo"])
    #expect(try await run(circle, "alice", "status").otherNotices == [])
  }
}

extension Node {
  /// The records lane's state as the peer reported it.
  fileprivate func refusal(from device: DeviceKey) -> ReasonCode? {
    core.replica.session(with: device)?.theirs?.records.reason
  }

  fileprivate var recordsDigest: [UInt8] { store.digest(.records).sum.bytes }
  fileprivate var connected: Int { core.replica.sessions.count }

  /// The request that a confirmed mirror would start now.
  fileprivate func mirrorRequest(of name: String) async throws -> OverrideRequest {
    let peer = try core.peer(named: name).device
    let wanted = try await PeerInquiry(peer: peer).recordHeads(on: core)
    return OverrideRequest(
      verb: "mirror", operation: OperationID(random16()), peer: peer, asked: wall(),
      revert: Revert(wanted: wanted, present: store.heads(.records)))
  }
}
