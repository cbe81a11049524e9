import Dispatch
import Replication
import Transport

/// Timers by name on the node's queue: a newer one of the same name replaces the older.
struct Timers {
  enum Name: Hashable {
    case replica(ReplicaTimer)
    case dial
    case rest
    case disk
    case interfaces
    case beacons
    case watch
    case storeCheck
  }

  private let executor: QueueExecutor
  private let clock: any NodeClock
  private var pending: [Name: any NodeTimer] = [:]

  init(executor: QueueExecutor, clock: any NodeClock) {
    self.executor = executor
    self.clock = clock
  }

  /// Calls back after so many milliseconds, whatever is done to the wall clock.
  mutating func schedule(_ name: Name, after milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    pending[name]?.cancel()
    pending[name] = clock.after(milliseconds: milliseconds, on: executor.queue, executor.counted(body))
  }

  /// A timer has rung. Names go with links, of which there are ever more.
  mutating func forget(_ name: Name) { pending[name] = nil }

  mutating func cancelAll() {
    for item in pending.values { item.cancel() }
    pending = [:]
  }
}

extension Timers {
  /// Calls back once; nothing replaces it.
  func after(milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    _ = clock.after(milliseconds: milliseconds, on: executor.queue, executor.counted(body))
  }
}
