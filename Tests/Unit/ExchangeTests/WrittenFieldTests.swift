import Records
import Replication
import Testing
import Wire

@testable import Exchange

private func id(_ number: UInt64) -> RecordID { RecordID(Bytes16(5, number)) }

private func draft(_ kind: Kind, _ number: UInt64, _ values: [String: Value]) -> RecordDraft {
  var draft = RecordDraft(kind, id(number))
  for (name, value) in values { draft[kind.number(name)] = value }
  return draft
}

private func instant(_ milliseconds: Int64, _ zone: String?) -> Value {
  .array([.integer(milliseconds), zone.map(Value.text) ?? .null])
}

private func reference(_ number: UInt64) -> Value { .bytes(id(number).bytes) }

/// 3 May 2026, 13:00 UTC.
private let noon: Int64 = 1_777_813_200_000

/// The time that is this many days and hours after noon.
private func at(_ days: Int64, _ hours: Int64 = 0) -> Int64 { noon + days * 86_400_000 + hours * 3_600_000 }

/// What a calendar for other programs shows, of several trips with items in different zones.
struct CalendarWritingTests {
  private let train = draft(
    Kind.transportation, 3,
    [
      "trip": reference(1), "name": .text("Train"), "start": instant(noon, "Europe/Rome"),
      "end": instant(at(0, 1), "Asia/Tokyo"), "cost": .array([.text("12.50"), .text("EUR")]),
      "paid": .text("infull"), "notes": .text("Hat"), "organizationId": reference(9),
      "confirmation": .text("K1"),
      "type": .text("train"),
    ])

  private let rome = draft(
    Kind.trip, 1,
    [
      "name": .text("Rome"), "notes": .text("Sun"), "createdDate": .integer(at(-90)),
      "startDate": .integer(noon), "endDate": .integer(at(2, 1)), "isProtected": .bool(false),
    ])

  private let rail = draft(Kind.organization, 9, ["name": .text("Alpha Rail")])

  private let oslo = draft(
    Kind.trip, 2,
    [
      "name": .text("Oslo"), "createdDate": .integer(at(-80)), "startDate": .integer(at(-10)),
      "endDate": .integer(at(-8)), "isProtected": .bool(true),
    ])

  private let hut = draft(
    Kind.lodging, 5,
    [
      "trip": reference(2), "name": .text("Hut"), "start": instant(at(-9), "Europe/Oslo"),
      "end": instant(at(-8), nil), "cost": .array([.text("80"), .null]), "reservation": .text("R5"),
      "organizationId": .bytes(FixedRecords.noneID.bytes), "hideLocation": .bool(false),
    ])

  private let cabin = draft(
    Kind.lodging, 8,
    [
      "trip": reference(2), "name": .text("Cabin"), "start": instant(at(-10), nil),
      "end": instant(at(-9), "Europe/Oslo"), "customLocationName": .text("Fjord"), "paid": .text("none"),
      "hideLocation": .bool(false),
    ])

  private let walk = draft(
    Kind.activity, 4,
    [
      "trip": reference(2), "name": .text("Walk"), "start": instant(at(-10, 1), "Europe/Oslo"),
      "notes": .text("Boots"), "reservation": .text("R4"), "hideLocation": .bool(false),
    ])

  /// Two trips, of which the one with the higher id begins first, and whose items are in another order than their ids.
  private var records: [RecordDraft] { [rome, train, rail, oslo, hut, cabin, walk] }

  /// The lines of a calendar without their folds.
  private func lines(_ file: ExportedFile) -> [String] {
    let text = String(decoding: file.bytes, as: UTF8.self).replacing("\r\n ", with: "")
    return text.replacing("\r\n", with: "\n").split(separator: "\n").map(String.init)
  }

  private func values(_ name: String, _ lines: [String]) -> [String] {
    lines.filter { $0.hasPrefix("\(name):") }.map { String($0.dropFirst(name.count + 1)) }
  }

  @Test func `every field of several trips and their items comes back from a calendar`() throws {
    let file = Exporter.file(.ics, from: ExportSource(records), now: 0)
    #expect(file.warnings.isEmpty, "\(file.warnings)")
    let plan = try Importer.plan(file.bytes)
    #expect(plan.skipped.isEmpty && plan.warnings.isEmpty, "\(plan.skipped) \(plan.warnings)")
    for record in records {
      let read = try #require(plan.drafts.first { $0.key == record.key })
      for field in record.kind.fields {
        let (given, found) = (record[field.number] ?? .null, read[field.number] ?? .null)
        #expect(found == given, "\(record.text("name") ?? ""): \(field.name)")
      }
    }
  }

