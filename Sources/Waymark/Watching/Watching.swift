import Dispatch
import Replication
import Storage
import Transport

/// What has changed since when, and who waits to hear of it.
///
/// Those who wait stand under what they wait for: a change costs what it concerns, however many there are.
struct Watching {
  /// Counts the changes.
  private(set) var revision: UInt64 = 1
  private var newest: [Topic: UInt64] = [:]
  private var waiting: [UInt64: Waiter] = [:]
  private var byTopic: [Topic: Set<UInt64>] = [:]
  private var nextID: UInt64 = 0
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

  mutating func add(_ id: UInt64, _ topics: Set<Topic>, _ continuation: CheckedContinuation<Bool, Never>) {
    waiting[id] = Waiter(topics: topics, continuation: continuation)
    for topic in topics { byTopic[topic, default: []].insert(id) }
  }

  mutating func changed(_ topics: some Sequence<Topic>) {
    revision += 1
    for topic in topics {
      newest[topic] = revision
      for id in byTopic[topic] ?? [] { release(id, true) }
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
    for topic in waiter.topics { byTopic[topic]?.remove(id) }
    waiter.continuation.resume(returning: isChanged)
  }

  private static let restMillisecondsMax: Moment = 1_000
}

extension Node {
  /// How many watchers wait for a change.
  public var watchers: Int { watching.count }

  /// Waits until one of the topics has changed since a revision; false if nobody wants to know any more.
  func changed(_ topics: Set<Topic>, since revision: UInt64) async -> Bool {
    if watching.haveChanged(topics, since: revision) { return true }
    let id = watching.makeID()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard replicator.isOpen, !Task.isCancelled else { return continuation.resume(returning: false) }
        watching.add(id, topics, continuation)
      }
    } onCancel: {
      executor.async { [weak self] in self?.assumeIsolated { $0.watching.cancel(id) } }
    }
  }

  /// Waits for the time that the node keeps for other work; false if the task is cancelled meanwhile.
  func rest(_ pause: Watching.Pause) async -> Bool {
    let rest = pause.until - steady
    guard rest > 0 else { return true }
    await withCheckedContinuation { continuation in
      timers.after(milliseconds: rest) { continuation.resume() }
    }
    return !Task.isCancelled
  }

  /// A transaction has changed records: whoever watches them reads again.
  func tellWatchers(_ report: CommitReport) {
    if report.isLaidOutAnew {
      watching.changed(Topic.all)
    } else if !report.kinds.isEmpty {
      watching.changed(report.kinds.map(Topic.kind))
    }
  }
}
