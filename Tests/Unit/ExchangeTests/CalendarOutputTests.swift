import Records
import Testing
import Wire

@testable import Exchange

private func id(_ number: UInt64) -> RecordID { RecordID(Bytes16(6, number)) }

private func draft(_ kind: Kind, _ number: UInt64, _ values: [String: Value]) -> RecordDraft {
  var draft = RecordDraft(kind, id(number))
  for (name, value) in values { draft[kind.number(name)] = value }
  return draft
}

/// 3 May 2026, 13:00 UTC.
private let noon: Int64 = 1_777_813_200_000

/// What other programs rely on in an exported calendar, and what they may have done to it.
struct CalendarOutputTests {
  private let rome = draft(Kind.trip, 1, ["name": .text("Rome"), "startDate": .integer(noon)])

  private func activity(_ number: UInt64, _ start: Int64, _ zone: String) -> RecordDraft {
    draft(
      Kind.activity, number,
      [
        "trip": .bytes(id(1).bytes), "name": .text("Item \(number)"),
        "start": .array([.integer(start), .text(zone)]),
      ])
  }

  private func text(_ records: [RecordDraft]) -> String {
    String(decoding: Exporter.file(.ics, from: ExportSource(records), now: 0).bytes, as: UTF8.self)
  }

  /// The lines of a calendar without their folds.
  private func lines(_ text: String) -> [String] {
    text.replacing("\r\n ", with: "").replacing("\r\n", with: "\n").split(separator: "\n").map(String.init)
  }

  // MARK: Zones

  @Test func `a zone is defined with the changes of the year before its times, each at its local time`()
    throws
  {
    let lines = lines(text([rome, activity(2, noon, "Europe/Rome")]))
    let start = try #require(lines.firstIndex(of: "BEGIN:VTIMEZONE"))
    let end = try #require(lines.firstIndex(of: "END:VTIMEZONE"))
    let expected = [
      "BEGIN:VTIMEZONE", "TZID:Europe/Rome",
      "BEGIN:STANDARD", "DTSTART:20250329T140000", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0100", "END:STANDARD",
      "BEGIN:DAYLIGHT", "DTSTART:20250330T020000", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0200", "END:DAYLIGHT",
      "BEGIN:STANDARD", "DTSTART:20251026T030000", "TZOFFSETFROM:+0200", "TZOFFSETTO:+0100", "END:STANDARD",
      "BEGIN:DAYLIGHT", "DTSTART:20260329T020000", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0200", "END:DAYLIGHT",
      "END:VTIMEZONE",
    ]
    #expect(Array(lines[start...end]) == expected)
    #expect(lines.filter { $0 == "BEGIN:VTIMEZONE" }.count == 1)
  }

  @Test(arguments: ["Europe/Rome", "America/St_Johns", "Asia/Kathmandu"])
  func `a program that knows only the definition of a zone finds every time`(zone: String) throws {
    let times = [
      "2026-01-15T12:00:00Z", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z", "2026-07-01T10:00:00Z",
      "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z", "2026-12-31T23:30:00Z", "2030-06-01T12:00:00Z",
    ].compactMap { WrittenTime($0)?.milliseconds }
    let items = times.enumerated().map { activity(UInt64($0.offset) + 10, $0.element, zone) }
    // No program knows a zone of this name.
    let text = text([rome] + items).replacing(zone, with: "Here/There")
    let plan = try Importer.plan(Array(text.utf8))
    #expect(plan.drafts(Kind.activity).count == times.count)
    for item in items {
      let read = try #require(plan.drafts.first { $0.id == item.id })
      #expect(read.held("start").time == item.held("start").time, "\(zone) \(item.held("start"))")
    }
  }

  // MARK: Texts

