import Foundation
import JSONDocument
import Membership
import Records
import Replication
import Storage
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

extension SocketCircle {
  /// The error that a command throws; nil if it succeeds.
  func failure(_ name: String, _ command: String, _ arguments: JSON = [:]) async throws -> WaymarkError? {
    do {
      _ = try await run(name, command, arguments)
      return nil
    } catch let failure as WaymarkError {
      return failure
    }
  }
}

/// The preview that a user sees before turning sync on.
@Suite struct PreviewTests {
  /// Alice has sync on; Bob has it off. Both have the habit Read and trips of their own.
  private func twoHistories(_ names: [String] = ["alice", "bob"]) async throws -> SocketCircle {
    let circle = try await SocketCircle.premium(names, syncing: ["alice"])
    let id = "0f4e8c6a-0000-4000-8000-000000000001"
    let file = circle["alice"].home.path + "/habits.json"
    try Data(Self.habits(id).utf8).write(to: URL(filePath: file))
    for name in ["alice", "bob"] {
      let summary = try await circle.run(name, "import", ["files": [.string(file)]])
      try #require(summary["added"] == 1, "\(summary.text())")
    }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle.run("bob", "trip.add", fields("name=Oslo"))
    try await circle.run("bob", "trip.add", fields("name=Bergen"))
    return circle
  }

  private static func habits(_ id: String) -> String {
    let habit = """
      {"id": "\(id)", "name": "Read", "colorHex": "#2DA9E3", "kind": {"binary": {}}, "schedule": {"daily": {}},
       "reminders": [], "startDate": "2026-01-01T00:00:00Z", "isActive": true, "displayOrder": 0}
      """
    return """
      {"exportedAt": "2026-05-01T00:00:00Z", "profile": null, "categories": [], "habits": [\(habit)],
       "habitLogs": []}
      """
  }

  private func counts(_ document: JSON, _ kind: String) -> [Int64] {
    let row = document["kinds"]?.array?.first { $0["kind"]?.string == kind }
    return ["onlyHere", "onlyThere", "same", "differing"].map { row?[$0]?.integer ?? -1 }
  }

  @Test func `a preview counts the records on each device, names differences, and writes nothing`()
    async throws
  {
    let circle = try await twoHistories(["alice", "bob", "carol"])
    defer { circle.end() }
    try await circle.run("bob", "habit.edit", fields("notes=a page a day", id: "Read"))
    let before = try await circle.run("bob", "status")["lanes"]
    let preview = try await circle.run("bob", "sync.on", ["preview": true])
    #expect(counts(preview, "trip") == [2, 1, 0, 0])
    #expect(counts(preview, "habit") == [0, 0, 0, 1])
    #expect(preview["differing"]?[0]?["name"] == "Read")
    #expect(preview["profile"] == .null)
    #expect(preview["peers"]?.array?.map { $0["name"] } == ["alice"])
    #expect(preview["notAsked"]?.array?.map { [$0["name"], $0["reason"]] } == [["carol", "peer_sync_off"]])
    #expect(try await circle.run("bob", "status")["lanes"] == before)
    #expect(try await circle.run("bob", "sync.status")["preference"] == false)
  }

