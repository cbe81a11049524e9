// How watchers learn of changes
//
// A change is not sent to watchers; it only raises a number. `changed(_:)` increments `revision`, stores the new
// revision for each topic that changed, and resumes the watchers that wait for one of these topics. Each watcher then
// reads for itself:
//
//   commit touches trips ──▶ revision = 42, newest[trips] = 42 ──▶ resumes the watchers of trips
//
//   Watch.next() ──▶ newest[topic] > revision of its last read?
//                      yes ──▶ pause, read, compare ──▶ different: return it; equal: wait for more
//                      no  ──▶ wait until a topic changes, or until `due`
//
// - Watchers of equal queries share a read: a value that one of them read, and that nothing has changed since, is the
//   value of all (`SharedValues`).
// - To explain itself, a watcher compares the revisions of its last two reads with those of the commits that
//   `RecentCommits` remembers.
// - Nothing is buffered: a slow watcher finds one newer revision, however many changes there were. A change between a
//   read and the next wait is not lost, because the wait begins by comparing revisions.
// - Waiting watchers are indexed by topic, so the cost of a change depends only on the number of watchers it concerns.
// - A value may also depend on the time ("today"). Its read reports the moment `due` from which it may differ, and one
//   timer, the alarm, is set for the earliest of these moments. It fires at least once a minute, because nothing
//   reports that the clock or the time zone was set or that the machine slept. If the alarm finds such a change, it
//   resumes every watcher that depends on the time.
// - While changes keep coming, each watcher pauses after a read for four times as long as all watchers together have
//   read since its previous read, up to a second. Ten watchers that read 5 ms each take 50 ms, then pause for 200 ms:
//   reads take a fifth of the node's time, whatever the number of watchers. Without the pause, watchers of large
//   queries would starve commands and peers.

import Engine
import Platform
import RecordTables
package import Replication
import Storage
import Transport

