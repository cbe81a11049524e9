import Engine
import Foundation
import Replication
import Storage
import Transport

extension Node {
  /// Reads a live query once.
  ///
  /// - Throws: ``WaymarkError`` if the store can't be read.
  public func read<Value>(_ query: LiveQuery<Value>) throws -> Value {
    try withWaymarkErrors {
      var time = EvaluationTime(now: wall())
      return try query.read(self, &time)
    }
  }

  /// Watches a live query: delivers its value now and again after each change, local or remote.
  ///
  /// ```swift
  /// for await timeline in node.watch(.timeline(of: trip.id)) { show(timeline) }
  /// ```
  public nonisolated func watch<Value>(_ query: LiveQuery<Value>) -> Watch<Value> {
    Watch(node: self, query: query)
  }

  /// Waits until the query's value differs from the last observation, and returns the new observation; nil if the task
  /// is cancelled or the node closes.
  func next<Value: Equatable>(_ query: LiveQuery<Value>, after seen: Observation<Value>?) async
    -> Observation<Value>?
  {
    let value = seen?.value
    var (revision, due, pause) = (seen?.revision, seen?.due, seen?.pause ?? loop.watching.noPause)
    while replicator.isOpen, !Task.isCancelled {
      if let revision { guard await changed(query.topics, since: revision, or: due) else { return nil } }
      guard await rest(pause), replicator.isOpen else { return nil }
      revision = loop.watching.revision
      let start = loop.steady
      var time = EvaluationTime(now: wall())
      let found = evaluate(query, &time)
      due = time.due
      pause = loop.watching.spent(from: start, until: loop.steady, since: pause)
      // A failed read is retried after the next change; `whenStoreBreaks(_:)` reports a broken store.
      guard let found, found != value else { continue }
      return Observation(value: found, revision: loop.watching.revision, due: due, pause: pause)
    }
    return nil
  }

  private func evaluate<Value>(_ query: LiveQuery<Value>, _ time: inout EvaluationTime) -> Value? {
    do {
      return try query.read(self, &time)
    } catch {
      logger.error("watch", "can't read \(query.name) for a watcher: \(error)")
      return nil
    }
  }

  /// Waits until anything that live queries show has changed since a revision, and returns the new revision; nil if the
  /// task is cancelled or the node closes.
  ///
  /// - Parameter revision: the result of the previous call; nil to get the present revision at once.
  package func nextChange(since revision: UInt64?) async -> UInt64? {
    guard let revision else { return replicator.isOpen ? loop.watching.revision : nil }
    guard await changed(Topic.all, since: revision, or: nil), replicator.isOpen else { return nil }
    return loop.watching.revision
  }

  /// The number of watchers that are waiting for a change.
  public var watchers: Int { loop.watching.count }

  /// Waits until one of the topics has changed since a revision, or until a moment has come. Returns false if the task
  /// is cancelled or the node closes.
  func changed(_ topics: Set<Topic>, since revision: UInt64, or due: Moment?) async -> Bool {
    if loop.watching.haveChanged(topics, since: revision) { return true }
    if let due, due <= wall() { return true }
    let id = loop.watching.makeID()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard replicator.isOpen, !Task.isCancelled else { return continuation.resume(returning: false) }
        loop.watching.add(id, topics, due: due, continuation)
        if due != nil { loop.setWatchAlarm() }
      }
    } onCancel: { [onQueue = loop.onQueue] in
      onQueue { $0.loop.watching.cancel(id) }
    }
  }

  /// Waits out a watcher's pause, so that the node can do other work. Returns false if the task was cancelled.
  func rest(_ pause: WatchRegistry.Pause) async -> Bool {
    let rest = pause.until - loop.steady
    guard rest > 0 else { return true }
    await withCheckedContinuation { continuation in
      loop.timers.after(milliseconds: rest) { continuation.resume() }
    }
    return !Task.isCancelled
  }
}

extension EventLoop {
  fileprivate func setWatchAlarm() {
    guard let wait = watching.setAlarm(clockSetting, wall: wall, steady: steady) else { return }
    schedule(.watch, after: wait) { $0.loop.ringWatchAlarm() }
  }

  private func ringWatchAlarm() {
    timers.forget(.watch)
    watching.ring(clockSetting, wall: wall)
    setWatchAlarm()
  }

  private var clockSetting: ClockSetting {
    ClockSetting(offset: wall &- steady, zone: TimeZone.current.identifier)
  }
}
