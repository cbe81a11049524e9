// A whole circle on one thread, in an order that a seed decides
//
// In a product, a node has a dispatch queue for itself, one for reads and one for files, each link has another, and tasks
// that belong to no actor run on threads of Swift's pool. Which of them runs first is decided by the machine. Here, all of
// them put their work into one scheduler, which runs it piece by piece on one thread:
//
//     alice's node   [ ] [ ]          ┐
//     alice's reads  [ ]              │   the seed picks a lane,
//     bob's node                      ├── and its first piece of work runs   ──▶  trace
//     the link       [ ] [ ] [ ]      │   to its end
//     tasks          [ ] [ ] [ ]      ┘   (tasks have no order among each other)
//
// The work in a lane runs in order, as on a serial queue. Between lanes everything is possible: sometimes each lane has the
// same chance, sometimes the oldest work runs first, and sometimes one lane waits until all others have nothing to do, which
// is where most mistakes of order show.
//
// When nothing is left to run, the calls of `idle()` return, one after the other. A `VirtualClock` with this scheduler
// waits in that way before it advances. If no call waits in it, something waits for a timer, and `whenStuck` fires the
// next one. A run in which no timer helps ends with an error, because it would never end otherwise. So one seed decides
// everything, provided that nothing else depends on chance: no dictionary is iterated whose order differs from run to
// run (SWIFT_DETERMINISTIC_HASHING), random bytes come from `SeededRandomness`, and the bodies use no clock of the
// machine. The trace is a hash of what ran in which order; two runs of a seed are equal if their traces are.
//
// Pieces of work are numbered. `interrupt(after:)` calls a closure before one of them, which may cut connections or take an
// image of a disk, as if the machine had stopped there.

import Home
import Platform
import Synchronization
package import Transport
import Wire

