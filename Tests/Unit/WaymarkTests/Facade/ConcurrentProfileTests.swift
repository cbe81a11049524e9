import ChangeHistory
import JSONDocument
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// The profile when two devices write it at the same time. It is merged as a whole.
struct ConcurrentProfileTests {
  /// Of two writes at the same time the one with more fields wins, although Bob's clock has counted further.
  private func circle() async throws -> TestCircle {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    await circle.disconnect("alice", "bob")
    for name in ["Rome", "Oslo", "Bern"] { _ = try await bob.save(Trip(name: name)) }
    try await bob.update(Profile.only) { $0.name = "Bob" }
    try await alice.update(Profile.only) { profile in
      profile.name = "Alice"
      profile.homeZone = "Europe/Rome"
    }
    await circle.connect("alice", "bob")
    try await circle.settle()
    return circle
  }

  @Test func `the history shows the write that the merge chose, and not the one with the latest stamp`()
    async throws
  {
    let circle = try await circle()
    for node in circle.nodes {
      #expect(try await node.record(Profile.only)?.name == "Alice")
      let fields = try await node.history(of: Profile.only).writes.flatMap(\.fields)
      let names = fields.filter { $0.field == "name" }
      #expect(names.first { $0.value == .text("Alice") }?.state == .shows)
      #expect(names.first { $0.value == .text("Bob") }?.state == .lost)
      let values = try await node.explanation(of: Profile.only).values
      let name = try #require(values.first { $0.field == "name" })
      #expect(name.written.value == .text("Alice"))
      #expect(name.wonAgainst.map(\.value) == [.text("Bob")])
      #expect(name.wonAgainst.map(\.how) == [.concurrent])
    }
    await circle.close()
  }

  @Test func `a history of the profile begins with the newest write, also if an older one won`()
    async throws
  {
    let circle = try await circle()
    let (alice, bob) = (circle["alice"], circle["bob"])
    let (first, second) = (try await alice.status().device, try await bob.status().device)
    for node in [alice, bob] {
      #expect(try await node.record(Profile.only)?.name == "Alice")
      let whole = try await node.history(of: Profile.only)
      #expect(whole.writes.map(\.device) == [second, first] && !whole.hasMore)
      let newest = try await node.history(of: Profile.only, limit: 1)
      #expect(newest.writes.map(\.device) == [second] && newest.hasMore)
    }
    await circle.close()
  }

  @Test func `an erased profile stays empty when an older write of another device arrives`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    try await alice.update(Profile.only) { $0.name = "Anna" }
    try await circle.settle()
    await circle.disconnect("alice", "bob")
    try await bob.update(Profile.only) { $0.name = "Annina" }
    try await circle.clock.advance(by: .seconds(10))
    try await alice.run("erase", ["records": ["profile"], "yes": true])
    await circle.connect("alice", "bob")
    try await circle.settle()
    for node in [alice, bob] { #expect(try await node.run("profile.show")["name"] == .null) }
    await circle.close()
  }
}
