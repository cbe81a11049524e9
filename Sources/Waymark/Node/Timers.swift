import Dispatch
import Replication

/// Timers by name on the node's queue: a newer one of the same name replaces the older.
struct Timers {
  enum Name: Hashable {
    case replica(ReplicaTimer)
    case dial
    case checkpoint
    case disk
    case interfaces
    case beacons
  }

  private let queue: DispatchQueue
  private let clock: any NodeClock
  private var pending: [Name: any NodeTimer] = [:]

  init(queue: DispatchQueue, clock: any NodeClock) {
    self.queue = queue
    self.clock = clock
  }

  /// Calls back after so many milliseconds, whatever is done to the wall clock.
  mutating func schedule(_ name: Name, after milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    pending[name]?.cancel()
    pending[name] = clock.after(milliseconds: milliseconds, on: queue, body)
  }

  mutating func cancelAll() {
    for item in pending.values { item.cancel() }
    pending = [:]
  }
}

extension Timers {
  /// Calls back once; nothing replaces it.
  func after(milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    _ = clock.after(milliseconds: milliseconds, on: queue, body)
  }
}
