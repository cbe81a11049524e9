import Dispatch

/// Runs long work on a thread of its own, away from the node and from the threads that all tasks share.
///
/// It stays part of the task: work that looks at `Task.isCancelled` ends with its command.
package func offNode<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withTaskExecutorPreference(BlockingExecutor.shared) { try await concurrently(body) }
}

@concurrent
private func concurrently<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws -> Result {
  try Task.checkCancellation()
  let result = try body()
  try Task.checkCancellation()
  return result
}

/// Threads that may block.
private final class BlockingExecutor: TaskExecutor {
  static let shared = BlockingExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
