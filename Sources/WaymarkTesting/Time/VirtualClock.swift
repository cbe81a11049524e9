import Dispatch
public import Platform
import Synchronization
package import Transport
import Waymark

/// A clock that advances only when a test tells it to.
///
/// A node that is opened with a virtual clock uses it for the wall-clock time and for all its timers. Advancing the
/// clock fires all timers that become due, in order. After each timer it waits until nothing is under way between the
/// nodes, so a month of virtual time takes only as long as the work done in it.
///
/// ```swift
/// let clock = VirtualClock()
/// let node = try Node.inMemory(name: "phone", clock: clock)
/// try await clock.advance(by: .seconds(3_600))
/// ```
///
/// A call that waits for a timeout, such as an unanswered request, returns only after the clock has advanced.
public final class VirtualClock: Sendable {
  /// 3 May 2026, 08:00 UTC.
  public static let morning = Date(milliseconds: TestNode.morning)

  private struct Due {
    let moment: Int64
    let number: UInt64
    let executor: QueueExecutor
    let body: @Sendable () -> Void

    func isBefore(_ other: Due) -> Bool { (moment, number) < (other.moment, other.number) }
  }

  private struct State {
    /// Milliseconds since the start.
    var passed: Int64 = 0
    var due: [UInt64: Due] = [:]
    var nextNumber: UInt64 = 0
    var executors: [ObjectIdentifier: QueueExecutor] = [:]
    var isMoving = false
  }

  private let start: Int64
  /// What runs the work of the nodes in a simulation; nil for dispatch.
  package let scheduler: SimulatedScheduler?
  private let state = Mutex(State())
  let underWay = UnderWay()

  /// Creates a clock that starts at this time, in whole milliseconds.
  public init(_ start: Date = VirtualClock.morning) {
    self.start = start.milliseconds
    scheduler = nil
  }

  /// Creates the clock of a simulation.
  package init(on scheduler: SimulatedScheduler) {
    start = Self.morning.milliseconds
    self.scheduler = scheduler
    scheduler.whenStuck = { [weak self] in self?.fireNext() ?? false }
  }

  /// The current time.
  public var now: Date { Date(milliseconds: wall()) }

  // MARK: Advancing

  /// Advances the clock and fires all timers that become due, each at its own time.
  ///
  /// Connected nodes ping each other several times a minute, so an hour with three nodes takes about a second of real
  /// time. To skip days, use ``sleep(until:)``, which does not run the timers in between and takes almost no time.
  ///
  /// - Parameter duration: zero or more; fractions of a millisecond are ignored.
  /// - Throws: ``TestSetupError`` if the nodes don't become idle within 30 seconds of real time after a timer, or if
  ///   another call is already advancing the clock.
  public func advance(by duration: Duration) async throws {
    try await move(to: passed + duration.wholeMilliseconds)
  }

  /// Advances the clock to a date, firing timers on the way; does nothing if the date has passed.
  ///
  /// - Throws: the same as ``advance(by:)``.
  public func advance(to date: Date) async throws {
    let moment = date.milliseconds - start
    if moment > passed { try await move(to: moment) }
  }

  /// Jumps ahead as if every machine were asleep: timers that become due meanwhile fire at the end of the jump.
  ///
  /// - Throws: the same as ``advance(by:)``.
  public func sleep(for duration: Duration) async throws {
    try await move(to: passed + duration.wholeMilliseconds, asleep: true)
  }

  /// Jumps to a date as if every machine were asleep; does nothing if the date has passed.
  ///
  /// - Throws: the same as ``advance(by:)``.
  public func sleep(until date: Date) async throws {
    let moment = date.milliseconds - start
    if moment > passed { try await move(to: moment, asleep: true) }
  }

  /// Waits until nothing is under way between the nodes, without advancing the clock.
  ///
  /// - Throws: ``TestSetupError`` if the nodes don't become idle within 30 seconds of real time.
  public func quiet() async throws { try await quiet(WaitLimit()) }

  var passed: Int64 { state.withLock { $0.passed } }

  /// Whether nothing is under way between the nodes.
  ///
  /// In a simulation, messages to a node that has been killed stay under way.
  var isQuiet: Bool { scheduler != nil || underWay.count == 0 }

  private func move(to target: Int64, asleep: Bool = false) async throws {
    try beginMoving()
    defer { state.withLock { $0.isMoving = false } }
    try await quiet(WaitLimit())
    if asleep { state.withLock { $0.passed = max($0.passed, target) } }
    while let due = takeDue(by: target) {
      await fire(due)
      try await quiet(WaitLimit())
    }
    state.withLock { $0.passed = max($0.passed, target) }
  }

