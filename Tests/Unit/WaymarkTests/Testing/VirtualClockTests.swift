import Dispatch
import Foundation
import JSONDocument
import Synchronization
import Testing
import Transport
import Waymark
import WaymarkTesting

/// A clock that a test advances.
struct VirtualClockTests {
  private final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
  }

  private let clock = VirtualClock()
  private let queue = QueueExecutor(label: "waymark.tests.clock")
  private let other = QueueExecutor(label: "waymark.tests.clock.other")
  private let log = Log()

  private func later(_ milliseconds: Int64, _ name: String, on queue: QueueExecutor? = nil) -> any NodeTimer {
    clock.after(milliseconds: milliseconds, on: queue ?? self.queue) { [clock, log] in
      log.add("\(name) at \(clock.wall() - TestNode.morning)")
    }
  }

  @Test func `stands still until it is advanced`() async throws {
    _ = later(0, "now")
    try await clock.quiet()
    #expect(log.all.isEmpty)
    #expect(clock.now == VirtualClock.morning)
    try await clock.advance(by: .zero)
    #expect(log.all == ["now at 0"])
    #expect(clock.now == VirtualClock.morning)
  }

  @Test func `runs what is due in order, each at its own moment, on any queue`() async throws {
    _ = later(30, "third")
    _ = later(10, "first", on: other)
    _ = later(20, "second")
    _ = later(20, "second as well", on: other)
    _ = later(31, "too late")
    try await clock.advance(by: .milliseconds(30))
    #expect(log.all == ["first at 10", "second at 20", "second as well at 20", "third at 30"])
    #expect(clock.wall() == TestNode.morning + 30)
  }

  @Test func `runs work scheduled by other work in the same advance, if it is due on the way`() async throws {
    _ = clock.after(milliseconds: 10, on: queue) { [log, other, clock] in
      log.add("tick")
      _ = clock.after(milliseconds: 10, on: other) { log.add("tock at \(clock.wall() - TestNode.morning)") }
    }
    try await clock.advance(by: .seconds(1))
    #expect(log.all == ["tick", "tock at 20"])
  }

  @Test func `does not run cancelled work, even if the canceller is due at the same moment`() async throws {
    let off = later(10, "off")
    off.cancel()
    let victim = UnsafeTimer(later(20, "victim"))
    _ = clock.after(milliseconds: 15, on: queue) { victim.cancel() }
    try await clock.advance(by: .seconds(1))
    #expect(log.all.isEmpty)
  }

  @Test func `advances to a moment of the wall clock, and never back`() async throws {
    let noon = VirtualClock.morning.addingTimeInterval(4 * 3_600)
    try await clock.advance(to: noon)
    #expect(clock.now == noon)
    try await clock.advance(to: VirtualClock.morning)
    #expect(clock.now == noon)
  }

  @Test func `runs work that was due during sleep at its end, in order and once`() async throws {
    _ = later(20, "second")
    _ = clock.after(milliseconds: 10, on: queue) { [log, queue, clock] in
      log.add("first")
      _ = clock.after(milliseconds: 10, on: queue) { log.add("after that") }
    }
    try await clock.sleep(for: .seconds(3_600))
    #expect(log.all == ["first", "second at 3600000"])
    try await clock.advance(by: .milliseconds(10))
    #expect(log.all.last == "after that")
  }

  @Test func `is advanced by one caller at a time`() async throws {
    let clock = clock
    _ = clock.after(milliseconds: 10, on: queue) { [log] in
      let done = DispatchSemaphore(value: 0)
      Task {
        await #expect(throws: TestSetupError.self) { try await clock.advance(by: .seconds(1)) }
        log.add("refused")
        done.signal()
      }
      _ = done.wait(timeout: .now() + 20)
    }
    try await clock.advance(by: .seconds(1))
    #expect(log.all == ["refused"])
  }
}

/// Passes a timer to a callback of the clock, which runs after the test has set it.
private final class UnsafeTimer: @unchecked Sendable {
  private let timer: any NodeTimer
  init(_ timer: any NodeTimer) { self.timer = timer }
  func cancel() { timer.cancel() }
}
