package import Dispatch

/// The clocks and timers of a node. Passed in when the node is opened; nothing reads the time elsewhere.
package protocol NodeClock: Sendable {
  /// Milliseconds since 1970.
  func wall() -> Int64
  /// Milliseconds of a monotonic clock, which nobody can set.
  func steady() -> Int64
  /// Calls `body` once on the queue, after `milliseconds` of the steady clock.
  func after(
    milliseconds: Int64, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer
}

/// A callback that is scheduled.
package protocol NodeTimer: AnyObject {
  /// Cancels the callback, unless it is running already.
  func cancel()
}

extension DispatchWorkItem: NodeTimer {}
