import Replication
import Testing
import Wire

@testable import NodeRuntime

/// What the registry of watches forgets when nothing waits for the time any more, and what it keeps.
@Suite struct WatchResetTests {
  private final class Board {
    var registry = WatchRegistry()

    /// Waits as a watcher does while the body runs, and returns what ended the wait; nil if the body ended nothing.
    func wait(due: Int64?, _ body: (Board) -> Void) async -> WatchRegistry.WakeUp? {
      await withCheckedContinuation { continuation in
        let id = registry.makeID()
        registry.add(id, [.node], due: due, continuation)
        body(self)
        registry.cancel(id)
      }
    }

    func alarm(wall: Int64, offset: Int64) -> Int64? {
      registry.setAlarm(ClockSetting(offset: offset, zone: "UTC"), wall: wall, steady: wall - offset)
    }

    func ring(wall: Int64, offset: Int64) {
      registry.ring(ClockSetting(offset: offset, zone: "UTC"), wall: wall)
    }
  }

  @Test func `a clock that was set while nothing depended on the time wakes no later watcher`() async {
    let board = Board()
    let first = await board.wait(due: 5_000) { board in
      #expect(board.alarm(wall: 1_000, offset: 0) == 4_000)
      board.ring(wall: 5_000, offset: 0)
    }
    #expect(first == .time)
    // Two hours later by the wall clock, without any time passing.
    let later: Int64 = 7_200_000
    let second = await board.wait(due: later + 1_000_000) { board in
      #expect(board.alarm(wall: later + 6_000, offset: later) == 60_000)
      board.ring(wall: later + 66_000, offset: later)
    }
    #expect(second == nil)
    #expect(board.registry.shared.clockSettings == 0)
    // From now on there is a watcher again, so the next change of the clock wakes it.
    let third = await board.wait(due: later + 1_000_000) { board in
      #expect(board.alarm(wall: later + 70_000, offset: later) == 60_000)
      board.ring(wall: 130_000, offset: 0)
    }
    #expect(third == .time)
    #expect(board.registry.shared.clockSettings == 1)
  }

  @Test func `only values that depend on the time are forgotten when the clock is set, each time`() {
    var shared = SharedValues()
    func value(_ number: Int, _ revision: UInt64, due: Int64?, _ settings: Int) -> SharedValues.Value {
      SharedValues.Value(number, revision: revision, due: due, clockSettings: settings)
    }
    let today = QueryIdentity("today", Int.self, [1])
    let count = QueryIdentity("count", Int.self, [1])
    shared.enter(today, value(1, 1, due: 10, 0))
    shared.enter(count, value(2, 1, due: nil, 0))
    for settings in 1...2 {
      shared.clockWasSet()
      #expect(shared.clockSettings == settings)
      #expect(shared[today] == nil)
      let kept = shared[count]?.value as? Int
      #expect(kept == 2)
      // A value from before the change is not taken over, and one that was read since is.
      shared.add(value(3, 9, due: 20, settings - 1), of: today)
      #expect(shared[today] == nil)
      shared.add(value(4, 5, due: 20, settings), of: today)
      #expect(shared[today]?.revision == 5)
    }
    // The last watcher of a query takes its value along, and leaves the other query alone.
    shared.leave(today)
    #expect(shared.count == 1 && shared[today] == nil)
    #expect(shared[count]?.revision == 1)
    shared.enter(today, nil)
    #expect(shared.count == 2 && shared[today] == nil, "the next watcher begins without a value")
    // Of two watchers one leaves; nothing is counted twice.
    shared.enter(count, nil)
    shared.leave(count)
    #expect(shared[count]?.revision == 1)
    for _ in 0..<2 { shared.leave(count) }
    shared.enter(count, nil)
    #expect(shared.count == 2 && shared[count] == nil)
  }
}
