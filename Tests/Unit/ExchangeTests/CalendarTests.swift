import Exchange
import Foundation
import JSONDocument
import Records
import Testing
import Wire

private func plan(_ events: String, before: String = "") throws -> ImportPlan {
  try Importer.plan(Array("BEGIN:VCALENDAR\n\(before)\(events)END:VCALENDAR\n".utf8))
}

private func event(_ lines: String...) -> String {
  "BEGIN:VEVENT\nUID:a\nSUMMARY:Tour\n" + lines.map { "\($0)\n" }.joined() + "END:VEVENT\n"
}

extension ImportPlan {
  fileprivate var activity: RecordDraft? { drafts(Kind.activity).first }

  fileprivate func time(_ name: String) -> String? {
    guard let value = activity?.held(name), let time = value.time else { return nil }
    var zone: String?
    if case .text(let held) = value.part(1) { zone = held }
    return "\(timeText(milliseconds: time)) \(zone ?? "-")"
  }
}

struct CalendarTests {
  @Test(arguments: [
    ("", "DTSTART:20260503T150000Z", "2026-05-03T15:00:00Z -"),
    ("", "DTSTART;TZID=Europe/Rome:20260503T150000", "2026-05-03T13:00:00Z Europe/Rome"),
    (
      "", "DTSTART;TZID=\"/mozilla.org/2005/Europe/Rome\":20260503T150000", "2026-05-03T13:00:00Z Europe/Rome"
    ),
    ("", "DTSTART;TZID=W. Europe Standard Time:20260503T150000", "2026-05-03T13:00:00Z Europe/Berlin"),
    ("", "DTSTART:20260503T150000", "2026-05-03T15:00:00Z -"),
    ("X-WR-TIMEZONE:Asia/Tokyo\n", "DTSTART:20260503T150000", "2026-05-03T06:00:00Z Asia/Tokyo"),
    ("", "DTSTART;TZID=Nowhere:20260503T150000", "2026-05-03T15:00:00Z -"),
    (
      "BEGIN:VTIMEZONE\nTZID:Here\nX-LIC-LOCATION:Asia/Tokyo\nEND:VTIMEZONE\n",
      "DTSTART;TZID=Here:20260503T150000",
      "2026-05-03T06:00:00Z Asia/Tokyo"
    ),
    (
      "BEGIN:VTIMEZONE\nTZID:Here\nBEGIN:STANDARD\nDTSTART:19701025T030000\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\n"
        + "TZOFFSETTO:+0100\nEND:STANDARD\nBEGIN:DAYLIGHT\nDTSTART:19700329T020000\n"
        + "RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\nTZOFFSETTO:+0200\nEND:DAYLIGHT\nEND:VTIMEZONE\n",
      "DTSTART;TZID=Here:20260503T150000", "2026-05-03T13:00:00Z -"
    ),
    ("", "DTSTART;VALUE=DATE:20260503", "2026-05-03T00:00:00Z -"),
  ])
  func `a time is read in the zone that its calendar defines`(zones: String, line: String, time: String)
    throws
  {
    #expect(try plan(event(line), before: zones).time("start") == time)
  }

  @Test(arguments: [
    (["DTSTART;VALUE=DATE:20260503", "DTEND;VALUE=DATE:20260505"], "2026-05-04T23:59:59Z -"),
    (["DTSTART;VALUE=DATE:20260503"], "2026-05-03T23:59:59Z -"),
    (["DTSTART:20260503T150000Z", "DURATION:PT1H30M"], "2026-05-03T16:30:00Z -"),
    (["DTSTART;VALUE=DATE:20260503", "DURATION:P2D"], "2026-05-04T23:59:59Z -"),
  ])
  func `an end is exclusive for whole days`(lines: [String], end: String) throws {
    let text = "BEGIN:VEVENT\nUID:a\nSUMMARY:Tour\n" + lines.joined(separator: "\n") + "\nEND:VEVENT\n"
    #expect(try plan(text).time("end") == end)
  }

  // In Berlin, clocks go forward on 29 March 2026.

  @Test(arguments: [
    (["DTSTART;VALUE=DATE:20260329"], "2026-03-29T21:59:59Z Europe/Berlin"),
    (["DTSTART;VALUE=DATE:20260329", "DTEND;VALUE=DATE:20260329"], "2026-03-29T21:59:59Z Europe/Berlin"),
    (["DTSTART;VALUE=DATE:20260328", "DURATION:P2D"], "2026-03-29T21:59:59Z Europe/Berlin"),
    (["DTSTART:20260328T120000", "DURATION:P1DT1H"], "2026-03-29T11:00:00Z Europe/Berlin"),
  ])
  func `a day on which clocks change is a whole day`(lines: [String], end: String) throws {
    let text = event(lines.joined(separator: "\n"))
    #expect(try plan(text, before: "X-WR-TIMEZONE:Europe/Berlin\n").time("end") == end)
  }

