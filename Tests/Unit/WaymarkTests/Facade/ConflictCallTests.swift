import Engine
import Foundation
import JSONDocument
import Model
import Replication
import Storage
import Testing
import WaymarkCare
import Wire

@testable import ChangeHistory
@testable import NodeRuntime
@testable import Waymark

/// Conflicts, history and undo, as applications use them.
struct ConflictCallTests {
  private func circleWithTwoNames() async throws -> (SocketCircle, UUID) {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    let water = try await circle.add("alice", "habit", "name=Water")
    try await circle.apart {
      try await circle.run("bob", "habit.edit", fields("name=Wasser", id: "Water"))
      try await circle.run("alice", "habit.edit", fields("name=Eau", id: "Water"))
    }
    return (circle, water)
  }

  private func name(_ circle: SocketCircle, _ device: String) async throws -> String? {
    try await circle.run(device, "habit.list")["habits"]?[0]?["name"]?.string
  }

  @Test(arguments: ["winner", "loser", "device"])
  func `resolving a conflict on one device resolves it on both`(how: String) async throws {
    let (circle, water) = try await circleWithTwoNames()
    defer { circle.end() }
    let conflict = try #require(try await circle["alice"].conflicts().first)
    #expect(try await circle["bob"].conflicts() == [conflict])
    #expect(conflict.kind == .habit && conflict.record == water && conflict.field == "name")
    #expect(conflict.reason == .field && conflict.isVisible && conflict.hiddenBy == nil)
    #expect(conflict.winner.value == .text("Eau") && conflict.winner.deviceName == "alice")
    #expect(conflict.losers.map(\.value) == [.text("Wasser")])
    #expect(try await circle["bob"].conflict(conflict.id) == conflict)
    let choice: Conflict.Choice =
      switch how {
      case "winner": .winner
      case "loser": .loser
      default: .device(conflict.losers[0].device)
      }
    let resolution = try await circle["bob"].resolve(conflict.id, taking: choice)
    #expect(resolution.resolved == [conflict.id] && resolution.remaining == 0)
    try await circle.inSync()
    for device in ["alice", "bob"] {
      #expect(try await circle[device].conflicts() == [], "\(device)")
      #expect(try await name(circle, device) == (how == "winner" ? "Eau" : "Wasser"), "\(device)")
    }
    #expect(try await refusal { _ = try await circle["alice"].conflict(conflict.id) } == "not_found")
    // The resolution can be undone like any other operation.
    let operation = try #require(resolution.operation)
    #expect(try await circle["bob"].history(limit: 1).map(\.id) == [operation])
  }

  @Test func `a conflict uses the local name of a device`() async throws {
    let (circle, _) = try await circleWithTwoNames()
    defer { circle.end() }
    try await circle.run("alice", "peers.rename", ["peer": "bob", "name": "the old phone"])
    let conflict = try #require(try await circle["alice"].conflicts().first)
    #expect(conflict.losers.map(\.deviceName) == ["the old phone"])
    try await circle.run("alice", "conflicts.resolve", ["id": .string(conflict.id), "take": "the old"])
    #expect(try await circle["alice"].conflicts().isEmpty)
  }

