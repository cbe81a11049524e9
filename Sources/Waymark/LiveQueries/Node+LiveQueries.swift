import Engine
import Platform
import Model
import Replication
import Storage
import Transport

extension Node {
  /// Reads a live query once.
  ///
  /// A query that needs only records does not wait for writes: while a save is under way, it returns the records before
  /// the save. A read that begins after a save has returned sees that save. A node in memory does its work one by one.
  ///
  /// - Throws: ``WaymarkError`` if the store can't be read.
  public nonisolated func read<Value>(_ query: LiveQuery<Value>) async throws -> Value {
    if let readQueue, let body = query.readRecords, let found = try await readQueue.read(wall(), body) {
      return found
    }
    return try await readOnQueue(query)
  }

  /// Reads a live query once on the node's queue, for callers that read several values of one state.
  package func readOnQueue<Value>(_ query: LiveQuery<Value>) throws -> Value {
    try core.withWaymarkErrors {
      var time = EvaluationTime(now: core.wall())
      return try query.read(core, &time)
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

  /// Waits until the query's value differs from the last observation; see ``Watch``.
  func next<Value: Equatable>(
    _ query: LiveQuery<Value>, after seen: Observation<Value>?, _ explanation: Explanation
  ) async -> Observation<Value>? {
    await ChangeWaiter(core).next(query, after: seen, explanation)
  }

  /// Waits until anything that live queries show has changed since a revision; see `ChangeWaiter.nextChange(since:)`.
  package func nextChange(since revision: UInt64?) async -> UInt64? {
    await ChangeWaiter(core).nextChange(since: revision)
  }

  /// What the watchers of this node did since it was opened, and how many of them wait for a change at the moment.
  public var watchCounts: WatchCounts { core.loop.watching.counts }
}