  @Test(arguments: ["DTEND;VALUE=DATE:20260507", "DURATION:P5D"])
  func `an exported trip keeps its exact end on its last day, however that is written`(end: String) throws {
    let trip = event(
      "X-WAYMARK-KIND:trip", "DTSTART;VALUE=DATE:20260502", end, "X-WAYMARK-END:20260506T120000Z")
    #expect(try plan(trip).drafts(Kind.trip).first?.integer("endDate") == 1_778_068_800_000)
  }

  @Test func `folds inside a character, escapes and both line endings are read`() throws {
    let e = Array("é".utf8)
    var bytes = Array(
      "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTART:20260503T150000Z\nSUMMARY:Caf".utf8)
    bytes += [e[0], 0x0d, 0x0a, 0x20, e[1]]
    bytes += Array("\\, bar\\; \\\\ \\n!\nX-OTHER;A=\"b:c;d\":x\n\nEND:VEVENT\nEND:VCALENDAR\n".utf8)
    let plan = try Importer.plan(bytes)
    #expect(plan.activity?.text("name") == "Café, bar; \\ \n!")
  }

  @Test(arguments: [
    ("RRULE:FREQ=DAILY", "recurring"), ("RECURRENCE-ID:20260503T150000Z", "recurring"),
    ("STATUS:CANCELLED", "cancelled"),
    ("DURATION:soon", "DURATION"),
  ])
  func `an event that does not fit into a record is skipped with its line and the reason`(
    line: String, reason: String
  ) throws {
    let plan = try plan(event("DTSTART:20260503T150000Z", line))
    #expect(plan.drafts.isEmpty)
    #expect(plan.skipped.map(\.place) == ["line 2"])
    #expect(plan.skipped[0].reason.contains(reason))
  }

  @Test(arguments: [
    ("SEQUENCE:2", "SEQUENCE:3"),
    ("LAST-MODIFIED:20260101T100000Z", "LAST-MODIFIED:20260301T100000Z"),
  ])
  func `an edited event is an update, and of two versions the newer one counts`(
    earlier: String, later: String
  ) throws {
    let old = event("DTSTART:20260503T150000Z", earlier).replacing("Tour", with: "Old")
    let new = event("DTSTART:20260503T160000Z", later)
    let both = try plan(new + old)
    #expect(both.activity?.text("name") == "Tour" && both.skipped.count == 1)
    #expect(try plan(old).activity?.id == both.activity?.id)
  }

  @Test func `several calendars become several trips, and an event that ends before it starts is flagged`()
    throws
  {
    let one = "BEGIN:VCALENDAR\nX-WR-CALNAME:A\n\(event("DTSTART:20260503T150000Z"))END:VCALENDAR\n"
    let two = one.replacing("CALNAME:A", with: "CALNAME:B").replacing("UID:a", with: "UID:b")
      .replacing("DTSTART:20260503T150000Z", with: "DTSTART:20260503T150000Z\nDTEND:20260403T150000Z")
    let plan = try Importer.plan(Array((one + two).utf8))
    #expect(plan.drafts(Kind.trip).compactMap { $0.text("name") }.sorted() == ["A", "B"])
    #expect(plan.warnings.contains { $0.contains("ends before it starts") })
  }

  @Test(arguments: [
    ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\n", "line 2"), ("BEGIN:VCALENDAR\nEND:VEVENT\n", "line 2"),
    ("BEGIN:VCALENDAR\nno colon\nEND:VCALENDAR\n", "line 2"),
    ("BEGIN:VCALENDAR\nEND:VCALENDAR\nX:1\n", "line 3"),
  ])
  func `a damaged calendar is refused with its line`(text: String, place: String) {
    do {
      _ = try Importer.plan(Array(text.utf8))
      Issue.record("it was read")
    } catch {
      #expect("\(error)".contains(place), "\(error)")
    }
  }

  @Test func `stays and rental cars of TripIt become one record from two events`() throws {
    func item(_ uid: String, _ time: String, _ name: String, _ marker: String) -> String {
      "BEGIN:VEVENT\nUID:item-\(uid)@tripit.com\nDTSTART:\(time)\nSUMMARY:\(name)\n"
        + "DESCRIPTION:http://t/trip/show/id/7\\n[\(marker)] Rosa\\; conf #K7 \\nx\nEND:VEVENT\n"
    }
    let trip =
      "BEGIN:VEVENT\nUID:t@tripit.com\nDTSTART;VALUE=DATE:20260503\nDTEND;VALUE=DATE:20260506\nSUMMARY:Rome\n"
      + "DESCRIPTION:http://t/trip/show/id/7\nEND:VEVENT\n"
    let plan = try plan(
      trip + item("b", "20260505T080000Z", "Check-out: Rosa", "Lodging")
        + item("a", "20260503T140000Z", "Check-in: Rosa", "Lodging")
        + item("c", "20260503T120000Z", "Pick-up Rental Car: Rosa", "Car Rental")
        + item("d", "20260601T120000Z", "Museum", "Activity"))
    let stay = try #require(plan.drafts(Kind.lodging).first)
    #expect(stay.text("name") == "Rosa" && stay.text("reservation") == "K7")
    #expect(stay.held("start").time == 1_777_816_800_000 && stay.held("end").time == 1_777_968_000_000)
    #expect(plan.drafts(Kind.trip).first?.integer("endDate") == 1_777_939_200_000)
    #expect(plan.drafts(Kind.transportation).count == 1 && plan.drafts(Kind.activity).count == 1)
    #expect(plan.warnings.contains { $0.contains("no counterpart") })
  }

