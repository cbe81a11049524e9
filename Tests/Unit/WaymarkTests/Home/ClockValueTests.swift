import Foundation
import Home
import Testing

/// Times and durations as whole milliseconds.
struct ClockValueTests {
  @Test(
    arguments: [
      (0, 0), (1.0004, 1_000), (1.0006, 1_001), (-0.001, -1), (-1.5, -1_500),
      (1_777_795_200.25, 1_777_795_200_250),
    ] as [(Double, Int64)])
  func `a date is rounded to whole milliseconds, before 1970 too`(seconds: Double, milliseconds: Int64) {
    #expect(Date(timeIntervalSince1970: seconds).milliseconds == milliseconds)
    #expect(Date(milliseconds: milliseconds).milliseconds == milliseconds)
  }

  @Test func `a date outside of the calendar is its nearest day, and one that is no number is in 1970`() {
    let (first, last) = (Date(milliseconds: .min), Date(milliseconds: .max))
    #expect(first.milliseconds == Date(timeIntervalSince1970: -1e300).milliseconds)
    #expect(last.milliseconds == Date(timeIntervalSince1970: 1e300).milliseconds)
    #expect(Date(timeIntervalSince1970: 1e16).milliseconds == last.milliseconds)
    #expect(first.milliseconds < -50_000_000_000_000 && last.milliseconds > 200_000_000_000_000)
    for wrong in [Double.nan, .infinity, -.infinity] {
      #expect(Date(timeIntervalSince1970: wrong).milliseconds == 0)
    }
  }

  @Test(
    arguments: [
      (.zero, 0), (.milliseconds(1), 1), (.microseconds(1_999), 1), (.seconds(2), 2_000),
      (.seconds(1.5), 1_500),
      (.milliseconds(-1), -1), (.seconds(-1.5), -1_500), (.seconds(86_400), 86_400_000),
      (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
      (.seconds(Int64.max / 1_000), Int64.max / 1_000 * 1_000),
    ] as [(Duration, Int64)])
  func `a duration has whole milliseconds, and one that is too long has the most there are`(
    duration: Duration, milliseconds: Int64
  ) {
    #expect(duration.wholeMilliseconds == milliseconds)
  }
}