  @Test func `a preview works with a peer that has too many logs for an answer, and mirror reports this`()
    async throws
  {
    let circle = try await twoHistories()
    defer { circle.end() }
    try await circle["alice"].storeLogs(Limits.headsPerMessageMax + 1)
    let preview = try await circle.run("bob", "sync.on", ["preview": true])
    #expect(preview["notAsked"] == .array([]))
    #expect(counts(preview, "trip") == [2, 1, 0, 0])
    let confirmation = try await circle.failure("bob", "sync.on")
    #expect(
      confirmation?.message.description.hasPrefix("Turning sync on brings two sets of records together")
        == true)
    let failure = try await circle.failure("bob", "mirror", ["from": "alice", "yes": true])
    #expect(
      failure?.message == "alice has more than 8192 logs and branches, too many for one answer.",
      "\(String(describing: failure))")
    #expect(failure?.next?.description.hasPrefix("waymark sync on --preview") == true)
  }

  @Test func `equal data counts as equal, whichever device imported it`() async throws {
    let circle = try await twoHistories()
    defer { circle.end() }
    let preview = try await circle.run("bob", "sync.on", ["preview": true])
    #expect(counts(preview, "habit") == [0, 0, 1, 0])
    #expect(preview["differing"] == [])
  }

  @Test func `a preview shows which profile wins, and why`() async throws {
    let circle = try await twoHistories()
    defer { circle.end() }
    try await circle.run("alice", "profile.set", fields("name=Ann"))
    func profile() async throws -> JSON {
      try await circle.run("bob", "sync.on", ["preview": true])["profile"] ?? .null
    }
    let only = try await profile()
    #expect([only["state"], only["winnerName"], only["here"]] == ["only_there", "alice", .null])
    try await circle.run("bob", "profile.set", fields("name=Bea"))
    let later = try await profile()
    #expect([later["state"], later["winner"], later["reason"]] == ["differs", "here", "updated_at"])
    try await circle.run("alice", "profile.set", fields("name=Cleo"))
    let latest = try await profile()
    #expect([latest["winner"], latest["winnerName"]] == ["there", "alice"])
    let shown = try #require(latest["winnerName"]?.string)
    try await circle.run("bob", "sync.on", ["yes": true])
    try await circle.waitForSync("bob")
    let name = try await circle.run("bob", "profile.show")["name"]
    #expect(shown == "alice" && name == "Cleo", "the predicted winner")
  }

  @Test func `the merge matches the preview`() async throws {
    let circle = try await twoHistories()
    defer { circle.end() }
    let refused = try #require(try await circle.failure("bob", "sync.on"))
    #expect(
      refused.exitCode == ExitCode.needsYes && refused.next?.description.contains("sync on --yes") == true)
    #expect(try await circle.run("bob", "sync.status")["preference"] == false)
    try await circle.run("bob", "sync.on", ["yes": true])
    try await circle.waitForSync("bob")
    #expect(try await circle.run("bob", "status")["counts"]?["trips"] == 3)
    #expect(try await circle.run("bob", "status")["counts"]?["habits"] == 1)
  }

  @Test func `confirmation is needed only where two histories meet for the first time`() async throws {
    let circle = try await twoHistories(["alice", "bob", "carol"])
    defer { circle.end() }
    // Carol has no records of her own.
    try await circle.run("carol", "sync.on")
    try await circle.run("bob", "sync.on", ["yes": true])
    try await circle.waitForSync("bob")
    try await circle.run("bob", "sync.off")
    try await circle.run("bob", "trip.add", fields("name=Malmö"))
    try await circle.run("alice", "trip.add", fields("name=Turin"))
    #expect(try await circle.run("bob", "sync.on")["preference"] == true)
  }

  @Test func `no question is asked if nothing differs`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"], syncing: [])
    defer { circle.end() }
    try await circle.run("alice", "sync.on")
    #expect(try await circle.run("bob", "sync.on")["preference"] == true)
  }

  @Test func `a free device is told what it lacks, and without a running node no peer can be asked`()
    async throws
  {
    let circle = try await SocketCircle.make(["alice", "bob"])
    defer { circle.end() }
    let free = try #require(try await circle.failure("alice", "sync.on", ["preview": true]))
    #expect(free.exitCode == ExitCode.needsPremium && free.next?.description.contains("premium self") == true)
    try await circle.waitForSync("alice")
    #expect(try await circle.run("alice", "verify")["verdict"] == "equal", "settings are compared")
    let alone = try await TestNode.founder("alone")
    #expect(try await failure(alone, "verify")?.exitCode == ExitCode.notRunning)
    await alone.close()
  }
}

extension Node {
  /// Adds logs of this device with one set each to its store, without telling peers.
  fileprivate func storeLogs(_ count: Int) throws {
    guard let key = try store.visible(Kind.trip).first?.key else { return }
    let sets = try (0..<count).map { number in
      let log = LogKey(
        device: identity.device, incarnation: Incarnation(Bytes16(7, UInt64(number))), lane: .records)
      var author = Author(
        position: AuthorPosition(
          circle: circle.id, log: log, sequence: 0, id: nil, clock: .zero, logBytes: 0, unseen: []),
        key: identity.signing, seed: random16)
      let operation = OperationDraft(id: OperationID(Bytes16(7, UInt64(number))), verb: "trip.edit")
      let draft = EntryDraft(.put, key, [(2, .text("\(number)"))])
      return try author.write([draft], operation: operation, wall: wall())[0]
    }
    _ = try store.commit(sets, horizon: Clock(raw: .max))
  }
}
