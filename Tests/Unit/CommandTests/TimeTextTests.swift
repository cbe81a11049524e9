import Console
import Platform
import Testing

/// Times and durations, as they are typed and as they are shown.
struct TimeTextTests {
  /// 2026-05-03T15:00:00Z
  private static let noon: Int64 = 1_777_820_400_000
  private static let hour: Int64 = 3_600_000
  private static let day: Int64 = 86_400_000
  private let time = TimeText(now: TimeTextTests.noon, zone: .utc)
  private let east = TimeText(now: TimeTextTests.noon, zone: Zone(named: "GMT+2") ?? .utc)

  @Test(
    arguments: [
      ("2026-05-03T15:00:00.5Z", noon + 500), ("2026-05-03T15:00:00.25Z", noon + 250),
      ("2026-05-03T15:00:00.123456789Z", noon + 123), ("2026-05-03t15:00:00z", noon),
      ("2026-05-03 15:00:00Z", noon), ("2026-05-03T13:30:00-01:30", noon),
      ("2026-05-03T20:45:00+05:45", noon), ("2026-05-03T15:00:00", nil), ("2026-05-03T15:00:00.Z", nil),
      ("2026-05-03T15:00:00.1234567890Z", nil), ("2026-05-03T15:00:00Zx", nil),
      ("2026-05-03T15:00:00+0200", nil), ("2026-05-03T15:00:00+02:00x", nil), ("2026-05-03T15:00Z", nil),
      ("2026-05-03", nil), ("", nil), ("2026/05/03T15:00:00Z", nil), ("2026-05-03T15-00-00Z", nil),
      ("202a-05-03T15:00:00Z", nil),
    ] as [(String, Int64?)])
  func `a time has all of its parts, at most nine digits of a second, and an offset`(
    text: String, moment: Int64?
  ) {
    #expect(TimeText.moment(text) == moment)
  }

  @Test(
    arguments: [
      (-5_000, "just now"), (0, "just now"), (999, "just now"), (1_000, "1 s ago"), (59_999, "59 s ago"),
      (60_000, "1 min ago"), (hour - 1, "59 min ago"), (hour, "1 h ago"), (day - 1, "23 h ago"),
      (day, "1 d ago"), (30 * day, "30 d ago"),
    ] as [(Int64, String)])
  func `an age is in the largest unit that it fills`(milliseconds: Int64, text: String) {
    #expect(time.ago(Self.noon - milliseconds) == text)
  }

  @Test(
    arguments: [
      (0, "15:00"), (20 * hour - 1, "19:00"), (20 * hour, "2026-05-02 19:00"),
      (-20 * hour, "2026-05-04 11:00"),
      (1 - 20 * hour, "10:59"), (7 * day - 1, "2026-04-26 15:00"), (7 * day, "2026-04-26"),
      (-7 * day, "2026-05-10"),
    ] as [(Int64, String)])
  func `a near time is shown without its day, and a far one without its time of day`(
    milliseconds: Int64, text: String
  ) {
    #expect(time.short(Self.noon - milliseconds) == text)
  }

  @Test func `times are in the zone of the reader, unless they are marked as UTC or have an offset`() {
    #expect(east.short(Self.noon) == "17:00")
    #expect(east.clock(Self.noon) == "17:00")
    #expect(east.full("2026-05-03T23:30:00Z") == "2026-05-04 01:30")
    #expect(east.utc(Self.noon + 8 * Self.hour + 1_800_000) == "2026-05-03 23:30 UTC")
    #expect(east.written("2026-05-03T23:30:00Z") == "2026-05-04 01:30")
    #expect(east.written("2026-05-03T15:00:00+05:00") == "2026-05-03 15:00 +05:00")
    #expect(east.written("2026-05-03T15:00:00.250-03:30") == "2026-05-03 15:00 -03:30")
    for text in ["2026-05-03", "Rome", "2026-05-03 15:00:00Z", ""] { #expect(east.written(text) == text) }
  }

  @Test func `a time that is missing is no time`() {
    #expect(time.ago(Int64?.none) == "never" && time.ago("soon") == "never")
    #expect(time.short(Int64?.none) == "–" && time.full(Int64?.none) == "–" && time.written(nil) == "–")
  }

  @Test(
    arguments: [
      (-1, "0 s"), (0, "0 s"), (59_999, "59 s"), (60_000, "1 min"), (hour - 1, "59 min"), (hour, "1 h"),
      (hour + 60_000, "1 h 1 min"), (day - 1, "23 h 59 min"), (day, "1 d"), (day + hour, "1 d 1 h"),
      (day + hour - 1, "1 d"),
    ] as [(Int64, String)])
  func `a duration begins with the largest unit that it fills`(milliseconds: Int64, text: String) {
    #expect(TimeText.span(milliseconds) == text)
  }

  @Test(
    arguments: [
      ("500ms", 500), ("30s", 30_000), ("30", 30_000), ("0", 0), ("10m", 600_000), ("2h", 7_200_000),
      ("1d", 86_400_000), ("3650d", 3_650 * day), ("87600h", 3_650 * day), ("3651d", nil), ("87601h", nil),
      ("9223372036854775807", nil), ("", nil), ("m", nil), ("-5s", nil), ("1.5h", nil), ("5 m", nil),
      ("5M", nil), ("5mm", nil), ("٣s", nil),
    ] as [(String, Int64?)])
  func `a typed duration is a whole number and one unit, of at most ten years`(
    text: String, milliseconds: Int64?
  ) {
    #expect(Duration.milliseconds(in: text) == milliseconds)
  }
}
