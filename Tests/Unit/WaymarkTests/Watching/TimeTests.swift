import Foundation
import JSONDocument
import Model
import Platform
import Synchronization
import Testing
import Transport
import WaymarkCare
import WaymarkKinds

@testable import NodeOperations
@testable import NodeRuntime
@testable import Waymark
@testable import WaymarkTesting

/// Watches whose values change with the day or the time.
struct TimeTests {
  private static let minute: TimeInterval = 60
  private static let hour: TimeInterval = 3_600

  /// A watcher that waits for its second value while the test advances the clock.
  private func change<Value>(
    _ node: Node, _ watcher: Watcher<Value>, _ what: Comment, _ move: () async throws -> Void
  ) async throws -> Value {
    async let next = watcher.next(what)
    try await eventually("the watcher waits") { await node.watchCounts.watchers == 1 }
    try await move()
    return try await next
  }

  private func habit(in node: Node) async throws -> Habit {
    try await node.update(Profile.only) { profile in
      (profile.homeZone, profile.displayZone) = ("Europe/Rome", .home)
    }
    let habit = try await node.save(Habit(name: "Read"))
    try await node.addEntry(to: habit.id)
    return habit
  }

  @Test func `streaks are read again at midnight in the zone where the user counts days, and not before`()
    async throws
  {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "alice", clock: clock)
    let habit = try await habit(in: node)
    let reads = Counter()
    let watched: LiveQuery<HabitProgress?> = .progress(of: habit.id)
    let watcher = Watcher(node.watch(watched.counted(by: reads)))
    let today = try #require(try await watcher.next("today"))
    #expect(today.today == Day("2026-05-03") && today.isDone(on: today.today))
    // Midnight in Rome is 22:00 UTC.
    let midnight = try #require(ISO8601DateFormatter().date(from: "2026-05-03T22:00:00Z"))
    let tomorrow = try await change(node, watcher, "tomorrow") {
      try await clock.advance(to: midnight - 0.001)
      #expect(reads.count == 1)
      try await clock.advance(to: midnight)
    }
    #expect(tomorrow?.today == Day("2026-05-04"))
    #expect(tomorrow.map { $0.isDone(on: $0.today) } == false && tomorrow?.currentStreak == 1)
    #expect(reads.count == 2)
    let later = try await change(node, watcher, "the day after") {
      try await clock.sleep(until: midnight + 24 * Self.hour)
    }
    #expect(later?.today == Day("2026-05-05") && later?.currentStreak == 0)
    await node.close()
  }

  @Test func `a watch of the day goes on with the time after the node was suspended`() async throws {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "alice", clock: clock)
    let habit = try await habit(in: node)
    let watcher = Watcher(node.watch(LiveQuery<HabitProgress?>.progress(of: habit.id)))
    #expect(try await watcher.next("today")?.today == Day("2026-05-03"))
    let tomorrow = try await change(node, watcher, "tomorrow") {
      await node.suspend()
      try await node.resume()
      try await clock.sleep(for: .seconds(86_400))
    }
    #expect(tomorrow?.today == Day("2026-05-04"))
    await node.close()
  }

  @Test func `a list of upcoming trips drops a trip when it begins`() async throws {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "alice", clock: clock)
    let start = VirtualClock.morning
    _ = try await node.save([
      Trip(name: "Past", startDate: start - Self.hour), Trip(name: "Rome", startDate: start + Self.hour),
      Trip(name: "Oslo", startDate: start + 2 * Self.hour), Trip(name: "Someday"),
    ])
    let upcoming = Trip.all.filter(\.startDate >= .now).sorted(by: \.startDate)
    let reads = Counter()
    let watcher = Watcher(node.watch(LiveQuery<[Trip]>.records(upcoming).counted(by: reads)))
    #expect(try await watcher.next("both").map(\.name) == ["Rome", "Oslo"])
    let one = try await change(node, watcher, "Oslo alone") {
      try await clock.advance(to: start + Self.hour)
      #expect(reads.count == 1)
      try await clock.advance(by: .milliseconds(1))
    }
    #expect(one.map(\.name) == ["Oslo"] && reads.count == 2)
    // Intermediate wake-ups happen as well.
    try await node.update(try #require(one.first).id) { $0.startDate = start + 1.5 * Self.hour }
    #expect(try await watcher.next("Oslo earlier").map(\.name) == ["Oslo"])
    let none = try await change(node, watcher, "nothing to come") {
      try await clock.advance(to: start + 1.5 * Self.hour + 0.001)
    }
    #expect(none.isEmpty)
    try await clock.advance(by: .seconds(7_200))
    #expect(reads.count == 4)
    await node.close()
  }

  @Test func `each comparison with now changes in the millisecond in which it becomes true or false`()
    async throws
  {
    let start = VirtualClock.morning
    let table: [(filter: Condition<Trip>, before: Int, at: Int, after: Int)] = [
      (\.startDate >= .now, 1, 1, 0), (\.startDate > .now, 1, 0, 0), (\.startDate <= .now, 0, 1, 1),
      (\.startDate < .now, 0, 0, 1), (!(\.startDate <= .now) && \.name == "Rome", 1, 0, 0),
    ]
    for (index, row) in table.enumerated() {
      let clock = VirtualClock()
      let node = try Node.inMemory(name: "alice", clock: clock)
      _ = try await node.save(Trip(name: "Rome", startDate: start + Self.minute))
      let shown = Mutex<[Int]>([])
      let task = Task {
        for await count in node.watch(.count(Trip.all.filter(row.filter))) {
          shown.withLock { $0.append(count) }
        }
      }
      var expected: [Int] = []
      for (moment, count) in [(0, row.before), (60_000, row.at), (60_001, row.after)] {
        try await clock.advance(to: start + Double(moment) / 1_000)
        if expected.last != count { expected.append(count) }
        let wanted = expected
        try await eventually("row \(index) shows \(wanted)") {
          let seen = shown.withLock { $0 }
          return seen == wanted
        }
        try await eventually("the watcher waits") { await node.watchCounts.watchers == 1 }
      }
      task.cancel()
      await node.close()
    }
  }

  @Test func `now is the time of each read`() async throws {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "alice", clock: clock)
    _ = try await node.save(Trip(name: "Rome", startDate: VirtualClock.morning + Self.hour))
    let upcoming = Trip.all.filter(\.startDate >= .now)
    #expect(try await node.count(upcoming) == 1)
    try await clock.advance(by: .seconds(3_601))
    #expect(try await node.count(upcoming) == 0)
    let habits = HabitEntry.all.filter(\.date <= .now)
    #expect(try await node.count(habits) == 0)
    await node.close()
  }

  @Test func `a day ends at its midnight, even if clocks change then`() throws {
    let table = [
      ("Europe/Rome", "2026-03-28T12:00:00Z", "2026-03-28T23:00:00Z"),
      ("Europe/Rome", "2026-03-29T12:00:00Z", "2026-03-29T22:00:00Z"),
      // At midnight the clocks of Beirut skip to one o'clock.
      ("Asia/Beirut", "2026-03-28T12:00:00Z", "2026-03-28T22:00:00Z"),
      // Samoa skipped a day.
      ("Pacific/Apia", "2011-12-30T00:00:00Z", "2011-12-30T10:00:00Z"),
      ("UTC", "2026-05-03T00:00:00Z", "2026-05-04T00:00:00Z"),
    ]
    for (zone, now, end) in table {
      let (now, end) = (ISO8601DateFormatter().date(from: now), ISO8601DateFormatter().date(from: end))
      let found = Day.end(
        after: try #require(now).milliseconds, in: try #require(Zone(named: zone)))
      #expect(Date(milliseconds: found) == end, "\(zone)")
    }
  }

  @Test func `within a minute after the clock was set or the machine slept, today is correct`() async throws {
    let clock = VirtualClock()
    let set = SetClock(clock)
    let node = try Node(
      CircleCreation(name: "alice", now: clock.wall()),
      in: NodeEnvironment(
        clock: set, transport: InMemoryTransport(network: InMemoryNetwork(clock: clock), machine: 1)))
    let habit = try await habit(in: node)
    let watcher = Watcher(node.watch(.progress(of: habit.id)))
    #expect(try await watcher.next("today")?.today == Day("2026-05-03"))
    for (days, day) in [(3, "2026-05-06"), (-2, "2026-05-01")] {
      let later = try await change(node, watcher, "another day") {
        set.ahead = Int64(days) * 86_400_000
        try await clock.advance(by: .seconds(61))
      }
      #expect(later?.today == Day(day))
    }
    await node.close()
  }
}

/// A virtual clock whose wall clock a test sets, without any time passing.
private final class SetClock: NodeClock {
  private let clock: VirtualClock
  private let milliseconds = Mutex<Int64>(0)

  init(_ clock: VirtualClock) { self.clock = clock }

  var ahead: Int64 {
    get { milliseconds.withLock { $0 } }
    set { milliseconds.withLock { $0 = newValue } }
  }

  func wall() -> Int64 { clock.wall() + ahead }

  func steady() -> Int64 { clock.steady() }

  func after(
    milliseconds: Int64, on executor: QueueExecutor, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer {
    clock.after(milliseconds: milliseconds, on: executor, body)
  }
}