/// Runs all work of a circle on one thread, in an order that a seed decides.
///
/// Unchecked, because only its thread uses it, which `check()` verifies.
package final class SimulatedScheduler: TaskExecutor, WorkScheduler, @unchecked Sendable {
  /// What a run did.
  package struct Trace: Hashable, Sendable, CustomStringConvertible {
    /// The number of pieces of work.
    package fileprivate(set) var steps: UInt64 = 0
    /// A hash of what ran in which order, and of everything that was noted.
    package fileprivate(set) var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    package var description: String { "\(steps) pieces of work, trace \(String(hash, radix: 16))" }

    fileprivate mutating func add(_ number: UInt64) {
      hash = (hash ^ number) &* 0x0000_0100_0000_01b3
      hash ^= hash >> 29
    }
  }

  private enum Order: CaseIterable {
    case uniform, oldestFirst, byPriority
  }

  /// The lanes that have work, in the order in which they got it.
  private var ready: [Lane] = []
  private var tasks: [UnownedJob] = []
  private var tasksPriority: UInt64 = 0
  private var random: SplitMix
  private var order = Order.uniform
  private var trace = Trace()
  private var lanes = 0
  private var idlers: [CheckedContinuation<Void, any Error>] = []
  private var lastIdle: UInt64 = 0
  private var interruption: (step: UInt64, body: () -> Void)?
  /// Fires the next timer; returns false if there is none.
  var whenStuck: (() -> Bool)?
  private var timersWhenStuck = 0
  private var isStuck = false
  private let thread = Mutex<UInt?>(nil)

  private init(seed: UInt64) { random = SplitMix(seed: seed) }

  /// Runs `body` and everything that it starts.
  ///
  /// - Returns: the result of `body`, and what was run until then.
  package static func run<Result: Sendable>(
    seed: UInt64, _ body: @escaping @Sendable (SimulatedScheduler) async throws -> Result
  ) async throws -> (result: Result, trace: Trace) {
    try await withCheckedThrowingContinuation { continuation in
      startThread {
        let scheduler = SimulatedScheduler(seed: seed)
        continuation.resume(with: scheduler.runLoop(body))
      }
    }
  }

  // MARK: The loop

  private func runLoop<Result: Sendable>(
    _ body: @escaping @Sendable (SimulatedScheduler) async throws -> Result
  ) -> Swift.Result<(result: Result, trace: Trace), any Error> {
    thread.withLock { $0 = Self.currentThread }
    defer { thread.withLock { $0 = nil } }
    let outcome = Mutex<Swift.Result<Result, any Error>?>(nil)
    Task(executorPreference: self) {
      do {
        let result = try await BlockingWork.$executor.withValue(self) { try await body(self) }
        outcome.withLock { $0 = .success(result) }
      } catch {
        outcome.withLock { $0 = .failure(error) }
      }
    }
    while outcome.withLock({ $0 == nil }) {
      runNext()
      if isStuck {
        return .failure(TestSetupError(description: "nothing is left to run, and something still waits"))
      }
    }
    return outcome.withLock { $0 }.map { $0.map { ($0, trace) } } ?? .failure(CancellationError())
  }

  private func runNext() {
    if let interruption, interruption.step <= trace.steps {
      self.interruption = nil
      interruption.body()
    }
    guard !ready.isEmpty || !tasks.isEmpty else { return wakeIdle() }
    guard trace.steps - lastIdle < Self.stepsMax || idlers.isEmpty else {
      lastIdle = trace.steps
      let error = TestSetupError(
        description: "not idle after \(Self.stepsMax) pieces of work: the nodes keep working")
      return idlers.removeFirst().resume(throwing: error)
    }
    trace.steps += 1
    if chance(256) { order = Order.allCases[number(below: Order.allCases.count)] }
    if let lane = pickLane() {
      trace.add(lane.number)
      lane.runFirst()
    } else {
      let index = order == .oldestFirst ? 0 : number(below: tasks.count)
      trace.add(UInt64(index) << 32)
      tasks.remove(at: index).runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  private static let stepsMax: UInt64 = 3_000_000
  private static let timersMax = 5_000

  /// Picks the lane to run; nil for a task.
  private func pickLane() -> Lane? {
    guard !ready.isEmpty else { return nil }
    switch order {
    case .uniform:
      let index = number(below: ready.count + (tasks.isEmpty ? 0 : 1))
      return index < ready.count ? ready[index] : nil
    case .oldestFirst:
      return !tasks.isEmpty && chance(2) ? nil : ready[0]
    case .byPriority:
      if chance(64) { ready[number(below: ready.count)].priority = random.next() }
      if chance(64) { tasksPriority = random.next() }
      let first = ready.max { ($0.priority, $0.number) < ($1.priority, $1.number) }
      return !tasks.isEmpty && tasksPriority > first?.priority ?? 0 ? nil : first
    }
  }

  private func wakeIdle() {
    lastIdle = trace.steps
    guard idlers.isEmpty else {
      timersWhenStuck = 0
      return idlers.removeFirst().resume()
    }
    timersWhenStuck += 1
    isStuck = timersWhenStuck > Self.timersMax || !(whenStuck?() ?? false)
  }

  /// Waits until nothing is left to run.
  ///
  /// - Throws: ``TestSetupError`` if that takes millions of pieces of work.
  func idle() async throws {
    check()
    try await withCheckedThrowingContinuation { idlers.append($0) }
  }

  // MARK: Chance

  /// Returns a number below `bound`.
  package func number(below bound: Int) -> Int {
    check()
    return Int(random.below(UInt64(bound)))
  }

  /// Whether one of `count` cases occurs.
  package func chance(_ count: Int) -> Bool { number(below: count) == 0 }

  /// Adds a number to the trace.
  package func note(_ number: UInt64) { trace.add(number) }

  /// Adds bytes to the trace.
  func note(_ bytes: [UInt8]) {
    trace.add(UInt64(bytes.count))
    for byte in bytes { trace.add(UInt64(byte)) }
  }

  /// Calls a closure before the piece of work that comes after so many others. It replaces an earlier one.
  package func interrupt(after steps: Int, _ body: @escaping () -> Void) {
    interruption = (trace.steps + UInt64(steps), body)
  }

  /// Forgets the closure of `interrupt`.
  package func forgetInterruption() { interruption = nil }

  // MARK: Work

  package func enqueue(_ job: consuming ExecutorJob) {
    guard check() else { return }
    tasks.append(UnownedJob(job))
  }

  package func makeQueue() -> any WorkQueue {
    lanes += 1
    return Lane(lanes, random.next(), self)
  }

  private static var currentThread: UInt { UInt(bitPattern: pthread_self().hashValue) }

  /// Checks that the caller runs on the scheduler's thread. Returns false once the simulation is over: what is released
  /// afterwards may still want to run something.
  @discardableResult
  private func check() -> Bool {
    guard let thread = thread.withLock(\.self) else { return false }
    precondition(thread == Self.currentThread, "work of a simulation came from another thread")
    return true
  }

  /// The queue of one executor.
  private final class Lane: WorkQueue, @unchecked Sendable {
    let number: UInt64
    var priority: UInt64
    private unowned let scheduler: SimulatedScheduler
    private var blocks: [@Sendable () -> Void] = []
    private var running = 0

    init(_ number: Int, _ priority: UInt64, _ scheduler: SimulatedScheduler) {
      (self.number, self.priority, self.scheduler) = (UInt64(number), priority, scheduler)
    }

    var isRunning: Bool { running > 0 }

    func async(_ body: @escaping @Sendable () -> Void) {
      guard scheduler.check() else { return }
      blocks.append(body)
      if blocks.count == 1 { scheduler.ready.append(self) }
    }

    func runFirst() {
      let body = blocks.removeFirst()
      scheduler.ready.removeAll { $0 === self }
      if !blocks.isEmpty { scheduler.ready.append(self) }
      run(body)
    }

    func sync(_ body: () -> Void) {
      precondition(!isRunning, "a queue waits for itself")
      while !blocks.isEmpty { runFirst() }
      run(body)
    }

    func now(_ body: () -> Void) -> Bool {
      guard scheduler.check(), blocks.isEmpty, !isRunning, scheduler.chance(2) else { return false }
      run(body)
      return true
    }

    private func run(_ body: () -> Void) {
      running += 1
      body()
      running -= 1
    }
  }
}