  @Test func `a device that wrote no side is refused, and all can keep the visible values`() async throws {
    let (circle, _) = try await circleWithTwoNames()
    defer { circle.end() }
    let conflict = try #require(try await circle["alice"].conflicts().first)
    let stranger = DeviceKey(Bytes32(7, 7, 7, 7))
    #expect(
      try await refusal { try await circle["alice"].resolve(conflict.id, taking: .device(stranger)) }
        == "not_found")
    #expect(try await circle["alice"].resolveAllTakingWinners().resolved == [conflict.id])
    #expect(try await circle["alice"].resolveAllTakingWinners().operation == nil)
  }

  @Test func `an edit lost to a delete is restored with its values`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let rome = try await circle.add("alice", "trip", "name=Rome")
    try await circle.apart {
      try await circle.run("alice", "trip.delete", ["id": "Rome"])
      try await circle.run("bob", "trip.edit", fields("notes=sunny", id: "Rome"))
    }
    let conflict = try #require(try await circle["alice"].conflicts().first)
    #expect(conflict.reason == .editLostToDelete && !conflict.isVisible && conflict.record == rome)
    #expect(conflict.losers.first?.fields?.first { $0.name == "notes" }?.value == .text("sunny"))
    let trash = try await circle["bob"].deleted(Trip.self)
    #expect(trash.map(\.id) == [Trip.ID(rome)] && trash.map(\.deletedBy.name) == ["alice"])
    try await circle["alice"].resolve(conflict.id, taking: .loser)
    try await circle.inSync()
    #expect(try await circle["bob"].status().counts.trips == 1)
    #expect(try await circle["bob"].deleted(Trip.self) == [])
  }

  @Test func `a side whose value is not on this device can't be chosen`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "habit.add", fields("name=Water"))
    try await circle.inSync()
    try await circle.run("alice", "peers.pause", ["peer": "bob"])
    try await circle.run("alice", "habit.edit", fields("name=Eau", id: "Water"))
    try await circle.run("bob", "habit.edit", fields("name=Wasser", id: "Water"))
    // Bob gets Alice's change set without its values.
    try await circle["bob"].keepWithoutValues(try await circle["alice"].newestOwnSet())
    let conflict = try #require(try await circle["bob"].conflicts().first)
    #expect(
      try await refusal { try await circle["bob"].resolve(conflict.id, taking: .loser) } == "no_content")
    #expect(try await name(circle, "bob") == "Wasser")
    try await circle["bob"].resolve(conflict.id, taking: .winner)
    #expect(try await circle["bob"].conflicts().isEmpty)
  }

  @Test func `a profile that was changed on a device with a faster clock can be replaced by the other side`()
    async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.apart {
      try await circle.run("bob", "profile.set", fields("name=Bob"))
      try await circle.run("alice", "profile.set", fields("name=Alice"))
    }
    let conflict = try #require(try await circle["bob"].conflicts().first)
    #expect(conflict.winner.deviceName == "alice")
    try await circle["bob"].resolve(conflict.id, taking: "loser", secondsEarlier: 60)
    #expect(try await circle.run("bob", "profile.show")["name"] == "Bob")
    #expect(try await circle["bob"].conflicts().isEmpty)
  }

  @Test func `a record's history says which device wrote what, and what it replaced`() async throws {
    let (circle, water) = try await circleWithTwoNames()
    defer { circle.end() }
    let history = try await circle["bob"].history(of: Habit.ID(water))
    #expect(history.record.name == "Eau" && history.record.state == .visible && !history.hasMore)
    #expect(history.writes.map(\.verb) == ["habit.edit", "habit.edit", "habit.add"])
    let names = history.writes.flatMap { write in write.fields.filter { $0.field == "name" } }
    #expect(names.map(\.value) == [.text("Eau"), .text("Wasser"), .text("Water")])
    #expect(names.map(\.before) == [.text("Water"), .text("Water"), .absent])
    #expect(names.map(\.state) == [.shows, .lost, .replaced])
    #expect(names[1].lostTo?.deviceName == "alice")
    #expect(try await circle["bob"].history(of: Habit.ID(water), limit: 1).hasMore)
    let why = try await circle["bob"].explanation(of: Habit.ID(water))
    let name = try #require(why.values.first { $0.field == "name" })
    #expect(name.written.value == .text("Eau") && name.written.how == nil && !name.written.author.isOwn)
    #expect(name.wonAgainst.map(\.how) == [.concurrent, .earlier])
    #expect(try await refusal { _ = try await circle["bob"].history(of: Habit.ID.new()) } == "not_found")
    #expect(
      try await refusal { _ = try await circle["bob"].history(of: Habit.ID(water), limit: 0) } == "bad_value")
    #expect(try await refusal { _ = try await circle["bob"].history(limit: 0) } == "bad_value")
    #expect(try await refusal { _ = try await circle["bob"].history(of: Trip.ID(water)) } == "not_found")
  }

  @Test func `undoing another device's operation leaves later changes alone`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let rome = try await circle.add("alice", "trip", "name=Rome")
    try await circle.run("alice", "trip.edit", fields("name=Roma", "notes=sunny", id: "Rome"))
    let edit = try #require(try await circle["alice"].history().first)
    #expect(edit.isOwn && edit.verb == "trip.edit" && edit.record?.id == rome && edit.counts.count == 1)
    #expect(edit.counts.first?.changed == 1 && Set(edit.fields) == ["name", "notes"])
    try await circle.inSync()
    try await circle.run("bob", "trip.edit", fields("name=Roma!", id: "Roma"))
    let preview = try await circle["bob"].undoPreview(of: edit.id)
    #expect(preview.undo == nil && preview.operation.id == edit.id)
    #expect(preview.left.map(\.reason) == [.changedSince] && preview.left.first?.fields == ["name"])
    #expect(preview.left.first?.byName == "bob" && preview.left.first?.id == rome)
    let undone = try await circle["bob"].undo(edit.id)
    try await circle.inSync()
    let trip = try await circle.run("alice", "trip.list")["trips"]?[0]
    #expect(trip?["name"] == "Roma!" && trip?["notes"] == .null)
    #expect(try await circle["alice"].history().contains { $0.undoneBy == undone.undo && $0.id == edit.id })
    #expect(try await refusal { try await circle["bob"].undo(edit.id) } == "needs_yes")
    try await circle["bob"].undo(edit.id, isForced: true)
    #expect(try await circle.run("bob", "trip.list")["trips"]?[0]?["name"] == "Rome")
    let again = try #require(undone.undo)
    #expect(try await circle["bob"].undoPreview(of: again).operation.undoes == edit.id)
  }

  @Test func `a mass deletion is listed, and undone by its operation or acknowledged`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    for trip in ["One", "Two"] {
      _ = try await circle.add("alice", "trip", "name=\(trip)")
      for number in 0..<20 {
        _ = try await circle.add("alice", "activity", "trip=\(trip)", "name=\(trip) \(number)")
      }
    }
    try await circle.inSync()
    try await circle.run("alice", "trip.delete", ["id": "One"])
    try await circle.inSync()
    #expect(try await circle["alice"].massDeletions() == [])
    let found = try #require(try await circle["bob"].massDeletions().first)
    #expect(found.deviceName == "alice")
    #expect(found.kinds == [MassDeletion.KindCount(kind: .activity, deleted: 20, before: 40)])
    #expect(try await circle["bob"].status().notices.first?.operation == found.operation)
    try await circle["bob"].undo(found.operation)
    #expect(try await circle["bob"].massDeletions() == [])
    #expect(try await circle["bob"].status().counts.activities == 40)
    try await circle.inSync()
    try await circle.run("alice", "trip.delete", ["id": "Two"])
    try await circle.inSync()
    #expect(try await circle["bob"].massDeletions().count == 1)
    try await circle["bob"].acknowledgeMassDeletes()
    #expect(try await circle["bob"].massDeletions() == [])
    #expect(try await circle["bob"].status().counts.activities == 20)
  }
}