  @Test func `an item of TripIt without a link belongs to the trip on whose days it begins`() throws {
    func trip(_ number: Int, _ first: Int, _ end: Int) -> String {
      "BEGIN:VEVENT\nUID:t\(number)@tripit.com\nDTSTART;VALUE=DATE:202605\(first)\n"
        + "DTEND;VALUE=DATE:202605\(end)\nSUMMARY:Trip \(number)\n"
        + "DESCRIPTION:http://t/trip/show/id/\(number)\nEND:VEVENT\n"
    }
    func item(_ time: String) -> String {
      "BEGIN:VEVENT\nUID:item-\(time)@tripit.com\nDTSTART:202605\(time)\nSUMMARY:\(time)\n"
        + "DESCRIPTION:[Activity] Walk\nEND:VEVENT\n"
    }
    // One trip follows the other, and a third begins after a day at home. An item of the day after the last one may be
    // an evening west of Greenwich.
    let plan = try plan(
      trip(1, 13, 16) + trip(2, 16, 18) + trip(3, 19, 21)
        + ["15T230000Z", "16T000000Z", "16T120000Z", "18T020000Z", "21T030000Z"].map(item).joined())
    let trips = Dictionary(
      uniqueKeysWithValues: plan.drafts(Kind.trip).map { (Value.bytes($0.id.bytes), $0.text("name")) })
    let found = plan.drafts(Kind.activity).map {
      "\($0.text("name") ?? "") \(trips[$0.held("trip")].flatMap { $0 } ?? "")"
    }
    #expect(
      found.sorted() == [
        "15T230000Z Trip 1", "16T000000Z Trip 2", "16T120000Z Trip 2", "18T020000Z Trip 2",
        "21T030000Z Trip 3",
      ])
  }
}

extension RecordDraft {
  fileprivate func held(_ name: String) -> Value { self[kind.number(name)] ?? .null }

  func text(_ name: String) -> String? {
    guard case .text(let text) = self[kind.number(name)] else { return nil }
    return text
  }

  func integer(_ name: String) -> Int64? {
    guard case .integer(let number) = self[kind.number(name)] else { return nil }
    return number
  }
}

extension Value {
  fileprivate var time: Int64? {
    guard case .integer(let time) = part(0) else { return nil }
    return time
  }
}

/// Calendars that must be read in time proportional to their size.
struct LargeCalendarTests {
  /// The processor time, in seconds, for reading a file of this many calendars; unaffected by other processes.
  private func seconds(reading count: Int) throws -> Double {
    let calendars = (1...count).map { number in
      "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:\(number)\nDTSTART:20260503\nEND:VEVENT\nEND:VCALENDAR\n"
    }
    let bytes = Array(calendars.joined().utf8)
    let start = processorSeconds()
    let plan = try Importer.plan(bytes)
    let end = processorSeconds()
    #expect(plan.drafts(Kind.activity).count == count)
    #expect(plan.drafts(Kind.trip).count == count)
    return end - start
  }

  /// The processor time of this thread.
  private func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
  }

  @Test func `ten times as many calendars take about ten times as long to read`() throws {
    let few = try seconds(reading: 1_500)
    let many = try seconds(reading: 15_000)
    // When each calendar filtered all events, this factor was above sixty.
    #expect(many < 30 * few, "\(few) s, then \(many) s")
  }

  @Test func `a zone with very many transitions is read once, and only the first thousand`() throws {
    let dates = (0..<20_000).map { "\(20_000_101 + $0 % 28)T\(100_000 + $0 % 60)" }.joined(separator: ",")
    let zone = """
      BEGIN:VTIMEZONE
      TZID:Here
      BEGIN:STANDARD
      DTSTART:19700101T000000
      TZOFFSETTO:+0130
      RDATE:\(dates)
      END:STANDARD
      END:VTIMEZONE

      """
    let events = (1...3_000).map { number in
      "BEGIN:VEVENT\nUID:\(number)\nDTSTART;TZID=Here:20260503T150000\nEND:VEVENT\n"
    }
    let plan = try plan(events.joined(), before: zone)
    #expect(plan.drafts(Kind.activity).count == 3_000)
    #expect(plan.drafts(Kind.activity).allSatisfy { $0.held("start").time == 1_777_815_000_000 })
  }

  @Test func `reading ends with its task`() async throws {
    let event = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\nDTSTART:20260503\nEND:VEVENT\nEND:VCALENDAR\n"
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try Importer.plan(Array(event.utf8))
    }
    task.cancel()
    await #expect(throws: ExchangeError.self) { try await task.value }
  }
}
