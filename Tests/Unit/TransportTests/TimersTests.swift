import Synchronization
import Testing

@testable import Transport

/// Named timers, of which a newer one replaces an older one.
struct TimersTests {
  private final class Item: NodeTimer, Sendable {
    let milliseconds: Int64
    private let body: @Sendable () -> Void
    private let cancelled = Mutex(false)

    init(_ milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
      (self.milliseconds, self.body) = (milliseconds, body)
    }

    func cancel() { cancelled.withLock { $0 = true } }

    func fire() { if !cancelled.withLock({ $0 }) { body() } }
  }

  /// A clock whose timers fire when the test says so.
  private final class ManualClock: NodeClock {
    private let items = Mutex<[Item]>([])

    func wall() -> Int64 { 0 }
    func steady() -> Int64 { 0 }

    func after(
      milliseconds: Int64, on executor: QueueExecutor, _ body: @escaping @Sendable () -> Void
    ) -> any NodeTimer {
      let item = Item(milliseconds, body)
      items.withLock { $0.append(item) }
      return item
    }

    var delays: [Int64] { items.withLock { $0.map(\.milliseconds) } }

    func fireAll() { for item in items.withLock({ $0 }) { item.fire() } }
  }

  /// What has fired, in order.
  private final class Log: Sendable {
    private let lines = Mutex<[String]>([])

    func note(_ line: String) -> @Sendable () -> Void {
      { self.lines.withLock { $0.append(line) } }
    }

    func take() -> [String] {
      lines.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }
  }

  @Test func `a timer replaces the one of its name, and all but anonymous ones can be cancelled`() {
    let (clock, log) = (ManualClock(), Log())
    var timers = Timers<String>(executor: QueueExecutor(label: "test.timers"), clock: clock)
    timers.schedule("dial", after: 10, log.note("first dial"))
    timers.schedule("look", after: 20, log.note("look"))
    timers.schedule("dial", after: 30, log.note("second dial"))
    timers.after(milliseconds: 40, log.note("once"))
    #expect(clock.delays == [10, 20, 30, 40])
    clock.fireAll()
    #expect(log.take() == ["look", "second dial", "once"])
    timers.cancelAll()
    clock.fireAll()
    #expect(log.take() == ["once"])
    // The names can be used again, also that of a timer that was forgotten because it has fired.
    timers.schedule("dial", after: 50, log.note("third dial"))
    timers.forget("dial")
    timers.schedule("dial", after: 60, log.note("fourth dial"))
    clock.fireAll()
    #expect(log.take() == ["once", "third dial", "fourth dial"])
  }
}
