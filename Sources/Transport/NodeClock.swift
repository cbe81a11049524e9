import Dispatch

/// The clocks and timers of a node, which are passed in when the node is opened. Links, listeners and beacon sockets
/// measure time with `monotonicMilliseconds()` instead.
package protocol NodeClock: Sendable {
  /// Milliseconds since 1970.
  func wall() -> Int64
  /// Milliseconds of a monotonic clock, which can't be set.
  func steady() -> Int64
  /// Calls `body` once on the executor, after `milliseconds` of the steady clock have passed.
  func after(
    milliseconds: Int64, on executor: QueueExecutor, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer
}

/// A scheduled callback.
package protocol NodeTimer: AnyObject {
  /// Cancels the callback, unless it is already running.
  func cancel()
}

extension DispatchWorkItem: NodeTimer {}
