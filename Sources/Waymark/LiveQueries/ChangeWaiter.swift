import ChangeHistory
import Engine
import Model
import NodeRuntime
import Replication
import Storage
import Transport

/// Waits for changes on behalf of watchers.
struct ChangeWaiter {
  private let core: NodeCore

  init(_ core: NodeCore) { self.core = core }

  /// Waits until the query's value differs from the last observation, and returns the new observation; nil if the task
  /// is cancelled, the node closes, or its store fails.
  func next<Value: Equatable>(
    _ query: LiveQuery<Value>, after seen: Observation<Value>?, _ explanation: Explanation
  ) async -> Observation<Value>? {
    core.loop.watching.shared.enter(
      query.identity,
      seen.map {
        SharedValues.Value($0.value, revision: $0.revision, due: $0.due, clockSettings: $0.clockSettings)
      })
    defer { core.loop.watching.shared.leave(query.identity) }
    var (revision, due, pause) = (seen?.revision, seen?.due, seen?.pause ?? core.loop.watching.noPause)
    var counts = seen?.counts ?? WatchCounts(watchers: 1)
    while canRead(query.name), !Task.isCancelled {
      let known = revision
      var wakeUp: WatchRegistry.WakeUp?
      if let known {
        wakeUp = await changed(query.topics, since: known, or: due)
        guard wakeUp != nil else { return nil }
        count(\.firings, &counts)
      }
      guard await rest(pause), await resumed(), canRead(query.name) else { return nil }
      let start = core.loop.steady
      revision = core.loop.watching.revision
      let found = current(query, &counts)
      due = found?.due
      pause = core.loop.watching.spent(from: start, until: core.loop.steady, since: pause)
      let isNew = found.map { $0.value != seen?.value } ?? false
      if isNew { count(\.deliveries, &counts) }
      let causes = explanation.isWanted ? self.causes(of: query.topics, since: known, wakeUp) : []
      explanation.print(causes, isNew ? "new value" : found == nil ? "failed read" : "equal value", counts)
      // A failed read is retried after the next change.
      guard let found, isNew else { continue }
      return Observation(
        value: found.value, revision: core.loop.watching.revision, due: due,
        clockSettings: core.loop.watching.shared.clockSettings, pause: pause, counts: counts, causes: causes)
    }
    return nil
  }

  private func count(_ event: WritableKeyPath<WatchCounts, Int>, _ counts: inout WatchCounts) {
    counts[keyPath: event] += 1
    core.loop.watching.tally[keyPath: event] += 1
  }

  // MARK: Reading

  /// Whether the node is open, and its store has not failed or the query shows just that.
  private func canRead(_ name: LiveQueryName) -> Bool {
    !core.isClosed && (core.maintenance.failure == nil || name == .storeHealth)
  }

  /// Returns the value of a query: the one that an equal watcher has read, unless something has changed since. Returns
  /// nil if it can't be read.
  private func current<Value>(_ query: LiveQuery<Value>, _ counts: inout WatchCounts) -> (
    value: Value, due: Moment?
  )? {
    if let known = core.loop.watching.shared[query.identity], let value = known.value as? Value,
      !core.loop.watching.haveChanged(query.topics, since: known.revision),
      known.due.map({ $0 > core.wall() }) ?? true
    {
      return (value, known.due)
    }
    count(\.reads, &counts)
    let revision = core.loop.watching.revision
    var time = EvaluationTime(now: core.wall())
    do {
      let value = try query.read(core, &time)
      core.loop.watching.shared.add(
        SharedValues.Value(
          value, revision: revision, due: time.due, clockSettings: core.loop.watching.shared.clockSettings),
        of: query.identity)
      return (value, time.due)
    } catch {
      core.logger.error("watch", "can't read \(query.name) for a watcher: \(error)")
      return nil
    }
  }

  // MARK: Explaining

