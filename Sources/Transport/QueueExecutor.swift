// An actor's executor on a dispatch queue, with a shortcut for work that is too small to change threads.
//
// A node, each link, each listener and the beacon sockets are actors that run on a serial queue of their own, not on
// Swift's shared pool. The poller, timers and callers on other threads put blocks on that queue and enter the actor
// with `assumeIsolated`; no task is created, and an actor that blocks on a disk delays no other.
//
//   await actor.f()   enqueue(job) ─> queue.async    Swift's own way in
//   async { … }       begun + 1    ─> queue.async    runs after everything queued before it
//   now { … }         begun 0 → 1  ─> queue.sync     runs on the caller's thread, only if the queue is idle
//   timers            counted { … }                  increment `begun` when they fire
//
// `now` exists because waking another thread costs more than most blocks do: a small message goes from the poller's
// `recv` through the link to the node on one thread.
//
// `queue.sync` deadlocks if two queues wait for each other, or one for itself. `begun`, the number of blocks that wait
// or run, prevents both: `now` changes it from 0 to 1 atomically and otherwise returns false, so no thread waits for a
// queue that had work when it asked.
//
//   thread 1 runs on A (begun 1)          thread 2 runs on B (begun 1)
//   B.now { … } = false, B.async { … }    A.now { … } = false, A.async { … }
//
// Therefore, every block on the queue must be counted. A timer that called `body` uncounted could call `now` of its own
// executor while `begun` is 0, and `queue.sync` on its own queue would never return.
//
// In `queue.sync`, Swift does not know that the thread has entered the actor. `assumeIsolated` therefore asks
// `checkIsolated`, and dispatch confirms that the thread runs on the queue.
//
// In a simulation, a queue of its `WorkScheduler` takes the place of the dispatch queue.

package import Dispatch
import Synchronization

/// Runs an actor on a serial dispatch queue. (`DispatchSerialQueue`, which conforms to `SerialExecutor` itself,
/// does not exist on Linux.)
package final class QueueExecutor: SerialExecutor {
  package let queue: DispatchQueue
  /// The number of blocks that are waiting or running.
  private let begun = Atomic(0)
  /// The queue of a simulation, which runs everything instead of `queue`; nil in products.
  private let simulated: (any WorkQueue)?

  /// - Parameters:
  ///   - isShared: whether the queue runs on the pool that all shared queues have in common, about one thread per
  ///     core, instead of a thread of its own. This is for large numbers of queues that never block.
  ///   - scheduler: the scheduler of a simulation; nil for dispatch.
  package init(label: String, isShared: Bool = false, on scheduler: (any WorkScheduler)? = nil) {
    queue = DispatchQueue(label: label, target: isShared ? .global() : nil)
    simulated = scheduler?.makeQueue()
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  package func checkIsolated() {
    guard let simulated else { return dispatchPrecondition(condition: .onQueue(queue)) }
    precondition(simulated.isRunning, "the caller does not run on this queue of the simulation")
  }

  // MARK: Blocks

  /// Runs a block after everything queued before it.
  package func async(_ body: @escaping @Sendable () -> Void) {
    if let simulated { return simulated.async(body) }
    begun.add(1, ordering: .relaxed)
    queue.async {
      body()
      self.begun.subtract(1, ordering: .releasing)
    }
  }

  /// Runs a block after everything queued before it, and waits until it has run. Must not be called on the queue.
  package func sync(_ body: () -> Void) {
    if let simulated { return simulated.sync(body) }
    queue.sync(execute: body)
  }

  /// Returns whether the queue starts a new block within this time, that is, whether the queue is not hanging.
  package func answers(within milliseconds: Int) -> Bool {
    let answered = DispatchSemaphore(value: 0)
    async { answered.signal() }
    return answered.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
  }

  /// Runs a block at once, on this thread. Returns false and does nothing if the queue is not idle.
  ///
  /// It can't deadlock, because it waits only for an executor on which nothing had begun. (See the top of this file.)
  package func now(_ body: () -> Void) -> Bool {
    if let simulated { return simulated.now(body) }
    guard begun.compareExchange(expected: 0, desired: 1, ordering: .acquiringAndReleasing).exchanged else {
      return false
    }
    queue.sync(execute: body)
    begun.subtract(1, ordering: .releasing)
    return true
  }

  /// Wraps a block that something else puts on the queue, such as a timer, so that the block is counted. An uncounted
  /// block that called `now` would wait for itself.
  package func counted(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    {
      self.begun.add(1, ordering: .acquiring)
      body()
      self.begun.subtract(1, ordering: .releasing)
    }
  }

  /// Runs a block after this many milliseconds of real time, which does not pass in a simulation.
  package func after(milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    if let simulated { return simulated.async(body) }
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(clamping: milliseconds)), execute: counted(body))
  }
}

/// Milliseconds of a monotonic clock.
package func monotonicMilliseconds() -> Int64 {
  Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000)
}
