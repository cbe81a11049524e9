import Exchange
import Records
import Wire

/// A file of another application that is not our JSON: the first byte selects the importer.
///
/// Imported records satisfy the rules; a calendar that is exported from them is imported again, row by row.
@Sendable func fuzzForeignFile(_ input: [UInt8]) throws {
  guard let first = input.first, let plan = foreignPlan(first, Array(input.dropFirst())) else { return }
  for draft in plan.drafts {
    do throws(FieldError) {
      try draft.kind.validate(draft, isNew: true)
    } catch {
      throw BrokenRule("an imported row may not be written: \(error)")
    }
  }
  let source = ExportSource(plan.drafts)
  let calendar = Exporter.file(.ics, from: source, now: Cast.noon)
  guard let again = try? Importer.plan(calendar.bytes, format: .ics) else {
    throw BrokenRule("an exported calendar can't be imported")
  }
  try require(again.skipped.isEmpty, "an exported calendar is not imported completely: \(again.skipped)")
  _ = Exporter.file(.json, from: source, now: Cast.noon)
  _ = Exporter.folder(.csv, from: source)
  _ = Exporter.folder(.loopCSV, from: source)
}

private func foreignPlan(_ kind: UInt8, _ bytes: [UInt8]) -> ImportPlan? {
  switch kind % 5 {
  case 0: return try? Importer.plan(bytes, format: .ics)
  case 1: return try? Importer.plan(bytes, format: .habitbull)
  case 2: return try? Importer.plan(bytes, format: .surmai)
  case 3: return try? Importer.plan(bytes, format: .loopDB)
  default:
    let parts = bytes.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
    let names = ["Habits.csv", "001 a/Checkmarks.csv", "002 b/Checkmarks.csv"]
    let files = zip(names, parts).map { ImportedFile(path: $0, bytes: Array($1)) }
    return try? Importer.plan(.folder(files))
  }
}

extension Seeds {
  @Sendable static func foreignFiles() throws -> [[UInt8]] {
    [
      seed(0, calendar), seed(1, habitBull), seed(2, surmai), seed(4, "\(habits)\0\(marks)\0\(marks)"),
      seed(3, "SQLite format 3\0"),
    ]
  }

  private static func seed(_ kind: UInt8, _ text: String) -> [UInt8] { [kind] + Array(text.utf8) }

  private static let calendar = """
    BEGIN:VCALENDAR
    X-WR-CALNAME:Rome
    BEGIN:VTIMEZONE
    TZID:Here
    BEGIN:STANDARD
    DTSTART:19701025T030000
    RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
    TZOFFSETTO:+0100
    END:STANDARD
    END:VTIMEZONE
    BEGIN:VEVENT
    UID:a@tripit.com
    DTSTART;VALUE=DATE:20260503
    DTEND;VALUE=DATE:20260506
    SUMMARY:Rome
    END:VEVENT
    BEGIN:VEVENT
    UID:item-b@tripit.com
    DTSTART;TZID=Here:20260503T150000
    DURATION:PT1H
    SUMMARY:Check-in: Casa Rosa
    DESCRIPTION:[Lodging] Casa Rosa\\; conf #7
    END:VEVENT
    END:VCALENDAR

    """

  private static let habitBull = """
    HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText
    Water,"a ""glass"" ",Health,4/11/2019,2.5,
    Run,,,2019-04-12,-2147483649,x

    """

  private static let surmai = """
    {"trip":{"id":"a","name":"Rome","startDate":"2026-05-03 07:00:00.000Z"},"lodgings":[{"id":"b","name":"Rosa",\
    "cost":{"value":12.5,"currency":"EUR"},"startDate":"2026-05-03 15:00:00.000Z",\
    "metadata":{"place":{"timezone":"Europe/Rome"}}}],"transportations":[],"activities":[],"expenses":[]}
    """

  private static let habits = """
    Position,Name,Type,Question,Description,FrequencyNumerator,FrequencyDenominator,Color,Unit,Target Type,\
    Target Value,Archived?
    001,Water,NUMERICAL,,,1,1,#1976D2,l,AT_LEAST,2.0,false
    002,Run,YES_NO,,,3,7,#1976D2,,,,false

    """

  private static let marks = "Date,Value,Notes\n2026-07-04,12000,\n2026-07-03,NO,\n"
}
