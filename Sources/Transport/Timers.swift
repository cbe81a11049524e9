/// Named timers on one queue. Scheduling a timer replaces the earlier timer with the same name.
package struct Timers<Name: Hashable> {
  private let executor: QueueExecutor
  private let clock: any NodeClock
  private var pending: [Name: any NodeTimer] = [:]

  package init(executor: QueueExecutor, clock: any NodeClock) {
    self.executor = executor
    self.clock = clock
  }

  /// Schedules a call of `body` after `milliseconds`, regardless of changes to the wall clock.
  package mutating func schedule(
    _ name: Name, after milliseconds: Int64, _ body: @escaping @Sendable () -> Void
  ) {
    pending[name]?.cancel()
    pending[name] = clock.after(milliseconds: milliseconds, on: executor, body)
  }

  /// Forgets a timer that has fired. If names belong to links, `pending` would otherwise grow with every link.
  package mutating func forget(_ name: Name) { pending[name] = nil }

  package mutating func cancelAll() {
    for item in pending.values { item.cancel() }
    pending = [:]
  }

  /// Schedules one call of `body` after `milliseconds`, which can't be replaced or cancelled.
  package func after(milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    _ = clock.after(milliseconds: milliseconds, on: executor, body)
  }
}
