import Foundation
import Model
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting

@testable import NodeRuntime
@testable import Waymark

/// Watchers of equal queries share their reads.
struct SharedReadTests {
  @Test func `two hundred equal watchers read once for each change`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let reads = Counter()
    let watched = LiveQuery<Int>.count(Trip.all).counted(by: reads)
    let shown = Shown()
    let tasks = (0..<200).map { number in
      Task { for await count in node.watch(watched) { shown.show(count, number) } }
    }
    for round in 1...3 {
      try await eventually("all wait") { await node.watchCounts.watchers == 200 }
      let before = reads.count
      _ = try await node.save(Trip(name: "Trip \(round)"))
      try await eventually("all show \(round)") { shown.values == Array(repeating: round, count: 200) }
      #expect(reads.count == before + 1, "round \(round)")
    }
    try await eventually("all wait") { await node.watchCounts.watchers == 200 }
    let counts = await node.watchCounts
    #expect(counts.firings == 600 && counts.deliveries == 800 && counts.reads == reads.count)
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
    #expect(await node.sharedValueCount == 0, "nothing is kept once there is no watcher")
    // A watcher that begins now reads the present value.
    let late = Watcher(node.watch(watched))
    #expect(try await late.next("three trips") == 3)
  }

  @Test func `different parameters, kinds and types are not shared`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let trip = try await node.save(Trip(name: "Rome"))
    let other = try await node.save(Trip(name: "Oslo"))
    _ = try await node.save(Habit(name: "Read"))
    let waiting: [Task<Void, Never>] = [
      Task { for await _ in node.watch(.count(Trip.all)) {} },
      Task { for await _ in node.watch(.record(trip.id)) {} },
      Task { for await _ in node.watch(.setting(Setting("a", default: 1))) {} },
      Task { for await _ in node.watch(Trip.all) {} },
    ]
    try await eventually("all wait") { await node.watchCounts.watchers == 4 }
    #expect(await node.sharedValueCount == 4)
    try await expect(node, .count(Trip.all.filter(\.name == "Rome")), 1)
    try await expect(node, .count(Habit.all), 1)
    try await expect(node, .record(other.id), other)
    try await expect(node, .setting(Setting("a", default: 2)), 2)
    try await expect(node, .setting(Setting("a", default: "text")), "text")
    #expect(try await Watcher(node.watch(Trip.all.prefix(1))).next("a page").count == 1)
    for task in waiting { task.cancel() }
  }

  private func expect<Value>(_ node: Node, _ query: LiveQuery<Value>, _ value: Value) async throws {
    #expect(try await Watcher(node.watch(query)).next("\(query.name)") == value)
  }

  @Test
  func `a shared value that depends on the time is read again when it is due`()
    async throws
  {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "alice", clock: clock)
    _ = try await node.save(Trip(name: "Rome", startDate: VirtualClock.morning + 60))
    let reads = Counter()
    let upcoming = LiveQuery<Int>.count(Trip.all.filter(\.startDate >= .now)).counted(by: reads)
    let shown = Shown()
    let tasks = (0..<20).map { number in
      Task { for await count in node.watch(upcoming) { shown.show(count, number) } }
    }
    try await eventually("all wait") { await node.watchCounts.watchers == 20 }
    let before = reads.count
    try await clock.advance(by: .seconds(61))
    try await eventually("none is to come") { shown.values == Array(repeating: 0, count: 20) }
    #expect(reads.count == before + 1)
    // Nobody shares a value that is due, even if nothing was written.
    #expect(try await Watcher(node.watch(upcoming)).next("none") == 0)
    for task in tasks { task.cancel() }
    await node.close()
  }

  @Test func `a value is kept while someone waits, and the newest one wins`() {
    var shared = SharedValues()
    /// A value that was read before the clock is set.
    func value(_ value: Int, _ revision: UInt64, due: Int64?) -> SharedValues.Value {
      SharedValues.Value(value, revision: revision, due: due, clockSettings: 0)
    }
    let query = QueryIdentity("count", Int.self, [1])
    shared.enter(query, nil)
    shared.enter(query, value(5, 5, due: nil))
    shared.add(value(4, 4, due: 10), of: query)
    #expect(shared[query]?.revision == 5)
    shared.add(value(6, 6, due: 10), of: query)
    #expect(shared[query]?.revision == 6)
    shared.clockWasSet()
    #expect(shared[query] == nil, "what depends on the time is forgotten")
    shared.add(value(6, 6, due: 10), of: query)
    #expect(shared[query] == nil, "nor is it taken over from a watcher that has it from before")
    shared.leave(query)
    shared.add(value(7, 7, due: nil), of: query)
    #expect(shared[query]?.revision == 7)
    shared.leave(query)
    #expect(shared.count == 0 && shared[query] == nil)
    shared.add(value(8, 8, due: nil), of: query)
    #expect(shared.count == 0, "a value of a query without watchers is not kept")
    #expect(query != QueryIdentity("count", Int.self, [2]) && query != QueryIdentity("count", Bool.self, [1]))
    #expect(query != QueryIdentity("record", Int.self, [1]))
  }
}

extension Node {
  fileprivate var sharedValueCount: Int { core.loop.watching.shared.count }
}

/// The newest value of each watcher.
private final class Shown: Sendable {
  private let shown = Mutex<[Int: Int]>([:])

  func show(_ value: Int, _ watcher: Int) { shown.withLock { $0[watcher] = value } }

  var values: [Int] { shown.withLock { Array($0.values) } }
}
