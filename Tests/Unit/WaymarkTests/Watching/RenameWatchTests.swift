import Foundation
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// What a person changes about a device on this one is shown at once.
struct RenameWatchTests {
  @Test func `watches of the trash and of the history show the new name of a device`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    let device = try await bob.status().device
    let trip = try await bob.save(Trip(name: "Rome"))
    try await bob.delete(trip)
    try await circle.settle()
    let trash = Watcher(alice.watch(.trash))
    let history = Watcher(alice.watch(.history(limit: 1)))
    #expect(try await trash.next("the trash").map(\.deletedBy.name) == ["bob"])
    #expect(try await history.next("the history").map(\.deviceName) == ["bob"])
    for (given, shown) in [("tablet", "tablet"), (nil, "bob")] as [(String?, String)] {
      try await alice.rename(device, to: given)
      #expect(try await trash.next("the trash with \(shown)").map(\.deletedBy.name) == [shown])
      #expect(try await history.next("the history with \(shown)").map(\.deviceName) == [shown])
    }
    await circle.close()
  }

  @Test func `a watch of peers shows that one was paused or resumed, though it is not connected`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let alice = circle["alice"]
    let device = try await circle["bob"].status().device
    await circle.close("bob")
    // The clock stands, so nothing else happens.
    try await circle.clock.advance(by: .seconds(60))
    let peers = Watcher(alice.watch(.peers))
    let before = try await peers.next("the peers").map(\.state)
    #expect(before.count == 1 && before != [.paused])
    try await alice.pause(device)
    #expect(try await peers.next("the paused peer").map(\.state) == [.paused])
    try await alice.resume(device)
    #expect(try await peers.next("the resumed peer").map(\.state) != [.paused])
    await circle.close()
  }
}
