package import Dispatch
import Synchronization

/// Runs an actor on a dispatch queue of its own, so that its sources need no hop and nothing blocks the shared
/// pool. (`DispatchSerialQueue`, which would be this, does not exist on Linux.)
///
/// Waking another thread costs more than most pieces of work do: `now` does one on the caller's thread where the
/// queue is idle. For that the executor counts what is under way.
package final class QueueExecutor: SerialExecutor {
  package let queue: DispatchQueue
  /// Pieces of work that run or wait.
  private let begun = Atomic(0)

  /// - Parameter isShared: whether it runs on the threads that all shared ones have together, one a core, instead
  ///   of one of its own. For many queues at a time, of which none blocks.
  package init(label: String, isShared: Bool = false) {
    queue = DispatchQueue(label: label, target: isShared ? .global() : nil)
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

  // MARK: Work

  /// Runs a piece of work behind all that waits.
  package func async(_ body: @escaping @Sendable () -> Void) {
    begun.add(1, ordering: .relaxed)
    queue.async {
      body()
      self.begun.subtract(1, ordering: .releasing)
    }
  }

  /// Whether the queue takes up a piece of work within so many milliseconds.
  package func answers(within milliseconds: Int) -> Bool {
    let answered = DispatchSemaphore(value: 0)
    async { answered.signal() }
    return answered.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
  }

  /// Runs a piece of work at once, on this thread; false, and nothing is done, if some is under way or waits.
  ///
  /// Never waits for another executor that waits for this one: it is only begun where nothing had begun.
  package func now(_ body: () -> Void) -> Bool {
    guard begun.compareExchange(expected: 0, desired: 1, ordering: .acquiringAndReleasing).exchanged else {
      return false
    }
    queue.sync(execute: body)
    begun.subtract(1, ordering: .releasing)
    return true
  }

  /// A piece of work that something else puts on the queue, as a timer does. What runs there uncounted would wait for
  /// itself in `now`.
  package func counted(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    {
      self.begun.add(1, ordering: .acquiring)
      body()
      self.begun.subtract(1, ordering: .releasing)
    }
  }

  /// Runs a piece of work so many milliseconds from now.
  package func after(milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(clamping: milliseconds)), execute: counted(body))
  }
}

/// Milliseconds of a clock that never goes back.
package func monotonicMilliseconds() -> Int64 {
  Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000)
}
