import Foundation
import Testing
import WaymarkCare
import WaymarkKinds

@testable import Model
@testable import Waymark
@testable import WaymarkTesting

/// What a watch is told of: records of other kinds, moments, and commits that are no longer remembered.
struct WatchReachTests {
  @Test func `a watch of deleted items is told when their trip is deleted`() async throws {
    let node = try Node.inMemory(name: "alice")
    let trip = try await node.save(Trip(name: "Rome"))
    _ = try await node.save(Transportation(name: "Flight", tripID: trip.id))
    let watcher = Watcher(node.watch(.deleted(Transportation.self)))
    #expect(try await watcher.next("an empty trash").isEmpty)
    try await node.delete(trip)
    #expect(try await watcher.next("a hidden flight").map(\.record.name) == ["Flight"])
    await node.close()
  }

  @Test func `a watch with a condition on other records is told when those change`() async throws {
    let node = try Node.inMemory(name: "alice")
    var trip = try await node.save(Trip(name: "Rome"))
    _ = try await node.save(Transportation(name: "Flight", tripID: trip.id))
    let dated = Trip.all.filter(\.startDate != nil)
    let watcher = Watcher(node.watch(.records(Transportation.all.filter(.refers(\.tripID, to: dated)))))
    #expect(try await watcher.next("no flight").isEmpty)
    trip.startDate = Date(timeIntervalSince1970: 1_777_593_600)
    _ = try await node.save(trip)
    #expect(try await watcher.next("a flight of a dated trip").map(\.name) == ["Flight"])
    await node.close()
  }

  @Test func `a change whose commit is no longer remembered counts as more`() async throws {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    let updates = Updates(alice.node.watch(Transportation.all))
    #expect(try await updates.next("no flight").value.isEmpty)
    _ = try await alice.node.save(Transportation(name: "Flight", tripID: trip.id))
    for number in 1...200 { _ = try await alice.node.save(Trip(name: "Trip \(number)")) }
    #expect(try await updates.next("a flight").causes == [.more])
    await alice.close()
  }

  /// A value that grows by one with each step of the clock.
  private func steps(of seconds: Int64) -> LiveQuery<Int64> {
    LiveQuery(
      .count, [.node], seconds,
      read: { _, time in
        let step = seconds * 1_000
        time.changes(at: (time.now / step + 1) * step)
        return time.now / step
      })
  }

  @Test func `a watch is told in time although another one waits for a later moment`() async throws {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "alice", clock: clock)
    let slow = Watcher(node.watch(steps(of: 3_600)))
    let hour = try await slow.next("this hour")
    async let nextHour = slow.next("the next hour")
    try await eventually("one watcher waits") { await node.watchCounts.watchers == 1 }
    let quick = Watcher(node.watch(steps(of: 10)))
    let present = try await quick.next("these seconds")
    async let later = quick.next("the next seconds")
    try await eventually("both watchers wait") { await node.watchCounts.watchers == 2 }
    try await clock.advance(by: .seconds(20))
    #expect(try await later > present)
    try await clock.advance(by: .seconds(3_600))
    #expect(try await nextHour > hour)
    await node.close()
  }
}
