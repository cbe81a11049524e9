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

  fileprivate let queue: DispatchQueue
  private var pending: [Name: DispatchWorkItem] = [:]

  init(queue: DispatchQueue) { self.queue = queue }

  /// Calls back after so many milliseconds, whatever is done to the wall clock.
  mutating func schedule(_ name: Name, after milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    pending[name]?.cancel()
    let item = DispatchWorkItem(block: body)
    pending[name] = item
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(max(milliseconds, 0))), execute: item)
  }

  mutating func cancelAll() {
    for item in pending.values { item.cancel() }
    pending = [:]
  }
}

extension Timers {
  /// Calls back once; nothing replaces it.
  func after(milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(milliseconds)), execute: body)
  }
}
