import ChangeHistory
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// The order of the writes in the history of the profile.
struct ProfileOrderTests {
  /// Of two writes at the same time the one with more fields wins, although Bob's clock has counted further.
  @Test func `a history of the profile begins with the newest write, also if an older one won`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    let (first, second) = (try await alice.status().device, try await bob.status().device)
    await circle.disconnect("alice", "bob")
    for name in ["Rome", "Oslo", "Bern"] { _ = try await bob.save(Trip(name: name)) }
    try await bob.update(Profile.only) { $0.name = "Bob" }
    try await alice.update(Profile.only) { profile in
      profile.name = "Alice"
      profile.homeZone = "Europe/Rome"
    }
    await circle.connect("alice", "bob")
    try await circle.settle()
    for node in [alice, bob] {
      #expect(try await node.record(Profile.only)?.name == "Alice")
      let whole = try await node.history(of: Profile.only)
      #expect(whole.writes.map(\.device) == [second, first] && !whole.hasMore)
      let newest = try await node.history(of: Profile.only, limit: 1)
      #expect(newest.writes.map(\.device) == [second] && newest.hasMore)
    }
    await circle.close()
  }
}
