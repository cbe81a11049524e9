// Sources/store.md, "Reading next to writes"

import Engine
import Home
package import Model
package import Reasons
package import Replication
package import Storage
import Transport

/// The queue on which a node reads records next to its own queue, so that reads do not wait for writes.
///
/// It reads over a connection of its own, which is opened by the first read after `open()`, and is closed by `close()`.
/// The node opens it when it begins to answer calls, and closes it when it stops, or when its disk has failed.
package actor ReadQueue {
  private nonisolated let executor: QueueExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let path: String
  private var reader: RecordReader?
  private var isOpen = true

  /// - Parameters:
  ///   - path: the file of the node's store.
  ///   - executor: the executor of this queue, which is not that of the node.
  init(path: String, on executor: QueueExecutor) {
    self.path = path
    self.executor = executor
  }

  /// Reads the state after the newest commit.
  ///
  /// - Returns: nil if the read has to run on the node's queue: because this queue is closed, because parked sets or held
  ///   erases are due, which that queue applies first, or because the store can't be read, which that queue reports.
  /// - Throws: `WaymarkError` for a query that can't be run.
  package func read<Value: Sendable>(
    _ now: Moment, _ body: @Sendable (any RecordSource, inout EvaluationTime) throws -> Value
  ) throws(WaymarkError) -> Value? {
    guard isOpen else { return nil }
    do {
      let reader = try self.reader ?? RecordReader(path: path)
      self.reader = reader
      return try reader.snapshot { source in
        guard try !Self.isAnythingDue(source, now) else { return nil }
        var time = EvaluationTime(now: now)
        return try body(source, &time)
      }
    } catch let error as WaymarkError {
      throw error
    } catch {
      reader = nil
      return nil
    }
  }

  private static func isAnythingDue(_ source: RecordReader, _ now: Moment) throws -> Bool {
    if let parked = try source.nextParkedClock, parked <= Replicator.horizon(now) { return true }
    return try source.nextHeldErase.map { $0 <= now } ?? false
  }

  /// Lets reads run again after `close()`.
  package nonisolated func open() { onQueue { $0.isOpen = true } }

  /// Closes the connection once the read that is under way has ended. When this returns, no file is open.
  package nonisolated func close() {
    onQueue {
      $0.isOpen = false
      $0.reader = nil
    }
  }

  private nonisolated func onQueue(_ body: (isolated ReadQueue) -> Void) {
    executor.sync { assumeIsolated(body) }
  }
}
