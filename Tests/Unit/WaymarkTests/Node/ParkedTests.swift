import Foundation
import Home
import JSONDocument
import Model
import Synchronization
import Testing

@testable import Waymark

/// Changes dated in the future, on real nodes with separate clocks.
struct ParkedTests {
  /// A wall clock that a test sets.
  final class Wall: Sendable {
    private let ahead = Mutex<Int64>(0)

    func set(ahead milliseconds: Int64) { ahead.withLock { $0 = milliseconds } }
    var now: Int64 { systemWall() + ahead.withLock { $0 } }
  }

  private static let hour: Int64 = 3_600_000

  /// Alice's clock is an hour ahead, and she has named a habit; Bob holds changes that he may not fold yet.
  private func parked(_ wall: Wall) async throws -> SocketCircle {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    try await circle.run("alice", "habit.add", fields("name=Water"))
    try await circle.inSync("alice", "bob")
    try await circle.restart("alice", wall: { systemWall() + Self.hour })
    // Bob has to learn of her new port before he changes his.
    try await circle.inSync()
    try await circle.restart("bob", wall: { wall.now })
    try await circle.run("alice", "habit.edit", fields("name=Eau", id: "Water"))
    try await circle.run("alice", "settings.set", ["key": "colorScheme", "value": "dark"])
    try await circle.until("Bob holds two parked sets") {
      let lanes = try await circle.run("bob", "status")["lanes"]
      return lanes?["records"]?["parked"] == 1 && lanes?["settings"]?["parked"] == 1
    }
    #expect(try await name(circle) == "Water")
    return circle
  }

  private func name(_ circle: SocketCircle) async throws -> JSON? {
    try await circle.run("bob", "habit.list")["habits"]?[0]?["name"]
  }

  @Test func `status names the parked changes, their authors, and until when they wait`() async throws {
    let circle = try await parked(Wall())
    defer { circle.end() }
    let notices = try await circle.run("bob", "status")["notices"]?.array ?? []
    let notice = try #require(notices.first { $0["reason"] == "peer_clock_ahead" })
    #expect(notice["changeSets"] == 2)
    #expect(notice["deviceNames"] == ["alice"])
    #expect(notice["due"]?.string != nil)
    let text = try #require(notice["text"]?.string)
    #expect(
      text.contains(#/2 change sets of alice, dated in the future, wait until \d{4}-\d\d-\d\d \d\d:\d\d/#))
  }

  @Test func `a node that starts after the time has come folds at once`() async throws {
    let wall = Wall()
    let circle = try await parked(wall)
    defer { circle.end() }
    await circle["alice"].close()
    await circle["bob"].close()
    wall.set(ahead: Self.hour)
    try await circle.start("bob", wall: { wall.now })
    #expect(try await name(circle) == "Eau")
  }

  @Test func `a read shows changes whose time has come, without another call`() async throws {
    let wall = Wall()
    let circle = try await parked(wall)
    defer { circle.end() }
    await circle["bob"].close()
    let bob = try Node(home: circle.home("bob"), wall: { wall.now })
    #expect(try await bob.records(Habit.all).map(\.name) == ["Water"])
    wall.set(ahead: Self.hour)
    #expect(try await bob.records(Habit.all).map(\.name) == ["Eau"])
    await bob.close()
  }

  @Test func `a command on the store of a stopped node folds what is due, including settings`() async throws {
    let wall = Wall()
    let circle = try await parked(wall)
    defer { circle.end() }
    await circle["bob"].close()
    let early = try Node(home: circle.home("bob"), wall: { wall.now })
    #expect(try await early.run("habit.list")["habits"]?[0]?["name"] == "Water")
    await early.close()
    wall.set(ahead: Self.hour)
    let late = try Node(home: circle.home("bob"), wall: { wall.now })
    #expect(try await late.run("habit.list")["habits"]?[0]?["name"] == "Eau")
    let setting = try await late.run("settings.get", ["key": "colorScheme"])
    #expect(setting["value"] == "dark")
    #expect(try await late.run("status")["lanes"]?["records"]?["parked"] == 0)
    await late.close()
    let copy = try JSON.parse(Array(try Data(contentsOf: URL(filePath: circle.home("bob").settings))))
    #expect(copy["colorScheme"] == "dark")
  }

  @Test func `a local change meanwhile does not depend on a parked one, and both merge in the end`()
    async throws
  {
    let wall = Wall()
    let circle = try await parked(wall)
    defer { circle.end() }
    try await circle.run("bob", "habit.edit", fields("name=Wasser", id: "Water"))
    wall.set(ahead: Self.hour)
    try await circle.restart("bob", wall: { wall.now })
    try await circle.inSync("bob")
    let conflict = try #require(try await circle.run("bob", "conflicts.list")["conflicts"]?[0])
    #expect([conflict["winner"]?["value"], conflict["losers"]?[0]?["value"]] == ["Eau", "Wasser"])
  }
}
