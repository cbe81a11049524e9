import Dispatch
public import Foundation
import Synchronization
package import Transport
import Waymark

/// A clock that stands still until a test moves it.
///
/// Every node that is opened with one lives by it: its wall clock, and whatever it does later. Moving it does, in
/// order, all that falls due on the way, and waits until nothing is under way between the nodes: a month passes in
/// the time that the work takes.
///
/// ```swift
/// let clock = VirtualClock()
/// let node = try Node.inMemory(name: "phone", clock: clock)
/// try await clock.advance(by: .seconds(3_600))
/// ```
///
/// What waits on the node for something that only time brings (a question that nobody answers) waits until the clock
/// is moved.
public final class VirtualClock: Sendable {
  /// 3 May 2026, 08:00 UTC.
  public static let morning = Date(milliseconds: TestNode.morning)

  private struct Due {
    let moment: Int64
    let number: UInt64
    let queue: DispatchQueue
    let body: @Sendable () -> Void

    func isBefore(_ other: Due) -> Bool { (moment, number) < (other.moment, other.number) }
  }

  private struct State {
    /// Milliseconds that have passed.
    var passed: Int64 = 0
    var due: [UInt64: Due] = [:]
    var nextNumber: UInt64 = 0
    var queues: [ObjectIdentifier: DispatchQueue] = [:]
    var isMoving = false
  }

  private let start: Int64
  private let state = Mutex(State())
  let underWay = UnderWay()

  /// Stops at this moment, in whole milliseconds.
  public init(_ start: Date = VirtualClock.morning) {
    self.start = start.milliseconds
  }

  /// The wall clock.
  public var now: Date { Date(milliseconds: wall()) }

  // MARK: Moving

  /// Moves on, and does what falls due on the way, one thing after the other, each at its own moment.
  ///
  /// Connected nodes ask each other for signs of life several times a minute, so that an hour of three of them takes
  /// about a second of real time: where days pass, ``sleep(until:)`` takes none.
  ///
  /// - Parameter duration: not less than zero; below a millisecond nothing passes.
  /// - Throws: ``TestGroundError`` if the nodes are not quiet within half a minute of real time after one of the moments.
  public func advance(by duration: Duration) async throws {
    try await move(to: passed + duration.wholeMilliseconds)
  }

  /// Moves on to a moment of the wall clock; does nothing if that has passed.
  ///
  /// - Throws: as ``advance(by:)``.
  public func advance(to date: Date) async throws {
    let moment = date.milliseconds - start
    if moment > passed { try await move(to: moment) }
  }

  /// Moves on at once, as if every machine slept: what falls due meanwhile is done at the end.
  ///
  /// - Throws: as ``advance(by:)``.
  public func sleep(for duration: Duration) async throws {
    try await move(to: passed + duration.wholeMilliseconds, asleep: true)
  }

  /// Moves on at once to a moment of the wall clock, as if every machine slept; does nothing if that has passed.
  ///
  /// - Throws: as ``advance(by:)``.
  public func sleep(until date: Date) async throws {
    let moment = date.milliseconds - start
    if moment > passed { try await move(to: moment, asleep: true) }
  }

  /// Waits until nothing is under way between the nodes, without moving on.
  ///
  /// - Throws: as ``advance(by:)``.
  public func quiet() async throws { try await quiet(WaitLimit()) }

  var passed: Int64 { state.withLock { $0.passed } }

  /// Whether no message is on its way.
  var isQuiet: Bool { underWay.count == 0 }

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

  /// Moves on to the next thing that is due, and does what is due then; false if there is none by then.
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
      throw TestGroundError(description: "a virtual clock is moved from two places at once")
    }
  }

  /// Takes the earliest thing that is due by then, and moves to its moment.
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
    await withCheckedContinuation { continuation in
      due.queue.async { [self] in
        // Whatever ran before it on this queue may have called it off.
        let isWanted = state.withLock { $0.due.removeValue(forKey: due.number) } != nil
        if isWanted { due.body() }
        continuation.resume()
      }
    }
  }

  // MARK: Quiet

  /// Waits until nothing is under way, and no node has anything to do.
  func quiet(_ limit: WaitLimit) async throws {
    while true {
      guard let begun = await underWay.over(by: limit.end) else {
        throw TestGroundError(description: "after \(limit): \(underWay.count) messages are under way")
      }
      // What a node had begun may have woken a task of its own, which comes behind.
      for _ in 0..<2 {
        for queue in state.withLock({ Array($0.queues.values) }) { await pass(queue) }
      }
      if underWay.isOver(since: begun) { return }
      guard !limit.isOver else {
        throw TestGroundError(description: "after \(limit) there is still no end of messages")
      }
    }
  }

  /// Comes back when all that waits on the queue has been done.
  private func pass(_ queue: DispatchQueue) async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
  }
}

// MARK: What a node asks

extension VirtualClock: NodeClock {
  package func wall() -> Int64 { start + passed }

  package func steady() -> Int64 { Self.steadyStart + passed }

  package func after(
    milliseconds: Int64, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer {
    let number = state.withLock { state in
      state.nextNumber += 1
      let (moment, isTooFar) = state.passed.addingReportingOverflow(max(milliseconds, 0))
      state.due[state.nextNumber] = Due(
        moment: isTooFar ? .max : moment, number: state.nextNumber, queue: queue, body: body)
      state.queues[ObjectIdentifier(queue)] = queue
      return state.nextNumber
    }
    return Timer(clock: self, number: number)
  }

  /// A machine has been up for a while.
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

/// How long a test waits in real time.
struct WaitLimit: CustomStringConvertible {
  private let seconds: Double
  let end: DispatchTime

  init(seconds: Double = 30) {
    self.seconds = seconds
    end = .now() + seconds
  }

  var isOver: Bool { DispatchTime.now() >= end }

  var description: String { "\(Int(seconds)) seconds" }
}
