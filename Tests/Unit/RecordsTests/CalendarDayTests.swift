import Records
import Testing

/// The calendar, around leap years and the ends of months, and times before 1970.
struct CalendarDayTests {
  @Test(arguments: [1_895, 1_899, 1_999, 2_023, 2_095, 2_399])
  func `every day of these years is parsed, and the day after the last of each month is not`(
    year: Int
  ) throws {
    // The numbers of days are counted without the lengths of the months.
    let first = try #require(CalendarDay(year: year, month: 1, day: 1)).daysSince1970
    for number in first..<first + 6 * 365 {
      let day = CalendarDay(daysSince1970: number)
      #expect(CalendarDay(day.description) == day)
      #expect(CalendarDay(year: day.year, month: day.month, day: day.day)?.daysSince1970 == number)
      let next = CalendarDay(daysSince1970: number + 1)
      guard next.day == 1 else { continue }
      #expect(CalendarDay(year: day.year, month: day.month, day: day.day + 1) == nil, "\(day)")
    }
  }

  @Test(arguments: [
    ("1900-02-29", false), ("2000-02-29", true), ("2023-02-29", false), ("2024-02-29", true),
    ("2100-02-29", false), ("2400-02-29", true), ("2026-04-31", false), ("2026-00-01", false),
    ("2026-01-00", false), ("2026-12-31", true), ("9999-12-31", true), ("10000-01-01", false),
    ("2026-5-03", false), ("2026-05-03 ", false),
  ])
  func `a day exists or not`(text: String, exists: Bool) { #expect((CalendarDay(text) != nil) == exists) }

  @Test func `days end at the ends of the calendar`() {
    #expect(CalendarDay(daysSince1970: .max).description == "9999-12-31")
    #expect(CalendarDay(daysSince1970: .min).description == "0001-01-01")
    #expect(
      CalendarDay(year: 10_000, month: 1, day: 1) == nil && CalendarDay(year: 0, month: 1, day: 1) == nil)
  }

  @Test(
    arguments: [
      (0, 0), (1, 0), (999, 0), (1_000, 1_000), (1_999, 1_000), (-1, -1_000), (-999, -1_000),
      (-1_000, -1_000),
      (-1_001, -2_000),
    ] as [(Int64, Int64)])
  func `a time is rounded down to a second, also before 1970`(time: Int64, second: Int64) {
    #expect(wholeSecond(time) == second)
    #expect(floorDivision(time, 1_000) == second / 1_000)
  }

  @Test(
    arguments: [
      (7, 0, "1970-01-01T00:00:00.007Z"), (70, 0, "1970-01-01T00:00:00.070Z"),
      (700, 0, "1970-01-01T00:00:00.700Z"),
      (0, 50_400, "1970-01-01T14:00:00+14:00"), (0, -43_200, "1969-12-31T12:00:00-12:00"),
      // The local mean time of Amsterdam, and one west of Greenwich: an offset as text has whole minutes.
      (0, 1_172, "1970-01-01T00:19:00+00:19"), (0, -1_172, "1969-12-31T23:41:00-00:19"),
      (0, 59, "1970-01-01T00:00:00Z"),
    ] as [(Int64, Int, String)])
  func `a time as text is the same instant`(time: Int64, offset: Int, text: String) {
    #expect(timeText(milliseconds: time, offsetSeconds: offset) == text)
    #expect(WrittenTime(text)?.milliseconds == time)
  }
}
