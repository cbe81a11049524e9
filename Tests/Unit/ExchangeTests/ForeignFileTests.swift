import FileFormat
import Foundation
import JSONDocument
import Records
import Testing
import Wire

@testable import Exchange

private let bullHeader = "HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText\n"

private func bull(_ rows: String) throws -> ImportPlan {
  try Importer.plan(Array((bullHeader + rows).utf8))
}

struct HabitBullTests {
  @Test
  func `a value above 1 makes a habit numeric, and values beyond the integer range do not crash`()
    throws
  {
    let plan = try bull(
      "Wasser,d,Gesundheit,2019-04-11,2,\nWasser,d,Gesundheit,2019-04-12,-2147483649,\nLauf,,,2019-04-11,1,x\n"
        + "Lauf,,,2019-04-12,0,\nLauf,,,2019-04-13,-99999999999999999999999,\n")
    #expect(
      plan.drafts(Kind.habit).compactMap { $0.text("kind") }.sorted() == ["binary", "numeric"])
    #expect(
      plan.drafts(Kind.habitEntry).count == 2 && plan.drafts(Kind.category).count == 1)
    #expect(plan.skipped.map(\.place) == ["line 3", "line 6"])
  }

  @Test(arguments: [
    (["4/11/2019", "4/12/2019"], "2019-04-11"), (["4/11/2019", "13/12/2019"], "2019-11-04"),
    (["4/11/2019", "4/13/2019"], "2019-04-11"), (["2019-11-04", "2019-11-05"], "2019-11-04"),
  ])
  func `one unambiguous day determines the date order of the whole file`(
    days: [String], first: String
  ) throws {
    let plan = try bull(days.map { "Lauf,,,\($0),1,\n" }.joined())
    #expect(plan.days[first] != nil, "\(plan.days)")
  }

  @Test func `contradictory date orders are damage`() {
    #expect(throws: ExchangeError.self) { try bull("A,,,13/1/2019,1,\nA,,,1/13/2019,1,\n") }
    #expect(throws: ExchangeError.self) { try bull("A,,,1/1/2019\n") }
  }
}

struct SurmaiTests {
  private let file = """
    {"trip":{"id":"a","name":"Rome","startDate":"2026-05-03 07:00:00.000Z","endDate":"2026-05-05 07:00:00.000Z",
     "destinations":[{"name":"Rome","timezone":"Europe/Rome"}]},
     "transportations":[{"id":"b","type":"flight","origin":"FRA","destination":"Rome",
      "departure":"2026-05-03 07:50:00.000Z","arrival":"2026-05-03 09:00:00.000Z","cost":{"value":410.56,"currency":"EUR"},
      "metadata":{"origin":{"timezone":"Europe/Berlin"},"provider":{"name":"Air"},"reservation":"R"},"expenseId":"x"}],
     "lodgings":[{"id":"c","name":"Rosa","startDate":"2026-05-03 15:00:00.000Z","metadata":null}],
     "activities":[{"id":"d","name":"Tour","startDate":"2026-06-03 15:00:00.000Z","endDate":"2026-05-03 16:00:00.000Z",
      "metadata":{"place":{"timezone":"Europe/Rome"},"provider":"Guides"}}],
     "expenses":[{"id":"x","name":"n"},{"id":"y","name":"Dinner"}],"attachments":[{"id":"z","name":"a.pdf"}],
     "travellerProfiles":[{"id":"p","passportId":"SECRET"}]}
    """

  @Test func `the incorrect Z means the local time of the place, and providers are organizations`()
    throws
  {
    let plan = try Importer.plan(Array(file.utf8))
    let flight = try #require(plan.drafts(Kind.transportation).first)
    #expect(
      flight[Kind.transportation.number("start")]
        == .array([.integer(1_777_787_400_000), .text("Europe/Berlin")]))
    #expect(
      flight[Kind.transportation.number("end")]
        == .array([.integer(1_777_791_600_000), .text("Europe/Rome")]))
    #expect(
      flight[Kind.transportation.number("cost")] == .array([.text("410.56"), .text("EUR")]))
    #expect(
      plan.drafts(Kind.organization).compactMap { $0.text("name") }.sorted() == [
        "Air", "Guides",
      ])
    #expect(plan.drafts(Kind.trip).first?.integer("startDate") == 1_777_791_600_000)
    #expect(plan.skipped.map(\.place) == ["expenses[1]", "attachments[0]"])
    #expect(
      plan.warnings.contains { $0.hasPrefix("activity ") && $0.contains("ends before it starts") })
    #expect(plan.warnings.contains { $0.contains("lodgings[0]") && $0.contains("gives no zone") })
  }

  @Test func `profiles of travellers are never imported`() throws {
    let plan = try Importer.plan(Array(file.utf8))
    #expect(!"\(plan)".contains("SECRET"))
  }
}