  /// Advances to the next timer and fires all timers due at that time; returns false if no timer is due by `end`.
  func advanceToNext(by end: Int64) async throws -> Bool {
    guard let next = state.withLock({ $0.due.values.map(\.moment).min() }), next <= end else { return false }
    try await move(to: max(next, passed))
    return true
  }

  private func beginMoving() throws {
    let wasMoving = state.withLock { state in
      defer { state.isMoving = true }
      return state.isMoving
    }
    guard !wasMoving else {
      throw TestSetupError(description: "two calls are advancing the same virtual clock at the same time")
    }
  }

  /// Advances to the earliest timer due by `target` and returns that timer; nil if there is none.
  private func takeDue(by target: Int64) -> Due? {
    state.withLock { state in
      guard let first = state.due.values.min(by: { $0.isBefore($1) }), first.moment <= target else {
        return nil
      }
      state.passed = max(state.passed, first.moment)
      return first
    }
  }

  private func fire(_ due: Due) async {
    await withCheckedContinuation { continuation in fire(due) { continuation.resume() } }
  }

  private func fire(_ due: Due, _ whenDone: @escaping @Sendable () -> Void) {
    due.executor.async { [self] in
      // Work that ran earlier on this queue may have cancelled the timer.
      let isWanted = state.withLock { $0.due.removeValue(forKey: due.number) } != nil
      if isWanted { due.body() }
      whenDone()
    }
  }

  /// Advances to the next timer and fires it, for a simulation in which something waits for it. Returns false if there is
  /// none.
  private func fireNext() -> Bool {
    guard let due = takeDue(by: .max - 1) else { return false }
    fire(due) {}
    return true
  }

  // MARK: Waiting for idle nodes

  /// Waits until nothing is under way and all nodes are idle.
  func quiet(_ limit: WaitLimit) async throws {
    if let scheduler { return try await scheduler.idle() }
    while true {
      guard let begun = await underWay.over(by: limit.end) else {
        throw TestSetupError(
          description: "not idle after \(limit): \(underWay.count) messages are under way")
      }
      // A node's work may have resumed a task that is queued behind it, so drain each queue twice.
      for _ in 0..<2 {
        for executor in state.withLock({ Array($0.executors.values) }) { await pass(executor) }
      }
      if underWay.isOver(since: begun) { return }
      guard !limit.isOver else {
        throw TestSetupError(description: "not idle after \(limit): the nodes keep sending messages")
      }
    }
  }

  /// Waits until everything on the queue has run.
  private func pass(_ executor: QueueExecutor) async {
    await withCheckedContinuation { continuation in executor.async { continuation.resume() } }
  }
}

// MARK: Clock of a node

extension VirtualClock: NodeClock {
  package func wall() -> Int64 { start + passed }

  package func steady() -> Int64 {
    // In a simulation, some work takes long.
    if let scheduler, scheduler.chance(64) {
      state.withLock { $0.passed += Self.longWork }
    }
    return Self.steadyStart + passed
  }

  private static let longWork: Int64 = 60

  package func after(
    milliseconds: Int64, on executor: QueueExecutor, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer {
    let number = state.withLock { state in
      state.nextNumber += 1
      let (moment, isTooFar) = state.passed.addingReportingOverflow(max(milliseconds, 0))
      state.due[state.nextNumber] = Due(
        moment: isTooFar ? .max : moment, number: state.nextNumber, executor: executor, body: body)
      state.executors[ObjectIdentifier(executor)] = executor
      return state.nextNumber
    }
    return Timer(clock: self, number: number)
  }

  /// The uptime at the start: one day, as if the machine had already been running for a while.
  private static let steadyStart: Int64 = 86_400_000

  private final class Timer: NodeTimer {
    private let clock: VirtualClock
    private let number: UInt64

    init(clock: VirtualClock, number: UInt64) {
      self.clock = clock
      self.number = number
    }

    func cancel() { clock.state.withLock { _ = $0.due.removeValue(forKey: number) } }
  }
}

/// A limit on how long a test waits, in real time.
struct WaitLimit: CustomStringConvertible {
  private let seconds: Double
  let end: DispatchTime

  init(seconds: Double = 120) {
    self.seconds = seconds
    end = .now() + seconds
  }

  var isOver: Bool { DispatchTime.now() >= end }

  var description: String { "\(Int(seconds)) seconds" }
}