  @Test func `trips are in the order of their starts, each followed by its own items`() {
    let both = lines(Exporter.file(.ics, from: ExportSource(records), now: 0))
    #expect(values("SUMMARY", both) == ["Oslo", "Cabin", "Hut", "Walk", "Rome", "Train"])
    #expect(values("X-WR-CALNAME", both) == ["Waymark"])
    let one = lines(Exporter.file(.ics, from: ExportSource(records), now: 0, trip: id(1)))
    #expect(values("SUMMARY", one) == ["Rome", "Train"])
    #expect(values("X-WR-CALNAME", one) == ["Rome"])
    // The zones of both ends are defined, and no others.
    #expect(values("TZID", one) == ["Asia/Tokyo", "Europe/Rome"])
    #expect(one.contains("DTSTART;TZID=Europe/Rome:20260503T150000"))
    #expect(one.contains("DTEND;TZID=Asia/Tokyo:20260503T230000"))
    #expect(one.contains("DTSTART;VALUE=DATE:20260503") && one.contains("DTEND;VALUE=DATE:20260506"))
  }

  @Test func `a description has the details of its own item, and no organization where there is none`() {
    let lines = lines(Exporter.file(.ics, from: ExportSource(records), now: 0))
    let expected = [
      "Reservation: R5\\nCost: 80", "Boots\\n\\nReservation: R4", "Sun",
      "Hat\\n\\nConfirmation: K1\\nCost: 12.50 EUR\\nWith: Alpha Rail",
    ]
    #expect(values("DESCRIPTION", lines) == expected)
    #expect(values("X-WAYMARK-COST;CURRENCY=EUR", lines) == ["12.50"])
    #expect(values("X-WAYMARK-COST", lines) == ["80"])
    #expect(values("LOCATION", lines) == ["Fjord"])
  }

  @Test func `a trip without dates is shown on the days of its items, and still has none when it is read`()
    throws
  {
    let stay = draft(
      Kind.lodging, 5,
      ["trip": reference(1), "name": .text("Hut"), "start": instant(noon, nil), "end": instant(at(1), nil)])
    let tour = draft(
      Kind.activity, 4, ["trip": reference(1), "name": .text("Walk"), "start": instant(at(2), nil)])
    let undated = draft(Kind.activity, 6, ["trip": reference(1), "name": .text("Some day")])
    let trips = [draft(Kind.trip, 1, ["name": .text("Open")]), draft(Kind.trip, 2, ["name": .text("Bare")])]
    let leg = draft(Kind.leg, 7, ["transportationID": reference(3)])
    let records = trips + [stay, tour, undated, leg]
    let file = Exporter.file(.ics, from: ExportSource(records), now: 0)
    let written = lines(file)
    #expect(values("DTSTART;VALUE=DATE", written) == ["20260503"])
    #expect(values("DTEND;VALUE=DATE", written) == ["20260506"])
    #expect(values("SUMMARY", written) == ["Open", "Hut", "Walk"])
    #expect(file.warnings.count == 3, "\(file.warnings)")
    for text in ["\"Bare\" has no dates", "\"Some day\" has no start", "legs of journeys"] {
      #expect(file.warnings.contains { $0.contains(text) }, "\(text)")
    }
    let trip = try #require(try Importer.plan(file.bytes).drafts(Kind.trip).first)
    #expect(trip.held("startDate") == .null && trip.held("endDate") == .null)
  }

  @Test func `what another program changed in a calendar is read, and the rest keeps its exact values`()
    throws
  {
    let place = draft(
      Kind.activity, 4,
      [
        "trip": reference(1), "name": .text("Walk"), "start": instant(noon, "Europe/Rome"),
        "end": instant(at(0, 1), "Asia/Tokyo"), "customLocationName": .text("Forum"), "notes": .text("Boots"),
        "reservation": .text("R4"),
      ])
    let file = Exporter.file(.ics, from: ExportSource([rome, train, rail, place]), now: 0)
    var text = String(decoding: file.bytes, as: UTF8.self)
    let edits = [
      ("DTSTART;VALUE=DATE:20260503", "DTSTART;VALUE=DATE:20260504"), ("LOCATION:Forum", "LOCATION:Circus"),
      ("DESCRIPTION:Boots\\n\\n", "DESCRIPTION:Shoes\\n\\n"), ("SUMMARY:Train", "SUMMARY:Night train"),
      (
        "DTEND;TZID=Asia/Tokyo:20260503T230000\r\nDESCRIPTION:Hat",
        "DTEND:20260503T160000Z\r\nDESCRIPTION:Hat"
      ),
    ]
    for (old, new) in edits {
      #expect(text.contains(old), "\(old)")
      text = text.replacing(old, with: new)
    }
    let plan = try Importer.plan(Array(text.utf8))
    let trip = try #require(plan.drafts(Kind.trip).first)
    // A day has no time, so the moved start is its beginning.
    #expect(trip.integer("startDate") == 1_777_852_800_000)
    #expect(trip.integer("endDate") == at(2, 1))
    let walk = try #require(plan.drafts(Kind.activity).first)
    #expect(walk.text("customLocationName") == "Circus" && walk.text("notes") == "Shoes")
    #expect(walk.held("start") == instant(noon, "Europe/Rome"))
    #expect(walk.held("end") == instant(at(0, 1), "Asia/Tokyo"))
    let journey = try #require(plan.drafts(Kind.transportation).first)
    #expect(journey.text("name") == "Night train" && journey.text("notes") == "Hat")
    #expect(journey.held("start") == instant(noon, "Europe/Rome"))
    #expect(journey.held("end") == instant(1_777_824_000_000, nil))
    #expect(journey.held("cost") == .array([.text("12.50"), .text("EUR")]))
  }
}