struct FullExportTests {
  private let trip = RecordID(Bytes16(0, 1))

  private var drafts: [RecordDraft] {
    let lodging = Kind.lodging
    return [
      RecordDraft(
        Kind.trip, trip,
        [
          1: .text("=cmd()"), 2: .text("'a,\n\"b\""), 4: .integer(1_777_766_400_000),
          6: .bool(true),
        ]),
      RecordDraft(
        lodging, RecordID(Bytes16(0, 2)),
        [
          1: .bytes(trip.bytes), 2: .text("Casa; Rosa"),
          3: .array([.integer(1_777_813_200_000), .text("Europe/Rome")]),
          4: .array([.integer(1_792_893_600_000 + 5_400_000), .text("Europe/Rome")]),
          5: .array([.text("-120.50"), .text("EUR")]), 6: .text("deposit"),
          7: .text(String(repeating: "Grüße, ", count: 40)),
          8: .bytes(RecordID(Bytes16(0, 3)).bytes),
          10: .text("R7"),
          11: .text("Via Rosa"), 12: .bool(true),
        ]),
      RecordDraft(
        Kind.activity, RecordID(Bytes16(0, 4)),
        [
          1: .bytes(trip.bytes), 2: .text("Early"),
          3: .array([.integer(1_777_813_200_000), .null]),
          4: .array([.integer(1_777_800_000_000), .text("Not/There")]), 12: .bool(false),
        ]),
      RecordDraft(Kind.organization, RecordID(Bytes16(0, 3)), [1: .text("Rosa")]),
    ]
  }

  @Test func `an exported calendar is imported as the same records`() throws {
    let file = Exporter.file(.ics, from: ExportSource(drafts), now: 0)
    let plan = try Importer.plan(file.bytes)
    #expect(plan.skipped.isEmpty)
    #expect(plan.warnings == ["activity \"Early\" ends before it starts; it is imported unchanged"])
    for draft in drafts {
      let read = try #require(plan.drafts.first { $0.key == draft.key })
      for field in draft.fields {
        #expect(read[field.number] == field.value, "\(draft.kind.name) \(field)")
      }
    }
  }

  @Test func `lines of a calendar end in CRLF and have at most 75 bytes`() throws {
    let file = Exporter.file(.ics, from: ExportSource(drafts), now: 0)
    let text = try #require(String(validating: file.bytes, as: UTF8.self))
    let lines = text.components(separatedBy: "\r\n")
    #expect(lines.allSatisfy { $0.utf8.count <= 75 && !$0.contains("\n") })
    #expect(text.contains("DTSTART;TZID=Europe/Rome:20260503T150000\r\n"))
    #expect(
      text.contains("DTEND;VALUE=DATE:") && text.contains("BEGIN:VTIMEZONE\r\nTZID:Europe/Rome"))
  }

  @Test
  func
    `text that a spreadsheet would run as a formula gets an apostrophe, and is imported without it`()
  {
    let table = [
      ("=cmd()", "'=cmd()"), ("+1", "'+1"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"),
      ("\t=1", "'\t'=1"),
      ("\r=1", "'\r'=1"), ("＝1", "'＝1"), ("＋1", "'＋1"), ("－1", "'－1"), ("＠1", "'＠1"),
      ("a;=cmd()", "a;'=cmd()"), ("a\"=cmd()", "a\"'=cmd()"), ("a\n=cmd()", "a\n'=cmd()"),
      ("a;'=cmd()", "a;''=cmd()"), ("''=x", "''\u{27}=x"), ("'", "'"), ("'tis", "'tis"),
      ("a'", "a'"),
      ("", ""),
      ("a=b", "a=b"), ("1-2", "1-2"), ("a; b", "a; b"), ("\"'", "\"'"), ("e\u{301}=", "e\u{301}="),
      ("=\u{301}", "'=\u{301}"),
    ]
    for (text, written) in table {
      #expect(CSVText.guarded(text).unicodeScalars.elementsEqual(written.unicodeScalars), "\(text)")
      #expect(
        CSVText.unguarded(written).unicodeScalars.elementsEqual(text.unicodeScalars), "\(text)")
    }
    #expect(CSVText.unguarded("'tis '=") == "'tis '=" && CSVText.unguarded("=x") == "=x")
  }

  @Test func `numbers stay numbers in a full export, and texts are guarded`() throws {
    let folder = Exporter.folder(.csv, from: ExportSource(drafts))
    let trips = try #require(folder.files.first { $0.path == "trips.csv" })
    let text = String(decoding: trips.bytes, as: UTF8.self)
    #expect(text.contains(",'=cmd(),\"'a,\n\"\"b\"\"\","), "\(text)")
    let lodgings = try #require(folder.files.first { $0.path == "lodgings.csv" })
    #expect(String(decoding: lodgings.bytes, as: UTF8.self).contains(",-120.50,EUR,"))
  }

  @Test func `JSON of a full export is stable and has a list for every kind`() throws {
    let file = Exporter.file(.json, from: ExportSource(drafts), now: 0)
    #expect(file.bytes == Exporter.file(.json, from: ExportSource(drafts.reversed()), now: 0).bytes)
    let json = try JSON.parse(file.bytes)
    #expect(
      json["trips"]?.array?.count == 1 && json["entries"] == []
        && json["schema"] == "waymark.export/2")
    #expect(json["lodgings"]?[0]?["cost"] == ["amount": "-120.50", "currency": "EUR"])
  }
}

