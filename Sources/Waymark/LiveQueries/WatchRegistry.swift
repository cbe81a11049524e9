import Engine
import Replication
import Storage
import Transport

/// What has changed since when, and who waits to hear of it.
///
/// Those who wait stand under what they wait for: a change costs what it concerns, however many there are.
struct WatchRegistry {
  /// Counts the changes.
  private(set) var revision: UInt64 = 1
  private var newest: [Topic: UInt64] = [:]
  private var waiting: [UInt64: Waiter] = [:]
  private var byTopic: [Topic: Set<UInt64>] = [:]
  private var nextID: UInt64 = 0
  /// Those whose values the time changes, and when.
  private var due: [UInt64: Moment] = [:]
  /// The clock by which `due` was computed.
  private var clock: ClockSetting?
  /// When the timer rings that looks at `due`, by the steady clock; nil if none is set.
  private var alarm: Moment?
  /// How long readings for watchers took, all together.
  private var spentMilliseconds: Moment = 0

  /// The pause of a watcher that begins.
  var noPause: Pause { Pause(spentMilliseconds: spentMilliseconds) }

  /// How far a watcher was when it last read, and when it may read again.
  ///
  /// While changes come without end, each rests for four times as long as all of them have read since its last turn:
  /// so they take a fifth of the node's time, however many they are, and one that is slow delays only itself.
  struct Pause {
    var until: Moment = 0
    fileprivate var spentMilliseconds: Moment = 0
  }

  private struct Waiter {
    let topics: Set<Topic>
    let continuation: CheckedContinuation<Bool, Never>
  }

  /// How many wait.
  var count: Int { waiting.count }

  /// Whether one of these has changed since a revision.
  func haveChanged(_ topics: Set<Topic>, since revision: UInt64) -> Bool {
    topics.contains { newest[$0, default: 0] > revision }
  }

  mutating func makeID() -> UInt64 {
    nextID += 1
    return nextID
  }

  mutating func add(
    _ id: UInt64, _ topics: Set<Topic>, due moment: Moment?, _ continuation: CheckedContinuation<Bool, Never>
  ) {
    waiting[id] = Waiter(topics: topics, continuation: continuation)
    for topic in topics { byTopic[topic, default: []].insert(id) }
    if let moment { due[id] = moment }
  }

  /// Sets the timer for the next value that the time changes.
  ///
  /// It rings at least once a minute, since nothing tells of a clock that was set or a machine that slept.
  ///
  /// - Returns: how long to wait; nil if no new timer is needed.
  mutating func setAlarm(_ clock: ClockSetting, wall: Moment, steady: Moment) -> Moment? {
    guard let next = due.values.min() else { return nil }
    if self.clock == nil { self.clock = clock }
    let (wait, isTooFar) = next.subtractingReportingOverflow(wall)
    let bounded = isTooFar ? Self.lookMilliseconds : min(max(wait, 1), Self.lookMilliseconds)
    if let alarm, alarm <= steady + bounded { return nil }
    alarm = steady + bounded
    return bounded
  }

  /// The timer has rung: releases those whose time has come, and all that depend on the time if the clock or the time
  /// zone was changed.
  mutating func ring(_ clock: ClockSetting, wall: Moment) {
    alarm = nil
    let isSame = self.clock?.isSame(as: clock) ?? false
    self.clock = clock
    for (id, moment) in due where !isSame || moment <= wall { release(id, true) }
    if due.isEmpty { self.clock = nil }
  }

  mutating func changed(_ topics: some Sequence<Topic>) {
    revision += 1
    for topic in topics {
      newest[topic] = revision
      for id in byTopic[topic] ?? [] { release(id, true) }
    }
  }

  /// Reports what a transaction has changed.
  mutating func changed(by report: CommitReport) {
    if report.isRebuilt {
      changed(Topic.all)
    } else if !report.kinds.isEmpty {
      changed(report.kinds.map(Topic.kind))
    }
  }

  /// Lets go of one that waits no longer.
  mutating func cancel(_ id: UInt64) { release(id, false) }

  mutating func cancelAll() {
    for id in waiting.keys { release(id, false) }
  }

  mutating func spent(from start: Moment, until end: Moment, since last: Pause) -> Pause {
    spentMilliseconds += max(end - start, 0)
    let rest = min((spentMilliseconds - last.spentMilliseconds) * 4, Self.restMillisecondsMax)
    return Pause(until: end + rest, spentMilliseconds: spentMilliseconds)
  }

  private mutating func release(_ id: UInt64, _ isChanged: Bool) {
    guard let waiter = waiting.removeValue(forKey: id) else { return }
    due[id] = nil
    for topic in waiter.topics { byTopic[topic]?.remove(id) }
    waiter.continuation.resume(returning: isChanged)
  }

  private static let restMillisecondsMax: Moment = 1_000
  private static let lookMilliseconds: Moment = 60_000
}

/// How a machine's clock is set: what makes the day and the time that people read.
struct ClockSetting: Hashable, Sendable {
  /// The wall clock less the steady clock, which does not run while a machine sleeps.
  let offset: Moment
  let zone: String

  /// Whether the clock and the zone were left alone; a clock that is slewed into step moves far less.
  func isSame(as other: ClockSetting) -> Bool {
    zone == other.zone && abs(offset - other.offset) < 1_000
  }
}
