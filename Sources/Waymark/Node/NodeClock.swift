package import Dispatch
import Replication
import Sodium
import Transport
import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The time of a node: what its wall clock says, the clock by which things wait, and who calls back later. Given
/// when the node is opened, and asked for nowhere else.
package protocol NodeClock: Sendable {
  /// Milliseconds since 1970.
  func wall() -> Int64
  /// Milliseconds of a clock that never goes back and that nobody sets.
  func steady() -> Int64
  /// Calls back once on the queue, so many milliseconds of the steady clock from now.
  func after(
    milliseconds: Int64, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer
}

/// What is to happen later.
package protocol NodeTimer: AnyObject {
  /// It does not happen any more, unless it is under way.
  func cancel()
}

extension DispatchWorkItem: NodeTimer {}

/// The clocks of this machine, and Dispatch.
package struct SystemClock: NodeClock {
  private let readWall: @Sendable () -> Int64

  /// - Parameter wall: takes the place of this machine's wall clock.
  package init(wall: @escaping @Sendable () -> Int64 = systemWall) { readWall = wall }

  package func wall() -> Int64 { readWall() }

  package func steady() -> Int64 { monotonicMilliseconds() }

  package func after(
    milliseconds: Int64, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer {
    let item = DispatchWorkItem(block: body)
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(clamping: max(milliseconds, 0))), execute: item)
    return item
  }
}

/// Milliseconds since 1970 on this machine's clock.
package func systemWall() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000 + clockAhead
}

#if DEBUG
  /// Debug builds only, for tests of a wrong clock: seconds in `WAYMARK_CLOCK_AHEAD`, or in a file that
  /// `WAYMARK_CLOCK_FILE` names and that may change at any time.
  private var clockAhead: Int64 {
    guard clockFile >= 0 else { return clockAheadAtStart }
    var text = [UInt8](repeating: 0, count: 24)
    let count = max(0, pread(clockFile, &text, text.count, 0))
    return milliseconds(String(decoding: text.prefix(count).prefix { $0 != 0x0a }, as: UTF8.self))
  }

  private let clockFile: Int32 = getenv("WAYMARK_CLOCK_FILE").map { open($0, O_RDONLY | O_CLOEXEC) } ?? -1

  private let clockAheadAtStart = getenv("WAYMARK_CLOCK_AHEAD").map { milliseconds(String(cString: $0)) } ?? 0

  private func milliseconds(_ seconds: String) -> Int64 {
    (Int64(seconds) ?? 0).multipliedReportingOverflow(by: 1_000).partialValue
  }
#else
  private let clockAhead: Int64 = 0
#endif

/// Decides jitter; nothing secret.
func randomSeed() -> UInt64 {
  var random = SecureRandom()
  return random.next()
}
