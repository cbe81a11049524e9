import Records
import Replication
import Testing

@testable import NodeRuntime

/// Two watchers that wait at the same time: what ends the wait of one, and what is left for the other.
@MainActor struct SeveralWatchersTests {
  @MainActor private final class Board {
    var registry = WatchRegistry()
    private(set) var ids: [String: UInt64] = [:]

    /// Waits as a watcher does, and returns what ended the wait.
    func wait(_ name: String, _ topics: Set<Topic>, due: Int64?) async -> WatchRegistry.WakeUp? {
      let id = registry.makeID()
      ids[name] = id
      return await withCheckedContinuation { continuation in
        registry.add(id, topics, due: due, continuation)
      }
    }

    func alarm(wall: Int64) -> Int64? {
      registry.setAlarm(ClockSetting(offset: 0, zone: "UTC"), wall: wall, steady: wall)
    }

    func ring(wall: Int64) { registry.ring(ClockSetting(offset: 0, zone: "UTC"), wall: wall) }

    var waiting: Int { registry.counts.watchers }
  }

  private let trips = Topic.kind(Kind.trip.number)

  @Test func `a moment that comes wakes the watcher that is due, and the alarm is set for the other`()
    async throws
  {
    let board = Board()
    let early = Task { await board.wait("early", [.node], due: 5_000) }
    let late = Task { await board.wait("late", [.node], due: 8_000) }
    try await eventually("both wait") { board.waiting == 2 }
    #expect(board.alarm(wall: 1_000) == 4_000)
    board.ring(wall: 5_000)
    let wakeUp = await early.value
    #expect(wakeUp == .time)
    #expect(board.waiting == 1)
    #expect(board.alarm(wall: 5_000) == 3_000)
    board.ring(wall: 7_999)
    #expect(board.waiting == 1)
    board.ring(wall: 8_000)
    let last = await late.value
    #expect(last == .time)
    #expect(board.alarm(wall: 8_000) == nil)
  }

  @Test func `a change wakes the watcher of its topic, and the other one still has its moment`() async throws
  {
    let board = Board()
    let ofTrips = Task { [trips] in await board.wait("trips", [trips], due: 5_000) }
    let ofNode = Task { await board.wait("node", [.node], due: 9_000) }
    try await eventually("both wait") { board.waiting == 2 }
    #expect(board.alarm(wall: 1_000) == 4_000)
    board.registry.changed([trips])
    let change = await ofTrips.value
    #expect(change == .change)
    #expect(board.waiting == 1)
    // The alarm that was set rings for no one, and is then set for the moment that is left.
    board.ring(wall: 5_000)
    #expect(board.waiting == 1)
    #expect(board.alarm(wall: 5_000) == 4_000)
    board.ring(wall: 9_000)
    let time = await ofNode.value
    #expect(time == .time)
  }

  @Test func `the end of one watcher leaves the other watchers of its topics`() async throws {
    let board = Board()
    let cancelled = Task { [trips] in await board.wait("cancelled", [.node, trips], due: nil) }
    let first = Task { await board.wait("first", [.node], due: nil) }
    let second = Task { [trips] in await board.wait("second", [.node, trips], due: nil) }
    try await eventually("all wait") { board.waiting == 3 }
    let id = try #require(board.ids["cancelled"])
    board.registry.cancel(id)
    let end = await cancelled.value
    #expect(end == nil)
    #expect(board.waiting == 2)
    // A cancelled watcher that is cancelled again ends nothing else.
    board.registry.cancel(id)
    #expect(board.waiting == 2)
    board.registry.changed([.node])
    let both = (await first.value, await second.value)
    #expect(both.0 == .change && both.1 == .change)
    #expect(board.waiting == 0)
    // The second one was also known by its other topic, and is not woken again by it.
    board.registry.changed([trips])
    #expect(board.waiting == 0)
  }
}