/// What an archive for Loop has, of several habits with entries on the same days.
struct LoopWritingTests {
  private func entry(_ number: UInt64, _ habit: UInt64, _ day: String, _ value: Double?) -> RecordDraft {
    let date = Value.array([.integer(noon), .text("Europe/Rome"), .text(day)])
    return draft(
      Kind.habitEntry, number,
      ["habitID": reference(habit), "date": date, "value": value.map(Value.float) ?? .null])
  }

  private let water = draft(
    Kind.habit, 1,
    [
      "name": .text("Water"), "kind": .text("numeric"), "notes": .text("Hat"), "colorHex": .text("#112233"),
      "unitLabel": .text("l"), "dailyTarget": .float(2.5), "schedule": .text("daily"),
      "isActive": .bool(false),
      "displayOrder": .integer(1),
    ])

  private let run = draft(
    Kind.habit, 2,
    [
      "name": .text("Run"), "kind": .text("binary"), "displayOrder": .integer(0),
      "schedule": .array([.integer(1), .integer(3), .integer(5)]), "unitLabel": .text("km"),
      "emoji": .text("🏃"),
    ])

  private var records: [RecordDraft] {
    let amounts: [(day: String, amount: Double)] = [
      ("2026-07-03", 0), ("2026-07-04", 1.5), ("2026-07-04", 0.25), ("2026-07-02", 0.002),
      ("2026-07-01", 0.003),
      ("2026-06-30", 0.0004),
    ]
    let ticks: [(day: String, amount: Double?)] = [("2026-07-03", nil), ("2026-07-04", 1), ("2026-07-04", 1)]
    let ofWater = amounts.enumerated().map { entry(10 + UInt64($0), 1, $1.day, $1.amount) }
    let ofRun = ticks.enumerated().map { entry(20 + UInt64($0), 2, $1.day, $1.amount) }
    return [water, run] + ofWater + ofRun
  }

  @Test func `each habit of an archive has its own row, folder and sums of its days, the latest first`() {
    let folder = Exporter.folder(.loopCSV, from: ExportSource(records))
    #expect(folder.files.map(\.path) == ["Habits.csv", "001 Run/Checkmarks.csv", "002 Water/Checkmarks.csv"])
    let texts = folder.files.map { String(decoding: $0.bytes, as: UTF8.self).replacing("\r\n", with: "\n") }
    let rows = texts[0].split(separator: "\n").dropFirst()
    #expect(
      Array(rows) == [
        "001,Run,YES_NO,,,3,7,#2DA9E3,,,,false",
        "002,Water,NUMERICAL,,Hat,1,1,#112233,l,AT_LEAST,2.5,true",
      ])
    #expect(texts[1] == "Date,Value,Notes\n2026-07-04,YES_MANUAL,\n2026-07-03,YES_MANUAL,\n")
    // A sum of 1.75 is 1750 thousandths. In Loop, 1 and 3 thousandths have other meanings.
    let sums = "2026-07-04,1750,\n2026-07-03,NO,\n2026-07-02,YES_MANUAL,\n2026-06-30,NO,\n"
    #expect(texts[2] == "Date,Value,Notes\n" + sums)
  }

  @Test func `what an archive for Loop can't represent is named with its own habit and day`() {
    let warnings = Exporter.folder(.loopCSV, from: ExportSource(records)).warnings
    let expected = [
      "habit \"Run\": Loop has no weekdays; exported as 3 times in 7 days",
      "habit \"Run\": Loop has no emoji",
      "habit \"Water\", 2026-07-01: Loop can't represent 0.003, which is left out",
      "habit \"Water\", 2026-06-30: Loop stores thousandths, so 0.0004 is rounded",
    ]
    #expect(warnings.count == expected.count, "\(warnings)")
    for warning in expected { #expect(warnings.contains(warning), "\(warning)") }
  }
}