extension Node {
  /// The newest set of this device's own records log.
  fileprivate func newestOwnSet() throws -> RawChangeSet {
    let log = LogKey(device: identity.device, incarnation: replicator.incarnation, lane: .records)
    let head = store.newestHead(of: log)
    let want = Want(log: log, from: head.sequence, through: head.sequence, tip: head.id)
    return try #require(
      try store.read(.records, [want], bytesMax: .max, setsMax: 1).sets.first
    ).raw
  }

  /// Stores a set as if a device had sent it that does not have its values.
  fileprivate func keepWithoutValues(_ raw: RawChangeSet) throws {
    let set = try VerifiedChangeSet(verifying: raw)
    let values = set.values(without: Set(0..<set.body.slots.count))
    let lacking = try VerifiedChangeSet(
      verifying: RawChangeSet(
        header: raw.header, signature: raw.signature, plan: raw.plan, values: values))
    _ = try store.commit([lacking], horizon: Clock(raw: .max))
  }

  /// Resolves a conflict on a device whose clock is behind.
  fileprivate func resolve(_ id: Conflict.ID, taking side: String, secondsEarlier seconds: Int64) throws {
    var resolver = ConflictResolver(core.historyReader)
    let decision = try resolver.decision(id, taking: side)
    _ = try resolver.resolve([decision], now: wall() - seconds * 1_000) { drafts, leastClock in
      try core.write(ConflictResolver.verb, drafts, leastClock: leastClock)
    }
  }
}
