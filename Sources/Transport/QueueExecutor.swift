package import Dispatch

/// Runs an actor on a dispatch queue of its own, so that its sources need no hop and nothing blocks the shared
/// pool. (`DispatchSerialQueue`, which would be this, does not exist on Linux.)
package final class QueueExecutor: SerialExecutor {
  package let queue: DispatchQueue

  /// - Parameter isShared: whether it runs on the threads that all shared ones have together, one a core, instead
  ///   of one of its own. For many queues at a time, of which none blocks.
  package init(label: String, isShared: Bool = false) {
    queue = DispatchQueue(label: label, target: isShared ? .global() : nil)
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

/// Milliseconds of a clock that never goes back.
package func monotonicMilliseconds() -> Int64 {
  Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000)
}
