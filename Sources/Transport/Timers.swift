import Dispatch

/// Timers by name on one queue: a newer one of the same name replaces the older.
package struct Timers<Name: Hashable> {
  private let executor: QueueExecutor
  private let clock: any NodeClock
  private var pending: [Name: any NodeTimer] = [:]

  package init(executor: QueueExecutor, clock: any NodeClock) {
    self.executor = executor
    self.clock = clock
  }

  /// Calls back after so many milliseconds, whatever is done to the wall clock.
  package mutating func schedule(
    _ name: Name, after milliseconds: Int64, _ body: @escaping @Sendable () -> Void
  ) {
    pending[name]?.cancel()
    pending[name] = clock.after(milliseconds: milliseconds, on: executor.queue, executor.counted(body))
  }

  /// Drops a timer that has rung, where names go with links, of which there are ever more.
  package mutating func forget(_ name: Name) { pending[name] = nil }

  package mutating func cancelAll() {
    for item in pending.values { item.cancel() }
    pending = [:]
  }

  /// Calls back once; nothing replaces it.
  package func after(milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    _ = clock.after(milliseconds: milliseconds, on: executor.queue, executor.counted(body))
  }
}