  @Test func `no text breaks out of its line`() throws {
    var trip = rome
    trip[Kind.trip.number("name")] = .text("A\u{7}B")
    trip[Kind.trip.number("notes")] = .text("a\r\nb\rc\td\u{1}; e\nEND:VEVENT")
    let text = text([trip])
    let lines = lines(text)
    #expect(lines.contains("SUMMARY:AB"))
    #expect(lines.contains("DESCRIPTION:a\\nb\\nc\td\\; e\\nEND:VEVENT"))
    #expect(lines.filter { $0 == "END:VEVENT" }.count == 1)
    let read = try #require(try Importer.plan(Array(text.utf8)).drafts(Kind.trip).first)
    #expect(read.text("name") == "AB" && read.text("notes") == "a\nb\nc\td; e\nEND:VEVENT")
  }

  // MARK: Reading an export

  @Test func `a trip that ends before it starts comes back with both of its times`() throws {
    let dates: [String: Value] = [
      "name": .text("Rome"), "startDate": .integer(noon + 2 * 86_400_000), "endDate": .integer(noon),
    ]
    let trip = draft(Kind.trip, 1, dates)
    let plan = try Importer.plan(Array(text([trip]).utf8))
    let read = try #require(plan.drafts(Kind.trip).first)
    #expect(read.integer("startDate") == noon + 2 * 86_400_000 && read.integer("endDate") == noon)
    #expect(plan.warnings == ["trip \"Rome\" ends before it starts; it is imported unchanged"])
  }

  private func event(_ uid: RecordID, _ lines: String...) -> String {
    "BEGIN:VEVENT\nUID:\(uid.uuid)\nSUMMARY:x\n" + lines.map { "\($0)\n" }.joined() + "END:VEVENT\n"
  }

  private func plan(_ events: String...) throws -> ImportPlan {
    try Importer.plan(Array("BEGIN:VCALENDAR\n\(events.joined())END:VCALENDAR\n".utf8))
  }

  private var tripEvent: String { event(id(1), "X-WAYMARK-KIND:trip", "DTSTART;VALUE=DATE:20260503") }

  private func item(_ number: UInt64, of trip: String, kind: String = "activity") -> String {
    event(id(number), "X-WAYMARK-KIND:\(kind)", "X-WAYMARK-TRIP:\(trip)", "DTSTART:20260503T150000Z")
  }

  @Test func `an item may come before its trip, and is kept with a warning if its trip is not there`() throws
  {
    let before = try plan(item(2, of: id(1).uuid), tripEvent)
    #expect(before.warnings.isEmpty && before.skipped.isEmpty, "\(before.warnings)")
    #expect(before.drafts(Kind.activity).map { $0.held("trip") } == [.bytes(id(1).bytes)])
    let alone = try plan(item(2, of: id(9).uuid), tripEvent)
    #expect(alone.drafts(Kind.activity).map { $0.held("trip") } == [.bytes(id(9).bytes)])
    #expect(alone.warnings == ["events: an event belongs to a trip that is not in the file"])
  }

  @Test func `an event that was spoilt is skipped with the reason, and the others are read`() throws {
    let plan = try plan(
      tripEvent, item(2, of: id(1).uuid, kind: "spaceship"), item(3, of: "Rome"),
      event(id(4), "X-WAYMARK-KIND:trip", "DTSTART:20260503T150000Z"), item(5, of: id(1).uuid))
    #expect(plan.drafts.map(\.id) == [id(1), id(5)])
    let reasons = plan.skipped.map(\.reason).sorted()
    #expect(
      reasons == [
        "X-WAYMARK-KIND cannot be \"spaceship\"", "X-WAYMARK-TRIP is not a trip's id",
        "a trip must be an all-day event",
      ])
  }
}

/// Text that no calendar or table of any program is.
struct DamagedTextTests {
  private static func bytes(_ parts: String..., broken: String) -> [UInt8] {
    // A letter of Latin-1, which is no UTF-8.
    parts.flatMap { Array($0.utf8) } + [0xfc] + Array(broken.utf8)
  }

  private static func nested(_ count: Int) -> [UInt8] {
    let inner = (0..<count).map { _ in "BEGIN:X\n" } + (0..<count).map { _ in "END:X\n" }
    return Array("BEGIN:VCALENDAR\n\(inner.joined())END:VCALENDAR\n".utf8)
  }