  /// Returns what changed topics after a revision, in chronological order.
  ///
  /// - Parameter revision: nil if the watch has just begun.
  private func causes(
    of topics: Set<Topic>, since revision: UInt64?, _ wakeUp: WatchRegistry.WakeUp?
  ) -> [ChangeCause] {
    guard let revision else { return [.start] }
    let kinds = topics.contains(.records) ? nil : Set(topics.compactMap(\.kind))
    var causes: [ChangeCause] = wakeUp == .time ? [.time] : []
    var (operations, left): ([OperationChange], Int) = ([], Explanation.changeSetsMax)
    var isMore = false
    let history = core.historyReader
    for source in core.loop.watching.sources(of: topics, since: revision) {
      switch source {
      case .everything: causes.append(.rebuild)
      case .node: causes.append(.nodeState)
      case .formerCommits: isMore = true
      case .commit(let commit) where commit.count == 0:
        causes.append(.values(commit.records.map { RecordReference($0, in: core.store) }))
        isMore = isMore || (commit.recordCount ?? .max) > commit.records.count
      case .commit(let commit):
        let numbers = commit.numbers.prefix(left)
        left -= numbers.count
        if numbers.count < commit.count { isMore = true }
        operations = ((try? history.changes(bySets: Array(numbers), of: kinds)) ?? []) + operations
      }
    }
    return causes + (isMore ? [.more] : []) + operations.map(ChangeCause.operation)
  }

  // MARK: Waiting

  /// Waits until anything that live queries show has changed since a revision, and returns the new revision; nil if the
  /// task is cancelled or the node closes.
  ///
  /// - Parameter revision: the result of the previous call; nil to get the present revision at once.
  func nextChange(since revision: UInt64?) async -> UInt64? {
    if let revision { guard await changed(Topic.all, since: revision, or: nil) != nil else { return nil } }
    return await resumed() ? core.loop.watching.revision : nil
  }

  /// Waits while the node is suspended. Returns false if the task is cancelled or the node closes.
  private func resumed() async -> Bool {
    while core.isSuspended {
      guard await changed(Topic.all, since: core.loop.watching.revision, or: nil) != nil else { return false }
    }
    return !core.isClosed
  }

  /// Waits until one of the topics has changed since a revision, or until a moment has come. Returns nil if the task is
  /// cancelled or the node closes.
  private func changed(
    _ topics: Set<Topic>, since revision: UInt64, or due: Moment?,
    isolation: isolated (any Actor)? = #isolation
  ) async -> WatchRegistry.WakeUp? {
    if core.loop.watching.haveChanged(topics, since: revision) { return .change }
    if let due, due <= core.wall() { return .time }
    let id = core.loop.watching.makeID()
    return await withTaskCancellationHandler {
      // The closure captures the actor to stay on the node's queue; see `NodeCore.wait`.
      _ = isolation
      return await withCheckedContinuation { continuation in
        core.loop.checkOnQueue()
        guard !core.isClosed, !Task.isCancelled else { return continuation.resume(returning: nil) }
        core.loop.watching.add(id, topics, due: due, continuation)
        if due != nil, !core.isSuspended { core.loop.setWatchAlarm() }
      }
    } onCancel: { [onQueue = core.loop.onQueue] in
      onQueue { $0.loop.watching.cancel(id) }
    }
  }

  /// Waits out a watcher's pause, so that the node can do other work. Returns false if the task was cancelled.
  private func rest(_ pause: WatchRegistry.Pause) async -> Bool {
    let rest = pause.until - core.loop.steady
    guard rest > 0 else { return true }
    await withCheckedContinuation { continuation in
      core.loop.timers.after(milliseconds: rest) { continuation.resume() }
    }
    return !Task.isCancelled
  }
}

/// What a watcher tells about each firing.
struct Explanation: Sendable {
  /// Whether the watcher's values are delivered with their causes.
  var deliversCauses = false
  private(set) var label: String?
  private(set) var output: (@Sendable (String) -> Void)?

  var isWanted: Bool { deliversCauses || output != nil }

  /// The maximum number of change sets whose operations are listed for one firing.
  static let changeSetsMax = 64

  func printing(_ label: String, to output: @escaping @Sendable (String) -> Void) -> Explanation {
    var explanation = self
    (explanation.label, explanation.output) = (label, output)
    return explanation
  }

  func print(_ causes: [ChangeCause], _ result: String, _ counts: WatchCounts) {
    output?(
      "\(label ?? ""): \(result) after \(causes.map(\.description).joined(separator: "; "))"
        + " [fired \(counts.firings), read \(counts.reads), delivered \(counts.deliveries)]")
  }
}
