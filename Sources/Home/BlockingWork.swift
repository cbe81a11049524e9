import Dispatch

/// Runs long, blocking work off the node and off the threads that tasks share.
///
/// The work remains part of the task that awaits it, so it can check `Task.isCancelled` and stop if that task is
/// cancelled.
package func offNode<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withTaskExecutorPreference(BlockingWork.executor ?? BlockingExecutor.shared) {
    try await concurrently(body)
  }
}

/// Where `offNode` runs its work.
package enum BlockingWork {
  /// The executor of a simulation, which tasks inherit; nil for threads that may block.
  @TaskLocal package static var executor: (any TaskExecutor)?
}

@concurrent
private func concurrently<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws -> Result {
  try Task.checkCancellation()
  let result = try body()
  try Task.checkCancellation()
  return result
}

/// An executor on threads that may block.
private final class BlockingExecutor: TaskExecutor {
  static let shared = BlockingExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
