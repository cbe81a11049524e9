import Dispatch
import Replication

/// Timers by name on the node's queue: a newer one of the same name replaces the older.
struct Timers {
  enum Name: Hashable {
    case replica(ReplicaTimer)
    case dial
    case checkpoint
    case disk
  }

  fileprivate let queue: DispatchQueue
  private var pending: [Name: DispatchWorkItem] = [:]

  init(queue: DispatchQueue) { self.queue = queue }

  /// Calls back at the moment, or after a minute if that is earlier: the callee looks at the clock again.
  mutating func schedule(
    _ name: Name, at moment: Moment, now: Moment, _ body: @escaping @Sendable () -> Void
  ) {
    pending[name]?.cancel()
    let item = DispatchWorkItem(block: body)
    pending[name] = item
    let wait = min(max(moment - now, 0), 60_000)
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(wait)), execute: item)
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
