import Engine
import Foundation
import JSONDocument
import Replication
import Storage
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// A clock that ran ahead and was corrected, and `restamp` of the sets that it dated.
struct RestampTests {
  private typealias Wall = ParkedTests.Wall
  private static let year: Int64 = 365 * 86_400_000

  /// Alice alone, who writes one trip at the correct time and everything else three years ahead.
  private func aloneAhead() async throws -> (alice: TestNode, wall: Wall) {
    let wall = Wall()
    let alice = try await TestNode.founder("alice", wall: { wall.now })
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("profile.set", fields("name=Alice"))
    wall.set(ahead: 3 * Self.year)
    try await alice.run("trip.edit", fields("name=Roma", id: "Rome"))
    try await alice.run("trip.add", fields("name=Oslo"))
    try await alice.run("trip.add", fields("name=Bern"))
    try await alice.run("trip.delete", ["id": "Bern"])
    try await alice.run("profile.set", fields("name=Alicia"))
    try await alice.run("profile.set", fields("name=Al"))
    try await alice.run("settings.set", ["key": "colorScheme", "value": "dark"])
    wall.set(ahead: 0)
    return (alice, wall)
  }

  private func state(_ node: TestNode) async throws -> [JSON?] {
    let trips = try await node.run("trip.list")["trips"]?.array?.compactMap { $0["name"] }
    let deleted = try await node.run("trip.list", ["deleted": true])["trips"]?.array?.compactMap {
      $0["name"]
    }
    return [
      .array(trips ?? []), .array(deleted ?? []), try await node.run("profile.show")["name"],
      try await node.run("settings.get", ["key": "colorScheme"])["value"],
      try await node.run("status")["conflicts"],
    ]
  }

  /// The newest clock of a node's sets, in milliseconds ahead of now.
  private func ahead(_ node: Node) async -> Int64 {
    await node.newestOwnClock() - systemWall()
  }

  @Test func `of two at the same time only one begins another log`() async throws {
    let (alice, _) = try await aloneAhead()
    async let one = alice.run("restamp", ["yes": true])
    async let other = alice.run("restamp", ["yes": true])
    let both = try await [one, other]
    let incarnations = both.compactMap { $0["incarnation"]?.string }
    #expect(incarnations.count == 1)
    #expect(Set(both.map { $0["changeSets"] }) == [0, 7])
    #expect(try await alice.run("status")["incarnation"]?.string == incarnations.first)
    await alice.close()
  }

