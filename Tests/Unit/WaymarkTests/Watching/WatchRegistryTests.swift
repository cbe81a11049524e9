import RecordTables
import Records
import Replication
import Storage
import Testing
import Wire

@testable import NodeRuntime

/// What wakes a watcher, and when: the registry alone, without a node.
@Suite struct `The registry of watches` {
  /// A registry whose calls may stand in an expectation.
  private final class Board {
    var registry = WatchRegistry()

    /// Waits as a watcher does while the body runs, and returns what ended the wait; nil if the body ended nothing.
    func wait(
      _ topics: Set<Topic> = [.node], due: Int64? = nil, _ body: (Board) -> Void
    ) async -> WatchRegistry.WakeUp? {
      await withCheckedContinuation { continuation in
        let id = registry.makeID()
        registry.add(id, topics, due: due, continuation)
        body(self)
        registry.cancel(id)
      }
    }

    func alarm(wall: Int64, offset: Int64 = 0, zone: String = "UTC") -> Int64? {
      registry.setAlarm(ClockSetting(offset: offset, zone: zone), wall: wall, steady: wall - offset)
    }

    func ring(wall: Int64, offset: Int64 = 0, zone: String = "UTC") {
      registry.ring(ClockSetting(offset: offset, zone: zone), wall: wall)
    }

    /// Commits a change of records, and returns its revision.
    @discardableResult
    func commit(_ kinds: KindNumber...) -> UInt64 {
      var report = CommitReport()
      report.kinds = Set(kinds)
      registry.changed(by: report)
      return registry.revision
    }

    /// The sources of a change: the revisions of commits, and the words `former`, `node` and `everything`.
    func sources(_ topics: Set<Topic>, since revision: UInt64) -> [String] {
      registry.sources(of: topics, since: revision).map { source in
        switch source {
        case .commit(let commit): "\(commit.revision)"
        case .formerCommits: "former"
        case .node: "node"
        case .everything: "everything"
        }
      }
    }
  }

  private let trips = Kind.trip.number
  private let habits = Kind.habit.number

  @Test func `wakes a watcher for its own topics only, and once`() async {
    let board = Board()
    let before = board.registry.revision
    let untouched = await board.wait([.kind(trips)]) { board in
      board.commit(habits)
      board.registry.changed([.node])
      board.commit()
      #expect(board.registry.counts.watchers == 1)
    }
    #expect(untouched == nil)
    #expect(board.registry.revision == before + 2, "a commit that touches no record is no change")
    let woken = await board.wait([.kind(trips), .kind(habits)]) { board in
      board.commit(trips, habits)
      #expect(board.registry.counts.watchers == 0)
      board.commit(trips)
    }
    #expect(woken == .change)
    // A watcher of records of any kind is woken by each of them.
    let (ofAny, ofAll) = (
      await board.wait([.records]) { $0.commit(habits) },
      await board.wait([.node]) { $0.registry.changedEverything() }
    )
    #expect(ofAny == .change && ofAll == .change)
    let last = board.registry.revision
    #expect(board.registry.haveChanged([.kind(trips)], since: last - 1))
    #expect(!board.registry.haveChanged([.kind(trips), .node, .records], since: last))
  }

  @Test func `sets the alarm for the earliest moment, at most a minute ahead, and never twice`() async {
    let board = Board()
    /// Asks for the alarm while a watcher waits for a moment.
    func alarm(due: Int64?, wall: Int64 = 1_000) async -> Int64? {
      var delay: Int64?
      _ = await board.wait(due: due) { delay = $0.alarm(wall: wall) }
      return delay
    }
    #expect(await alarm(due: nil) == nil, "nothing depends on the time")
    #expect(await alarm(due: 50_000) == 49_000)
    #expect(await alarm(due: 50_000) == nil, "it is set already")
    // An earlier moment needs an earlier alarm, a later one does not.
    #expect(await alarm(due: 10_000) == 9_000)
    #expect(await alarm(due: 10_001) == nil)
    let moments: [(due: Int64, wall: Int64, delay: Int64)] = [
      (61_001, 1_000, 60_000), (.max, -5, 60_000), (10, 1_000, 1),
    ]
    for (due, wall, delay) in moments {
      board.registry.forgetAlarm()
      #expect(await alarm(due: due, wall: wall) == delay)
    }
  }

