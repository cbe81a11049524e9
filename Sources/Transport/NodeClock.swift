package import Dispatch

/// The time of a node: what its wall clock says, the clock by which things wait, and who calls back later. Given
/// when the node is opened, and asked for nowhere else.
package protocol NodeClock: Sendable {
  /// Milliseconds since 1970.
  func wall() -> Int64
  /// Milliseconds of a clock that never goes back and that nobody sets.
  func steady() -> Int64
  /// Calls back once on the queue, so many milliseconds of the steady clock from now.
  func after(
    milliseconds: Int64, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer
}

/// What is to happen later.
package protocol NodeTimer: AnyObject {
  /// It does not happen any more, unless it is under way.
  func cancel()
}

extension DispatchWorkItem: NodeTimer {}