@Suite(.enabled(if: SharedData.isThere, "the real files of ../shared/data are missing"))
struct RealFileTests {
  @Test(arguments: [
    ("kitinerary-canceled", [0, 0, 0, 0], 1), ("kitinerary-event-full-day", [1, 0, 0, 1], 0),
    ("kitinerary-eventreservation", [1, 0, 0, 1], 0), ("kitinerary-flight", [1, 0, 1, 0], 0),
    ("kitinerary-hotel", [1, 1, 0, 0], 0), ("kitinerary-rentalcar", [1, 0, 1, 0], 0),
    ("kitinerary-train", [1, 0, 1, 0], 0), ("tripit-feed-2011", [6, 6, 23, 0], 0),
  ])
  func `calendars contain the expected trips, stays, journeys and activities`(
    name: String, counts: [Int], skipped: Int
  )
    throws
  {
    let plan = try Importer.plan(try SharedData.bytes("ics/\(name).ics"))
    let kinds = [Kind.trip, Kind.lodging, Kind.transportation, Kind.activity]
    #expect(kinds.map { plan.drafts($0).count } == counts)
    #expect(plan.skipped.count == skipped)
  }

  @Test(arguments: [
    ("kitinerary-event-full-day", "2023-12-27T00:00:00+01:00", "2023-12-30T23:59:59+01:00"),
    ("kitinerary-eventreservation", "2019-09-07T09:30:00+02:00", "2019-07-13T16:30:00+02:00"),
    ("kitinerary-flight", "2017-09-20T15:05:00+03:00", "2017-09-20T16:00:00+02:00"),
    ("kitinerary-hotel", "2017-09-19T15:00:00+03:00", "2017-09-20T12:00:00+03:00"),
    ("kitinerary-rentalcar", "2027-08-05T16:00:00-07:00", "2027-08-06T20:00:00-07:00"),
    ("kitinerary-train", "2017-09-29T18:26:00+02:00", "2017-09-29T19:52:00+02:00"),
  ])
  func `times match those that KItinerary expects`(name: String, start: String, end: String) throws {
    let plan = try Importer.plan(try SharedData.bytes("ics/\(name).ics"))
    let item = try #require(plan.drafts.first { Kind.owners.contains($0.kind) })
    #expect(item[3]?.part(0) == WrittenTime(start)?.milliseconds.map(Value.integer))
    #expect(item[4]?.part(0) == WrittenTime(end)?.milliseconds.map(Value.integer))
  }

  @Test func `a Loop archive contains its habits and entries`() throws {
    let files =
      try ["Habits.csv"]
      .map { ImportedFile(path: $0, bytes: try SharedData.bytes("loop/loop-csv-2.3.1/\($0)")) }
      + ["001 someone", "002 value habit", "003 bool habit"].map { name in
        let path = "\(name)/Checkmarks.csv"
        return ImportedFile(path: path, bytes: try SharedData.bytes("loop/loop-csv-2.3.1/\(path)"))
      }
    let plan = try Importer.plan(.folder(files))
    #expect(plan.drafts(Kind.habit).count == 3 && plan.drafts(Kind.habitEntry).count == 5)
    #expect(plan.skipped.map(\.place) == ["003 bool habit/Checkmarks.csv, line 5"])
  }

  @Test func `Surmai's sample contains its trip`() throws {
    let plan = try Importer.plan(try SharedData.bytes("surmai/trip.json"))
    let kinds = [
      Kind.trip, Kind.transportation, Kind.lodging, Kind.activity,
      Kind.organization,
    ]
    #expect(kinds.map { plan.drafts($0).count } == [1, 4, 3, 2, 4])
    #expect(plan.skipped.count == 4)
  }
}

