/// Runs the work of nodes in place of Dispatch, so that a simulation decides in which order it runs. Products have none.
package protocol WorkScheduler: Sendable {
  /// Creates a queue that runs blocks one at a time, in the order in which they were added.
  func makeQueue() -> any WorkQueue
}

/// A serial queue of a simulation. All queues of a simulation run on one thread, so only that thread may use it.
package protocol WorkQueue: AnyObject, Sendable {
  /// Whether a block of this queue is running, and the caller is part of it.
  var isRunning: Bool { get }

  /// Adds a block.
  func async(_ body: @escaping @Sendable () -> Void)

  /// Runs everything that is queued and then a block, before returning.
  func sync(_ body: () -> Void)

  /// Runs a block at once. Returns false and does nothing if the queue is not idle, or if the simulation wants it so.
  func now(_ body: () -> Void) -> Bool
}