  @Test func `on a lone device everything is kept and dated now`() async throws {
    let (alice, wall) = try await aloneAhead()
    let before = try await state(alice)
    let status = try await alice.run("status")
    #expect(status.otherNotices.array?.first { $0["reason"] == "clock_ahead" }?["next"] == "waymark restamp")
    #expect(try await failure(alice, "restamp")?.exitCode == ExitCode.needsYes)
    let preview = try await alice.run("restamp", ["preview": true])
    #expect(preview["changeSets"] == 7)
    #expect(await ahead(alice.node) > Self.year)
    let incarnation = status["incarnation"]
    let done = try await alice.run("restamp", ["yes": true])
    #expect(done["changeSets"] == 7)
    #expect(done["incarnation"] != incarnation)
    #expect(await ahead(alice.node) < 1_000)
    #expect(try await state(alice) == before)
    let after = try await alice.run("status")
    #expect(after.otherNotices == [])
    #expect(after["incarnation"] == done["incarnation"])
    #expect(try await alice.run("restamp", ["yes": true])["changeSets"] == 0)
    // Nothing changes when the node starts again.
    await alice.close()
    let again = try Node(home: alice.home, wall: { wall.now })
    #expect(try await again.run("status")["incarnation"] == done["incarnation"])
    #expect(try await again.run("status")["lanes"] == after["lanes"])
    #expect(
      try await again.run("verify", ["deep": true])["differences"]?.array?.isEmpty
        != false)
    await again.close()
  }

  @Test func `the profile can be edited at the present time`() async throws {
    let (alice, _) = try await aloneAhead()
    try await alice.run("restamp", ["yes": true])
    for document in [
      try await alice.run("profile.show"), try await alice.run("profile.set", fields("name=Ali")),
    ] {
      let time = try #require(document["updatedAt"]?.string)
      let date = try #require(ISO8601DateFormatter().date(from: String(time.prefix(19)) + "Z"))
      #expect(abs(date.timeIntervalSinceNow) < 90_000)
    }
    #expect(try await alice.run("profile.show")["name"] == "Ali")
    #expect(await ahead(alice.node) < 1_000)
    await alice.close()
  }

  @Test func `history and undo still work`() async throws {
    let (alice, _) = try await aloneAhead()
    let before = try await alice.run("history")["operations"]?.array?.compactMap { $0["id"] }
    try await alice.run("restamp", ["yes": true])
    let after = try await alice.run("history")["operations"]?.array?.compactMap { $0["id"] }
    #expect(after == before)
    for _ in 0..<2 { try await alice.run("undo") }
    #expect(try await alice.run("profile.show")["name"] == "Alicia")
    for _ in 0..<2 { try await alice.run("undo") }
    let trips = try await alice.run("trip.list")["trips"]?.array?.compactMap { $0["name"] }
    #expect(Set(trips ?? []) == ["Roma", "Oslo", "Bern"])
    await alice.close()
  }

  @Test func `peers that hold parked sets drop them and accept the restamped ones`() async throws {
    let wall = Wall()
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "habit.add", fields("name=Water"))
    try await circle.run("bob", "profile.set", fields("name=Bob"))
    try await circle.inSync()
    wall.set(ahead: Self.year)
    try await circle.restart("alice", wall: { wall.now })
    try await circle.inSync("alice", "bob")
    try await circle.run("alice", "habit.edit", fields("name=Eau", id: "Water"))
    try await circle.run("alice", "profile.set", fields("name=Alice"))
    try await circle.run("alice", "settings.set", ["key": "colorScheme", "value": "dark"])
    try await circle.until("Bob holds three parked sets") {
      let lanes = try await circle.run("bob", "status")["lanes"]
      return lanes?["records"]?["parked"] == 2 && lanes?["settings"]?["parked"] == 1
    }
    // Bob changes what Alice has changed: neither has seen the other's edit.
    try await circle.run("bob", "habit.edit", fields("name=Wasser", id: "Water"))
    let seen = try await circle.run("bob", "status")
    #expect(seen.otherNotices.array?.contains { $0["reason"] == "peer_clock_ahead" } == true)
    wall.set(ahead: 0)
    try await circle.restart("alice", wall: { wall.now })
    try await circle.until("Alice hears from Bob that her clock had run ahead, and Bob says so too") {
      let own = try await circle.run("alice", "status").otherNotices.array ?? []
      let peer = try await circle.run("bob", "status")["peers"]?[0]
      return own.contains { $0["reason"] == "clock_ahead" && $0["next"] == "waymark restamp" }
        && peer?["reason"] == "peer_clock_ahead"
    }
    try await circle.run("alice", "restamp", ["yes": true])
    try await circle.until("Bob has nothing parked") {
      let lanes = try await circle.run("bob", "status")["lanes"]
      return lanes?["records"]?["parked"] == 0 && lanes?["settings"]?["parked"] == 0
    }
    try await circle.inSync()
    let (alice, bob) = (try await circle.run("alice", "status"), try await circle.run("bob", "status"))
    #expect(alice["lanes"] == bob["lanes"])
    #expect([alice.otherNotices, bob.otherNotices] == [[], []])
    #expect(bob["peers"]?[0]?["reason"] == "in_sync")
    #expect(try await circle.run("bob", "profile.show")["name"] == "Alice")
    #expect(try await circle.run("bob", "settings.get", ["key": "colorScheme"])["value"] == "dark")
    // The two edits of the habit are still concurrent.
    let conflict = try #require(try await circle.run("bob", "conflicts.list")["conflicts"]?[0])
    #expect([conflict["winner"]?["value"], conflict["losers"]?[0]?["value"]] == ["Eau", "Wasser"])
  }

  @Test func `a wall clock that peers contradict restamps nothing`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "settings.set", ["key": "colorScheme", "value": "dark"])
    try await circle.inSync()
    try await circle.restart("alice", wall: { systemWall() - Self.year })
    try await circle.inSync("alice", "bob")
    let notices = try await circle.run("alice", "status").otherNotices.array ?? []
    #expect(!notices.contains { $0["reason"] == "clock_ahead" })
    let incarnation = try await circle.run("alice", "status")["incarnation"]
    await #expect {
      try await circle.run("alice", "restamp", ["yes": true])
    } throws: { ($0 as? WaymarkError)?.reason == .clockDisputed }
    #expect(try await circle.run("alice", "status")["incarnation"] == incarnation)
    // Bob's sets show the same where he is not connected.
    try await circle.run("bob", "settings.set", ["key": "colorScheme", "value": "light"])
    try await circle.until("what Bob wrote waits at Alice's") {
      try await circle.run("alice", "status")["lanes"]?["settings"]?["parked"] == 1
    }
    await circle["alice"].close()
    let alone = try Node(home: circle.home("alice"), wall: { systemWall() - Self.year })
    await #expect {
      _ = try await alone.run("restamp", ["yes": true])
    } throws: { ($0 as? WaymarkError)?.reason == .clockDisputed }
    await alone.close()
  }

  @Test func `a device that may begin no more incarnations reports this and writes nothing more`()
    async throws
  {
    let alice = try await TestNode.founder("alice", wall: systemWall)
    for number in 1..<Limits.incarnationsMax {
      try await alice.run("trip.add", fields("name=\(number)"))
      await alice.node.leave("a test")
    }
    let last = try await alice.run("status")["incarnation"]
    // Nothing is written under it yet, so another may replace it.
    await alice.node.leave("a test")
    try await alice.run("trip.add", fields("name=last"))
    #expect(try await alice.run("status")["incarnation"] != last)
    #expect(try await alice.run("status").otherNotices == [])
    let end = try await alice.run("status")["incarnation"]
    await alice.node.leave("a test")
    #expect(try await alice.run("status")["incarnation"] == end)
    #expect(try await failure(alice, "trip.add", fields("name=more"))?.reason == .incarnationsSpent)
    #expect(try await alice.run("status")["notices"]?[0]?["reason"] == "incarnations_spent")
    await alice.close()
    let again = try Node(home: alice.home, wall: systemWall)
    await #expect {
      _ = try await again.run("trip.add", fields("name=more"))
    } throws: { ($0 as? WaymarkError)?.reason == .incarnationsSpent }
    #expect(
      try await again.run("trip.list")["trips"]?.array?.count == Limits.incarnationsMax)
    await again.close()
  }
}

extension Node {
  fileprivate func leave(_ why: String) { replicator.leaveIncarnation(why, now: core.loop.time) }

  fileprivate func newestOwnClock() -> Int64 { store.newestClock(of: identity.device).milliseconds }
}