/// The revisions of all topics, and the watchers that wait for a change.
package struct WatchRegistry {
  /// The number of the newest change.
  package private(set) var revision: UInt64 = 1
  /// The revision of each topic's newest change.
  private var newest: [Topic: UInt64] = [:]
  /// The revision of the newest change that may have changed everything.
  private var newestOfAll: UInt64 = 0
  private var waiting: [UInt64: Waiter] = [:]
  private var byTopic: [Topic: Set<UInt64>] = [:]
  private var nextID: UInt64 = 0
  /// The moments, by the wall clock, at which the passing of time may change the values of waiting watchers.
  private var due: [UInt64: Moment] = [:]
  /// The clock setting for which `due` was computed.
  private var clock: ClockSetting?
  /// When the alarm for `due` fires, by the steady clock; nil if none is set.
  private var alarm: Moment?
  /// The total time that reads for watchers took.
  private var spentMilliseconds: Moment = 0
  /// The values that watchers of equal queries share.
  package var shared = SharedValues()
  private var commits = RecentCommits()
  /// What the watchers did since the node was opened, without the number of those that wait.
  package var tally = WatchCounts()

  /// The pause of a new watcher, which may read at once.
  package var noPause: Pause { Pause(spentMilliseconds: spentMilliseconds) }

  /// When a watcher may read again, and the total read time at its last read.
  package struct Pause {
    package var until: Moment = 0
    fileprivate var spentMilliseconds: Moment = 0
  }

  private struct Waiter {
    let topics: Set<Topic>
    let continuation: CheckedContinuation<WakeUp?, Never>
  }

  /// What ended a watcher's wait.
  package enum WakeUp: Sendable {
    case change
    case time
  }

  /// What the watchers did since the node was opened.
  package var counts: WatchCounts {
    var counts = tally
    counts.watchers = waiting.count
    return counts
  }

  /// Whether one of the topics has changed since a revision.
  package func haveChanged(_ topics: Set<Topic>, since revision: UInt64) -> Bool {
    newestOfAll > revision || topics.contains { newest[$0, default: 0] > revision }
  }

  /// Returns what changed topics after a revision, newest first.
  package func sources(of topics: Set<Topic>, since revision: UInt64) -> [ChangeSource] {
    if newestOfAll > revision { return [.everything] }
    var found = commits.sources(of: topics, since: revision)
    if topics.contains(.node), newest[.node, default: 0] > revision { found.append(.node) }
    return found
  }

  package mutating func makeID() -> UInt64 {
    nextID += 1
    return nextID
  }

  package mutating func add(
    _ id: UInt64, _ topics: Set<Topic>, due moment: Moment?,
    _ continuation: CheckedContinuation<WakeUp?, Never>
  ) {
    waiting[id] = Waiter(topics: topics, continuation: continuation)
    for topic in topics { byTopic[topic, default: []].insert(id) }
    if let moment { due[id] = moment }
  }

  /// Plans the alarm for the earliest `due`, at most a minute from now.
  ///
  /// - Returns: the delay in milliseconds; nil if no new timer is needed.
  mutating func setAlarm(_ clock: ClockSetting, wall: Moment, steady: Moment) -> Moment? {
    guard let next = due.values.min() else { return nil }
    if self.clock == nil { self.clock = clock }
    let (wait, isTooFar) = next.subtractingReportingOverflow(wall)
    let bounded = isTooFar ? Self.alarmMillisecondsMax : min(max(wait, 1), Self.alarmMillisecondsMax)
    if let alarm, alarm <= steady + bounded { return nil }
    alarm = steady + bounded
    return bounded
  }

  /// Handles the alarm: resumes the watchers that are due, and all that depend on the time if the clock or the time
  /// zone was changed.
  mutating func ring(_ clock: ClockSetting, wall: Moment) {
    alarm = nil
    let isSame = self.clock?.isSame(as: clock) ?? false
    self.clock = clock
    if !isSame { shared.clockWasSet() }
    for (id, moment) in due where !isSame || moment <= wall { release(id, .time) }
    if due.isEmpty { self.clock = nil }
  }

  /// Records that topics have changed, and resumes their watchers.
  mutating func changed(_ topics: some Sequence<Topic>) {
    revision += 1
    for topic in topics {
      newest[topic] = revision
      for id in byTopic[topic] ?? [] { release(id, .change) }
    }
  }

  /// Records the changes of a transaction.
  mutating func changed(by report: CommitReport) {
    if report.isRebuilt {
      changedEverything()
    } else if !report.kinds.isEmpty {
      changed(report.kinds.map(Topic.kind) + [.records])
      commits.add(report, revision)
    }
  }

  /// Records that everything may have changed, and resumes all watchers.
  package mutating func changedEverything() {
    revision += 1
    newestOfAll = revision
    // The numbers of the change sets may have changed.
    commits = RecentCommits()
    for id in waiting.keys { release(id, .change) }
  }

  /// Forgets the alarm, because its timer was cancelled. The next watcher sets another.
  mutating func forgetAlarm() { alarm = nil }

  /// Ends the wait of a cancelled watcher.
  package mutating func cancel(_ id: UInt64) { release(id, nil) }

  mutating func cancelAll() {
    for id in waiting.keys { release(id, nil) }
  }

  /// Adds a read's duration to the total, and returns the watcher's next pause.
  package mutating func spent(from start: Moment, until end: Moment, since last: Pause) -> Pause {
    spentMilliseconds += max(end - start, 0)
    let rest = min((spentMilliseconds - last.spentMilliseconds) * 4, Self.pauseMillisecondsMax)
    return Pause(until: end + rest, spentMilliseconds: spentMilliseconds)
  }

  private mutating func release(_ id: UInt64, _ wakeUp: WakeUp?) {
    guard let waiter = waiting.removeValue(forKey: id) else { return }
    due[id] = nil
    for topic in waiter.topics { byTopic[topic]?.remove(id) }
    waiter.continuation.resume(returning: wakeUp)
  }

  private static let pauseMillisecondsMax: Moment = 1_000
  private static let alarmMillisecondsMax: Moment = 60_000
}

/// The machine's clock offset and time zone, used to detect that either was changed.
struct ClockSetting: Hashable, Sendable {
  /// The wall clock minus the steady clock. It also jumps when the machine sleeps, because the steady clock stops then.
  let offset: Moment
  let zone: String

  /// Whether the clock and the zone are unchanged. A clock difference of up to a second is tolerated, because a time
  /// service that slews the clock moves it far less.
  func isSame(as other: ClockSetting) -> Bool {
    zone == other.zone && abs(offset - other.offset) < 1_000
  }
}

extension EventLoop {
  /// Sets the alarm for the watchers whose values depend on the time.
  package func setWatchAlarm() {
    guard let wait = watching.setAlarm(clockSetting, wall: wall, steady: steady) else { return }
    schedule(.watch, after: wait) { $0.loop.ringWatchAlarm() }
  }

  private func ringWatchAlarm() {
    timers.forget(.watch)
    watching.ring(clockSetting, wall: wall)
    setWatchAlarm()
  }

  private var clockSetting: ClockSetting {
    ClockSetting(offset: wall &- steady, zone: Zone.current.name)
  }
}