  @Test func `rings for those that are due, and sets the next alarm for the others`() async {
    let board = Board()
    let woken = await board.wait(due: 5_000) { board in
      #expect(board.alarm(wall: 1_000) == 4_000)
      board.ring(wall: 4_999)
      #expect(board.registry.counts.watchers == 1, "it is not due for another millisecond")
      #expect(board.alarm(wall: 4_999) == 1, "an alarm that has rung is not set any more")
      board.ring(wall: 5_000)
      #expect(board.registry.counts.watchers == 0)
      #expect(board.alarm(wall: 5_000) == nil)
    }
    #expect(woken == .time)
    // A watcher that has been woken by a change is not due any more.
    let changed = await board.wait(due: 9_000) { $0.registry.changed([.node]) }
    #expect(changed == .change)
    #expect(board.alarm(wall: 6_000) == nil)
  }

  @Test(
    arguments: [
      (0, "UTC", false), (999, "UTC", false), (-999, "UTC", false), (1_000, "UTC", true),
      (-1_000, "UTC", true), (0, "Europe/Rome", true),
    ] as [(Int64, String, Bool)])
  func `wakes all that depend on the time once the clock or the zone was set`(
    offset: Int64, zone: String, isSet: Bool
  ) async {
    let board = Board()
    let woken = await board.wait(due: 1_000_000) { board in
      _ = board.alarm(wall: 50_000)
      board.ring(wall: 60_000, offset: offset, zone: zone)
    }
    #expect(woken == (isSet ? .time : nil))
    #expect(board.registry.shared.clockSettings == (isSet ? 1 : 0))
    // A clock that is slewed moves by a little each time, which is compared with the time before.
    let again = await board.wait(due: 1_000_000) { board in
      _ = board.alarm(wall: 70_000, offset: offset, zone: zone)
      board.ring(wall: 80_000, offset: isSet ? offset : 2 * offset, zone: zone)
    }
    #expect(again == nil)
    let timeless = await board.wait([.node]) { $0.ring(wall: 90_000, offset: 5_000_000) }
    #expect(timeless == nil)
  }

  @Test func `makes each watcher pause four times as long as all have read, up to a second`() {
    var registry = WatchRegistry()
    let (first, second) = (registry.noPause, registry.noPause)
    #expect(first.until == 0)
    let afterFirst = registry.spent(from: 100, until: 105, since: first)
    #expect(afterFirst.until == 105 + 20)
    // The second one pauses for the first one's read too.
    let afterSecond = registry.spent(from: 105, until: 108, since: second)
    #expect(afterSecond.until == 108 + 32)
    let again = registry.spent(from: 200, until: 202, since: afterFirst)
    #expect(again.until == 202 + 20, "only what was read since its own last read")
    let long = registry.spent(from: 300, until: 700, since: again)
    #expect(long.until == 1_700)
    let late = registry.spent(from: 800, until: 790, since: registry.noPause)
    #expect(late.until == 790, "no read takes less than nothing")
  }

  @Test func `tells which commits changed a query, the newest first`() {
    let board = Board()
    let start = board.registry.revision
    let (one, two, three) = (board.commit(trips), board.commit(habits), board.commit(trips, habits))
    #expect(board.sources([.kind(trips)], since: start) == ["\(three)", "\(one)"])
    #expect(board.sources([.kind(habits)], since: start) == ["\(three)", "\(two)"])
    #expect(board.sources([.records], since: one) == ["\(three)", "\(two)"])
    #expect(board.sources([.kind(trips)], since: three).isEmpty)
    #expect(board.sources([.node], since: start).isEmpty)
    board.registry.changed([.node])
    #expect(board.sources([.node, .kind(trips)], since: two) == ["\(three)", "node"])
    board.registry.changedEverything()
    #expect(board.sources([.kind(trips)], since: three) == ["everything"])
    let last = board.commit(trips)
    #expect(board.sources([.kind(trips)], since: last - 1) == ["\(last)"], "the numbers before are gone")
  }

  @Test func `says so when commits were too many to be remembered`() {
    let board = Board()
    let start = board.registry.revision
    let revisions = (1...128).map { _ in board.commit(trips) }
    #expect(board.sources([.records], since: start).count == 128)
    let newest = board.commit(trips)
    // The older half was forgotten.
    let found = board.sources([.records], since: start)
    #expect(found.first == "\(newest)" && found.last == "former")
    #expect(found.count == 65 + 1)
    #expect(
      board.sources([.records], since: revisions[63]).count == 65, "nothing that it asks for is missing")
    #expect(board.sources([.records], since: revisions[62]).last == "former")
  }
}
