import Engine
import Replication
import Storage
import Transport

/// Waits for changes on behalf of watchers.
struct ChangeWaiter {
  private let core: NodeCore

  init(_ core: NodeCore) { self.core = core }

  /// Waits until the query's value differs from the last observation, and returns the new observation; nil if the task
  /// is cancelled or the node closes.
  func next<Value: Equatable>(_ query: LiveQuery<Value>, after seen: Observation<Value>?) async
    -> Observation<Value>?
  {
    let value = seen?.value
    var (revision, due, pause) = (seen?.revision, seen?.due, seen?.pause ?? core.loop.watching.noPause)
    while !core.isClosed, !Task.isCancelled {
      if let revision { guard await changed(query.topics, since: revision, or: due) else { return nil } }
      guard await rest(pause), await resumed() else { return nil }
      revision = core.loop.watching.revision
      let start = core.loop.steady
      var time = EvaluationTime(now: core.wall())
      let found = evaluate(query, &time)
      due = time.due
      pause = core.loop.watching.spent(from: start, until: core.loop.steady, since: pause)
      // A failed read is retried after the next change; `whenStoreBreaks(_:)` reports a broken store.
      guard let found, found != value else { continue }
      return Observation(value: found, revision: core.loop.watching.revision, due: due, pause: pause)
    }
    return nil
  }

  private func evaluate<Value>(_ query: LiveQuery<Value>, _ time: inout EvaluationTime) -> Value? {
    do {
      return try query.read(core, &time)
    } catch {
      core.logger.error("watch", "can't read \(query.name) for a watcher: \(error)")
      return nil
    }
  }

  /// Waits until anything that live queries show has changed since a revision, and returns the new revision; nil if the
  /// task is cancelled or the node closes.
  ///
  /// - Parameter revision: the result of the previous call; nil to get the present revision at once.
  func nextChange(since revision: UInt64?) async -> UInt64? {
    if let revision { guard await changed(Topic.all, since: revision, or: nil) else { return nil } }
    return await resumed() ? core.loop.watching.revision : nil
  }

  /// Waits while the node is suspended. Returns false if the task is cancelled or the node closes.
  private func resumed() async -> Bool {
    while core.isSuspended {
      guard await changed(Topic.all, since: core.loop.watching.revision, or: nil) else { return false }
    }
    return !core.isClosed
  }

  /// Waits until one of the topics has changed since a revision, or until a moment has come. Returns false if the task
  /// is cancelled or the node closes.
  private func changed(
    _ topics: Set<Topic>, since revision: UInt64, or due: Moment?,
    isolation: isolated (any Actor)? = #isolation
  ) async -> Bool {
    if core.loop.watching.haveChanged(topics, since: revision) { return true }
    if let due, due <= core.wall() { return true }
    let id = core.loop.watching.makeID()
    return await withTaskCancellationHandler {
      // The closure captures the actor to stay on the node's queue; see `NodeCore.wait`.
      _ = isolation
      return await withCheckedContinuation { continuation in
        core.loop.checkOnQueue()
        guard !core.isClosed, !Task.isCancelled else { return continuation.resume(returning: false) }
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
