import Records
import Testing
import Wire

/// Test zones; two of them change their offset at the start of 1970.
let lab = ZoneOffsets { milliseconds, zone in
  switch zone {
  case "UTC": 0
  case "Lab/Back": milliseconds < 0 ? 7_200 : 3_600
  case "Lab/Forward": milliseconds < 0 ? 3_600 : 7_200
  case "Lab/East": 20_700
  default: nil
  }
}

struct TimeTests {
  @Test(arguments: [
    ("1970-01-01", 0), ("2000-02-29", 11_016), ("0001-01-01", -719_162), ("9999-12-31", 2_932_896),
    ("1969-12-31", -1), ("2026-11-21", 20_778),
  ])
  func `a day has the expected number`(text: String, days: Int64) throws {
    let day = try #require(CalendarDay(text))
    #expect(day.daysSince1970 == days)
    #expect(CalendarDay(daysSince1970: days).description == text)
  }

  @Test func `days and numbers agree for four centuries`() throws {
    var day = CalendarDay(daysSince1970: -100)
    for number in Int64(-99)...146_100 {
      let next = CalendarDay(daysSince1970: number)
      #expect(day < next && next.daysSince1970 == number)
      day = next
    }
  }

  @Test(arguments: [
    "2023-02-29", "2026-13-01", "2026-00-10", "2026-01-32", "26-01-01", "2026/01/01", "0000-01-01",
  ])
  func `days that do not exist are refused`(text: String) { #expect(CalendarDay(text) == nil) }

  @Test(arguments: [
    ("2026-05-03T15:00:00Z", 1_777_820_400_000, 0), ("2026-05-03T15:00:00+02:00", 1_777_820_400_000, 7_200),
    ("2026-05-03t15:00z", 1_777_820_400_000, 0),
    ("2026-05-03 15:00:00.1239-00:30", 1_777_820_400_123, -1_800),
  ])
  func `a time with an offset is an instant`(text: String, wall: Int64, offset: Int) throws {
    let time = try #require(WrittenTime(text))
    #expect(time.wallMilliseconds == wall)
    #expect(time.milliseconds == wall - Int64(offset) * 1_000)
  }

  @Test(arguments: [("2026-05-03", 1_777_766_400_000), ("2026-05-03T15:00", 1_777_820_400_000)])
  func `a time without an offset is local time`(text: String, wall: Int64) throws {
    let time = try #require(WrittenTime(text))
    #expect(time.wallMilliseconds == wall)
    #expect(time.milliseconds == nil)
  }

  @Test(arguments: [
    "", "tomorrow", "2026-05-03T", "2026-05-03T24:00", "2026-05-03T12:60", "2026-05-03T1:00",
    "2026-05-03T12:00:0",
    "2026-05-03T12:00:61Z", "2026-05-03T12:00:00.Z", "2026-05-03T12:00:00+2:00", "2026-05-03T12:00:00+02",
    "2026-05-03T12:00:00ZZ", "2026-05-03T12:00Zone", "2026-05-03X12:00",
  ])
  func `an invalid time is refused`(text: String) { #expect(WrittenTime(text) == nil) }

  @Test func `a time is shown with the offset of its zone`() {
    #expect(timeText(milliseconds: 1_777_820_400_000) == "2026-05-03T15:00:00Z")
    #expect(timeText(milliseconds: -1) == "1969-12-31T23:59:59.999Z")
    #expect(timeText(milliseconds: 0, offsetSeconds: -12_600) == "1969-12-31T20:30:00-03:30")
    #expect(lab.text(milliseconds: 0, zone: "Lab/East") == "1970-01-01T05:45:00+05:45")
    #expect(lab.text(milliseconds: 0, zone: "Lab/None") == "1970-01-01T00:00:00Z")
    #expect(timeText(milliseconds: .max).hasPrefix("9999-12-31T"))
    #expect(timeText(milliseconds: .min).hasPrefix("0001-01-01T"))
  }

  @Test func `a repeated hour means its first occurrence`() {
    // At 02:00 the clock goes back to 01:00: 01:30 occurs twice.
    #expect(lab.milliseconds(wall: 5_400_000, zone: "Lab/Back") == -1_800_000)
    #expect(lab.milliseconds(wall: 7_200_000, zone: "Lab/Back") == 3_600_000)
  }

  @Test func `a skipped local time is read as an hour later`() {
    // At 01:00 the clock goes forward to 02:00: 01:30 does not occur.
    #expect(lab.milliseconds(wall: 5_400_000, zone: "Lab/Forward") == 1_800_000)
    #expect(lab.text(milliseconds: 1_800_000, zone: "Lab/Forward") == "1970-01-01T02:30:00+02:00")
    #expect(lab.milliseconds(wall: 0, zone: "Lab/None") == nil)
  }

  @Test func `the day of an instant depends on its zone`() {
    #expect(lab.day(milliseconds: -3_600_000, zone: "Lab/East").description == "1970-01-01")
    #expect(lab.day(milliseconds: -3_600_000, zone: nil).description == "1969-12-31")
  }
}
