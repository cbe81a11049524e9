// The machine's clock and source of randomness.

package import Platform
import Records
import Sodium
package import Wire

/// Milliseconds since 1970 on this machine's clock.
package func systemWall() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000 + clockAhead
}

#if DEBUG
  /// The milliseconds by which tests make the clock run ahead, in debug builds and in the optimised build of
  /// `make test`, which defines `DEBUG` too. They are set in seconds, either with `WAYMARK_CLOCK_AHEAD` or in a file
  /// that `WAYMARK_CLOCK_FILE` names and that may change at any time.
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

/// Sixteen random bytes, unique in practice.
package func random16() -> Bytes16 {
  var random = SecureRandom()
  return Bytes16(random.next(), random.next())
}

/// A seed for jitter, not for secrets.
package func randomSeed() -> UInt64 {
  var random = SecureRandom()
  return random.next()
}

extension Date {
  /// Creates a date from milliseconds since 1970, clamped to the years of the calendar.
  package init(milliseconds: Int64) {
    self.init(timeIntervalSince1970: Double(milliseconds.clampedToCalendar) / 1_000)
  }

  /// Whole milliseconds since 1970, clamped to the years of the calendar.
  package var milliseconds: Int64 {
    let exact = (timeIntervalSince1970 * 1_000).rounded()
    guard exact.isFinite else { return 0 }
    return (Int64(exactly: exact) ?? (exact < 0 ? .min : .max)).clampedToCalendar
  }
}

extension Duration {
  /// Whole milliseconds, clamped to the range of the type.
  package var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
    return overflow ? (seconds > 0 ? .max : .min) : product &+ attoseconds / 1_000_000_000_000_000
  }
}