  static let damaged: [(ExchangeFormat, [UInt8], String, String)] = [
    (.ics, Array("".utf8), "line 1", "no BEGIN:VCALENDAR"),
    (.ics, Array("BEGIN:VEVENT\nEND:VEVENT\n".utf8), "line 1", "begins with BEGIN:VCALENDAR"),
    (.ics, Array("BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VTODO\n".utf8), "line 3", "no matching BEGIN"),
    (.ics, bytes("BEGIN:VCALENDAR\nX-A:L", broken: "ufer\nEND:VCALENDAR\n"), "line 2", "not UTF-8"),
    (.ics, nested(Limits.calendarDepthMax), "line \(Limits.calendarDepthMax + 1)", "nested too deeply"),
    (
      .habitbull, bytes("HabitName,CalendarDate,Value\nRun,2026-05-03,1\nL", broken: "ufe,2026-05-03,1\n"),
      "line 3", "not UTF-8"
    ),
    (.habitbull, Array("HabitName,CalendarDate\nRun,2026-05-03\n".utf8), "line 1", "no column \"Value\""),
    (.habitbull, Array("".utf8), "line 1", "it is empty"),
  ]

  @Test(arguments: damaged)
  func `damage is refused with its place, and nothing is guessed`(
    format: ExchangeFormat, bytes: [UInt8], place: String, reason: String
  ) {
    let error = #expect(throws: ExchangeError.self) { try Importer.plan(bytes, format: format) }
    guard case .damaged(let found, let said)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(found == place && said.contains(reason), "\(found): \(said)")
  }

  @Test func `components may be nested up to the limit`() throws {
    #expect(try Importer.plan(Self.nested(Limits.calendarDepthMax - 1)).drafts.isEmpty)
  }

  @Test func `files are recognised by how they begin, in any case and after a byte-order mark`() throws {
    let calendar = "\u{FEFF}begin:vcalendar\r\nend:vcalendar\r\n"
    #expect(try Importer.plan(Array(calendar.utf8)).format == .ics)
    #expect(try Importer.plan(Array("\u{FEFF}HABITNAME,CalendarDate,Value\n".utf8)).format == .habitbull)
  }

  @Test(
    arguments: [
      ("Date,Value,Notes\n2026-05-03,2,\n", ExchangeError.isPartOfFolder),
      ("Position,Name,Color\n", .isPartOfFolder), ("<html></html>", .unknownFormat),
      ("Name,Date\n", .unknownFormat), (#"{"trips":[],"habits":[]}"#, .unknownFormat),
      (#"{"schema":"waymark.trip.list/1"}"#, .isAnswer("waymark.trip.list/1")),
    ] as [(String, ExchangeError)])
  func `a file that is no whole export is refused, with what it is`(text: String, expected: ExchangeError) {
    #expect(throws: expected) { try Importer.plan(Array(text.utf8)) }
  }

  @Test(arguments: [
    (#"{"schema":"waymark.export/2","trips":[]}"#, true), ("{ \r\n\t\"schema\" : \"waymark.export/1\"", true),
    ("\u{FEFF}{\"schema\":\"waymark.export/", true), (#"{"schema":"waymark.status/1"}"#, false),
    (#"{"trips":[],"schema":"waymark.export/2"}"#, false), ("", false), ("{", false),
  ])
  func `the files of an export are taken out of it only if it begins like one`(text: String, isExport: Bool) {
    #expect(EmbeddedFiles.isExport(Array(text.utf8)) == isExport)
  }

  @Test func `a folder is read only as an archive of Loop, and a file never is`() {
    #expect(throws: ExchangeError.isFolder) { try Importer.plan(.folder([]), format: .ics) }
    let expected = ExchangeError.wrongShape(place: "the folder", expected: "one that contains Habits.csv")
    #expect(throws: expected) { try Importer.plan(.folder([])) }
    #expect(throws: ExchangeError.isPartOfFolder) {
      try Importer.plan(Array("[]".utf8), format: .loopCSV)
    }
  }
}
