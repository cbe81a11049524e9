import Foundation
import Synchronization
import Testing

@testable import Transport

/// Work on a queue: behind everything that waits, or at once on the caller's thread.
@Suite struct QueueExecutorTests {
  /// Waits for a signal, at most twenty seconds.
  private func wait(_ semaphore: DispatchSemaphore, for what: String) {
    #expect(semaphore.wait(timeout: .now() + 20) == .success, "waited 20 seconds for \(what)")
  }

  @Test func `an idle executor runs work at once, on the caller's thread`() {
    let executor = QueueExecutor(label: "test")
    let caller = Thread.current
    var worker: Thread?
    #expect(executor.now { worker = Thread.current })
    #expect(worker === caller)
    #expect(executor.now {}, "it is idle again")
  }

  @Test(arguments: [false, true]) func `a busy executor is not waited for`(isTimer: Bool) {
    let executor = QueueExecutor(label: "test")
    let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let work: @Sendable () -> Void = {
      begun.signal()
      goOn.wait()
    }
    if isTimer { executor.after(milliseconds: 1, work) } else { executor.async(work) }
    wait(begun, for: "the work to begin")
    #expect(!executor.now {})
    goOn.signal()
    let done = DispatchSemaphore(value: 0)
    executor.async { done.signal() }
    wait(done, for: "the work behind it")
  }

  @Test func `work that submits to its own executor is queued behind itself`() {
    let executor = QueueExecutor(label: "test")
    let wasRefused = Mutex(false)
    let done = DispatchSemaphore(value: 0)
    executor.queue.async(
      execute: executor.counted {
        let isRefused = !executor.now {}
        wasRefused.withLock { $0 = isRefused }
        done.signal()
      })
    wait(done, for: "the work to end")
    #expect(wasRefused.withLock { $0 })
  }

  @Test func `executors that submit to each other from many threads never deadlock`() {
    let executors = (0..<3).map { QueueExecutor(label: "test \($0)", isShared: $0 > 0) }
    let rounds = 20_000
    let done = DispatchSemaphore(value: 0)
    let left = Mutex(rounds * executors.count)
    for (index, executor) in executors.enumerated() {
      let next = executors[(index + 1) % executors.count]
      DispatchQueue.global().async {
        for _ in 0..<rounds {
          let count: @Sendable () -> Void = {
            left.withLock { left in
              left -= 1
              if left == 0 { done.signal() }
            }
          }
          let work: @Sendable () -> Void = { if !next.now(count) { next.async(count) } }
          if !executor.now(work) { executor.async(work) }
        }
      }
    }
    wait(done, for: "sixty thousand work items")
  }
}