/// Attachments that refer to the same file again and again.
struct LargeExportTests {
  private let content = [UInt8](repeating: 7, count: 400_000)

  private func source(attachments: UInt64, size: Int? = nil, isHere: Bool = true) throws
    -> ExportSource
  {
    let file = try #require(FileHasher.list(of: content)).reference
    let named = try #require(FileReference(size: size ?? file.size, id: file.id))
    var source = ExportSource(
      (1...attachments).map { number in
        RecordDraft(
          Kind.attachment, RecordID(Bytes16(0, number)), [2: .text("bomb"), 9: named.value])
      })
    if isHere { source.add(named) }
    return source
  }

  private func fileCount(_ file: ExportedFile) -> Int {
    file.parts.count { if case .base64 = $0 { true } else { false } }
  }

  @Test func `an export in memory holds at most 256 MiB, and warns about what it leaves out`() throws {
    let repeated = try source(attachments: 5, size: 100 << 20)
    let file = Exporter.file(.travelingSnails, from: repeated, now: 0)
    #expect(fileCount(file) == 2)
    let leftOut = file.warnings.filter { $0.contains("at most 256 MiB of files") }
    #expect(leftOut.count == 3, "\(file.warnings)")
    let large = Exporter.file(.json, from: try source(attachments: 2, size: 257 << 20), now: 0)
    #expect(fileCount(large) == 0)
    #expect(large.warnings.contains { $0.contains("at most 256 MiB of files") }, "\(large.warnings)")
    #expect(try JSON.parse(large.bytes)["attachments"]?[1]?["fileData"]?["bytes"] == .integer(257 << 20))
  }

  @Test
  func `an export to a file holds each file once, however large, and repeats at most 256 MiB`()
    throws
  {
    let source = try source(attachments: 5, size: 100 << 20)
    let file = Exporter.file(.travelingSnails, from: source, now: 0, isInMemory: false)
    #expect(fileCount(file) == 3)
    #expect(file.warnings.filter { $0.contains("repeated for at most 256 MiB") }.count == 2)
    let folder = Exporter.folder(.csv, from: source)
    #expect(folder.files.count { if case .file = $0.content { true } else { false } } == 3)
    #expect(folder.warnings.filter { $0.contains("repeated for at most 256 MiB") }.count == 2)
    let full = Exporter.file(.json, from: source, now: 0, isInMemory: false)
    #expect(fileCount(full) == 1 && full.warnings.isEmpty)
    let large = try self.source(attachments: 2, size: Limits.fileBytesMax)
    #expect(fileCount(Exporter.file(.json, from: large, now: 0, isInMemory: false)) == 1)
    #expect(fileCount(Exporter.file(.json, from: large, now: 0)) == 0)
  }

  @Test(arguments: [ExchangeFormat.json, .travelingSnails])
  func `the bytes of a file stand between the parts of the text`(format: ExchangeFormat) throws {
    let file = Exporter.file(format, from: try source(attachments: 2), now: 0)
    let text = file.parts.map { part in
      if case .bytes(let bytes) = part {
        String(decoding: bytes, as: UTF8.self)
      } else {
        "\"file\""
      }
    }
    let json = try JSON.parse(text.joined())
    let contents = json["attachments"]?.array?.map { $0["fileData"] }
    guard format == .json else { return #expect(contents == ["file", "file"]) }
    #expect(contents?.map { $0?["base64"] } == ["file", nil])
    #expect(contents?[1]?["file"] == contents?[0]?["file"] && contents?[1]?["bytes"] == 400_000)
  }

  @Test func `a file that is not on this device is left out, with a warning`() throws {
    let file = Exporter.file(.json, from: try source(attachments: 1, isHere: false), now: 0)
    #expect(fileCount(file) == 0)
    #expect(
      file.warnings.contains { $0.contains("is incomplete on this device") }, "\(file.warnings)")
  }

  @Test func `an attachment that import would not read back is exported with a warning`() throws {
    let large = try source(attachments: 1, size: Limits.attachmentBytesMax + 1)
    #expect(
      Exporter.file(.travelingSnails, from: large, now: 0).warnings.contains {
        $0.contains("16 MiB")
      })
    let small = try source(attachments: 1, size: Limits.attachmentBytesMax)
    #expect(
      !Exporter.file(.travelingSnails, from: small, now: 0).warnings.contains {
        $0.contains("16 MiB")
      })
  }
}
