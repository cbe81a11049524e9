import Dispatch

/// Timers by name on one queue: scheduling a name again replaces its earlier timer.
package struct Timers<Name: Hashable> {
  private let executor: QueueExecutor
  private let clock: any NodeClock
  private var pending: [Name: any NodeTimer] = [:]

  package init(executor: QueueExecutor, clock: any NodeClock) {
    self.executor = executor
    self.clock = clock
  }

  /// Calls back after `milliseconds`, regardless of changes to the wall clock.
  package mutating func schedule(
    _ name: Name, after milliseconds: Int64, _ body: @escaping @Sendable () -> Void
  ) {
    pending[name]?.cancel()
    pending[name] = clock.after(milliseconds: milliseconds, on: executor.queue, executor.counted(body))
  }

  /// Forgets a timer that has fired. Needed where names belong to links, or `pending` would grow with every link.
  package mutating func forget(_ name: Name) { pending[name] = nil }

  package mutating func cancelAll() {
    for item in pending.values { item.cancel() }
    pending = [:]
  }

  /// Calls back once; can't be replaced or cancelled.
  package func after(milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    _ = clock.after(milliseconds: milliseconds, on: executor.queue, executor.counted(body))
  }
}
