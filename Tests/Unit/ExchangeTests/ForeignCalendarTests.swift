import Records
import Testing
import Wire

@testable import Exchange

private func plan(_ text: String, before: String = "") throws -> ImportPlan {
  try Importer.plan(Array("BEGIN:VCALENDAR\n\(before)\(text)END:VCALENDAR\n".utf8))
}

private func event(_ lines: String...) -> String { event(lines) }

private func event(_ lines: [String]) -> String {
  "BEGIN:VEVENT\n" + lines.map { "\($0)\n" }.joined() + "END:VEVENT\n"
}

private func time(_ value: Value) -> String? { value.time.map { timeText(milliseconds: $0) } }

/// Events of other programs that lack something, or have more than a record can hold.
struct ForeignCalendarTests {
  @Test func `events without a UID are told apart by their time and name`() throws {
    let events = [
      event("SUMMARY:Tour", "DTSTART:20260503T150000Z"), event("SUMMARY:Tour", "DTSTART:20260504T150000Z"),
      event("SUMMARY:Walk", "DTSTART:20260503T150000Z"),
    ]
    let plan = try plan(events.joined())
    #expect(plan.skipped.isEmpty, "\(plan.skipped)")
    let ids = Set(plan.drafts(Kind.activity).map(\.id.uuid))
    #expect(ids.count == 3)
    // Read again, in another order and with one of them twice, they are the same records.
    let again = try Importer.plan(
      Array("BEGIN:VCALENDAR\n\(events.reversed().joined())\(events[0])END:VCALENDAR\n".utf8))
    #expect(Set(again.drafts(Kind.activity).map(\.id.uuid)) == ids)
    #expect(again.skipped.count == 1)
  }

  @Test(arguments: [
    (["SUMMARY:Tour"], "no DTSTART"),
    (["DTSTART:20260503T150000Z", "RDATE:20260510T150000Z"], "recurring event (RDATE)"),
    (["DTSTART:20260503T150000Z", "STATUS:cancelled"], "it is cancelled"),
    (["DTSTART:20260230T150000Z"], "DTSTART cannot be"), (["DTSTART:20260503T240000Z"], "DTSTART cannot be"),
    (["DTSTART:20260503T156000Z"], "DTSTART cannot be"), (["DTSTART:20260503T150000X"], "DTSTART cannot be"),
    (["DTSTART:2026050"], "DTSTART cannot be"), (["DTSTART:2026-05-03"], "DTSTART cannot be"),
    (["DTSTART:20260503T150000Z", "DTEND:soon"], "DTEND cannot be"),
  ])
  func `an event that can't be read is skipped with the reason`(lines: [String], reason: String) throws {
    let plan = try plan(event(["UID:a"] + lines) + event("UID:b", "DTSTART:20260503T150000Z"))
    #expect(plan.drafts(Kind.activity).count == 1)
    #expect(plan.skipped.map(\.place) == ["line 2"])
    #expect(plan.skipped.first?.reason.contains(reason) == true, "\(plan.skipped)")
  }

  @Test(arguments: ["P", "1H", "P2", "P1X", "P-1D", "P36526D", "PT99999999999S", "P9999999999W"])
  func `a length that is none, or of more than a century, is refused`(length: String) throws {
    let plan = try plan(event("UID:a", "DTSTART:20260503T150000Z", "DURATION:\(length)"))
    #expect(plan.drafts.isEmpty)
    #expect(plan.skipped.first?.reason.hasPrefix("DURATION cannot be \"\(length)\"") == true)
  }

  @Test(arguments: [
    ("-PT1H", "2026-05-03T14:00:00Z"), ("+P1DT90S", "2026-05-04T15:01:30Z"),
    ("P1W", "2026-05-10T15:00:00Z"), ("P36525D", "2126-05-04T15:00:00Z"),
  ])
  func `a length has a sign and units from seconds to weeks`(length: String, end: String) throws {
    let plan = try plan(event("UID:a", "DTSTART:20260503T150000Z", "DURATION:\(length)"))
    let activity = try #require(plan.drafts(Kind.activity).first)
    #expect(time(activity.held("end")) == end)
    #expect(time(activity.held("start")) == "2026-05-03T15:00:00Z")
  }

  @Test func `a leap second is the second before it`() throws {
    let activity = try #require(
      try plan(event("UID:a", "DTSTART:20161231T235960Z")).drafts(Kind.activity).first)
    #expect(time(activity.held("start")) == "2016-12-31T23:59:59Z")
  }

  @Test func `components that are no events are skipped by name, and zones are no such components`() throws {
    let plan = try plan(
      "BEGIN:VTODO\nUID:t\nEND:VTODO\n" + event("UID:a", "DTSTART:20260503T150000Z"),
      before: "BEGIN:VTIMEZONE\nTZID:Here\nEND:VTIMEZONE\n")
    #expect(plan.skipped == [SkippedRow(place: "line 5", reason: "VTODO: not an event")])
    #expect(plan.drafts(Kind.activity).count == 1)
  }

  @Test func `what no record can hold is named once, with the number of events that have it`() throws {
    let start = "DTSTART:20260503T150000Z"
    let alarm = "BEGIN:VALARM\nTRIGGER:-PT5M\nEND:VALARM"
    let plan = try plan(
      event("UID:a", start, "ATTENDEE:mailto:alice@example.org", "GEO:1;2")
        + event("UID:b", start, "ATTENDEE:mailto:bob@example.org", alarm) + event("UID:c", start))
    #expect(plan.drafts(Kind.activity).count == 3)
    #expect(
      plan.warnings == [
        "events: ATTENDEE is not supported and is left out (2 times)",
        "events: GEO is not supported and is left out",
        "events: a reminder (VALARM) is not supported and is left out",
      ])
  }

  @Test(
    arguments: [
      ("", "DTSTART:20260503T150000Z", nil), ("", "DTSTART;VALUE=DATE:20260503", nil),
      ("", "DTSTART;TZID=Europe/Rome:20260503T150000", nil),
      ("X-WR-TIMEZONE:Europe/Rome\n", "DTSTART:20260503T150000", nil),
      ("", "DTSTART:20260503T150000", "a time has no zone; its local time is kept as UTC"),
      (
        "", "DTSTART;TZID=Nowhere:20260503T150000",
        "the zone \"Nowhere\" is unknown; its local times are kept as UTC"
      ),
      (
        "BEGIN:VTIMEZONE\nTZID:Here\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETTO:+0100\nEND:STANDARD\n"
          + "END:VTIMEZONE\n", "DTSTART;TZID=Here:20260503T150000",
        "the zone \"Here\" has no IANA name; its times are converted to UTC"
      ),
    ] as [(String, String, String?)])
  func `a time whose zone is unknown is imported with a warning, and no other`(
    zones: String, line: String, remark: String?
  ) throws {
    let plan = try plan(event("UID:a", line), before: zones)
    #expect(plan.drafts(Kind.activity).count == 1)
    #expect(plan.warnings == [remark].compactMap { $0 }.map { "events: \($0)" })
  }

  @Test func `an item of TripIt belongs to the trip that its link names, whatever its day`() throws {
    func trip(_ number: Int, _ first: Int) -> String {
      event(
        "UID:t\(number)@tripit.com", "SUMMARY:Trip \(number)", "DTSTART;VALUE=DATE:202605\(first)",
        "DTEND;VALUE=DATE:202605\(first + 3)", "DESCRIPTION:https://t/trip?id=\(number)")
    }
    func item(_ name: String, _ notes: String) -> String {
      event(
        "UID:item-\(name)@tripit.com", "SUMMARY:\(name)", "DTSTART:20260511T100000Z", "DESCRIPTION:\(notes)")
    }
    let plan = try plan(
      trip(7, 10) + trip(8, 20) + trip(81, 25) + item("a", "https://t/trip/show/id/8\\n[Activity] Walk")
        + item("b", "https://t/item?id=81 \\n[Activity] Walk") + item("c", "[Activity] Walk"))
    let texts = FieldTexts(plan.drafts)
    #expect(
      ["a", "b", "c"].map { texts.record(Kind.activity, $0)["trip"] } == ["Trip 8", "Trip 81", "Trip 7"])
    #expect(plan.warnings.isEmpty && plan.skipped.isEmpty, "\(plan.warnings)")
  }

  // MARK: The trip of a calendar

  private func trip(_ plan: ImportPlan) -> String? { plan.drafts(Kind.trip).first?.text("name") }

  @Test func `a calendar without a name has a trip named after its event or its days, always the same one`()
    throws
  {
    let tour = event("UID:b", "SUMMARY:Tour", "DTSTART:20260503T150000Z")
    let walk = event("UID:a", "SUMMARY:Walk", "DTSTART:20260505T100000Z")
    let evening = event("UID:c", "SUMMARY:Dinner", "DTSTART:20260503T190000Z")
    #expect(try trip(plan(tour)) == "Tour")
    #expect(try trip(plan(tour + evening)) == "Calendar of 2026-05-03")
    let both = [try plan(tour + walk), try plan(walk + tour)]
    #expect(
      both.map(trip) == ["Calendar of 2026-05-03 to 2026-05-05", "Calendar of 2026-05-03 to 2026-05-05"])
    let ids = both.compactMap { $0.drafts(Kind.trip).first?.id }
    #expect(ids.count == 2 && ids[0] == ids[1])
    // Another name of a calendar is another trip.
    let named = try plan(tour + walk, before: "X-WR-CALNAME: Rome \n")
    #expect(trip(named) == "Rome")
    #expect(named.drafts(Kind.trip).first?.id != ids.first)
  }

  @Test func `a calendar whose name no trip can have keeps its events, with another name`() throws {
    let long = String(repeating: "x", count: 1_001)
    let plan = try plan(event("UID:a", "DTSTART:20260503T150000Z"), before: "X-WR-CALNAME:\(long)\n")
    let trip = try #require(plan.drafts(Kind.trip).first)
    #expect(trip.text("name") == "Calendar of 2026-05-03")
    #expect(plan.drafts(Kind.activity).map { $0.held("trip") } == [.bytes(trip.id.bytes)])
    #expect(plan.warnings.contains { $0.contains("can't be used as a trip's name") }, "\(plan.warnings)")
  }

  // MARK: Zones

  private static func rule(_ name: String, _ start: String, _ rule: String) -> String {
    let (from, to) = name == "DAYLIGHT" ? ("-0500", "-0400") : ("-0400", "-0500")
    return "BEGIN:\(name)\nDTSTART:\(start)\nTZOFFSETFROM:\(from)\nTZOFFSETTO:\(to)\n"
      + "RRULE:FREQ=YEARLY;\(rule)\nEND:\(name)\n"
  }

  /// New York as calendars define it: its rules until 2006, and those since.
  private static let newYork =
    "BEGIN:VTIMEZONE\nTZID:Here\n"
    + rule("DAYLIGHT", "19870405T020000", "BYMONTH=4;BYDAY=1SU;UNTIL=20060402T070000Z")
    + rule("STANDARD", "19671029T020000", "BYMONTH=10;BYDAY=-1SU;UNTIL=20061029T060000Z")
    + rule("DAYLIGHT", "20070311T020000", "BYMONTH=3;BYDAY=2SU")
    + rule("STANDARD", "20071104T020000", "BYMONTH=11;BYDAY=1SU") + "END:VTIMEZONE\n"

  @Test(arguments: [
    // Before the first change of the year, the last one of the year before counts.
    ("20260115T120000", "2026-01-15T17:00:00Z"), ("20260308T015900", "2026-03-08T06:59:00Z"),
    ("20260308T030000", "2026-03-08T07:00:00Z"), ("20260703T120000", "2026-07-03T16:00:00Z"),
    // By the former rule, clocks would have changed two days before.
    ("20261027T120000", "2026-10-27T16:00:00Z"), ("20261101T015900", "2026-11-01T05:59:00Z"),
    ("20261101T020000", "2026-11-01T07:00:00Z"), ("20060701T120000", "2006-07-01T16:00:00Z"),
    ("20061215T120000", "2006-12-15T17:00:00Z"), ("19500101T120000", "1950-01-01T17:00:00Z"),
  ])
  func `a zone without a known name is read by its rules for that day`(local: String, utc: String) throws {
    let plan = try plan(event("UID:a", "DTSTART;TZID=Here:\(local)"), before: Self.newYork)
    let activity = try #require(plan.drafts(Kind.activity).first)
    #expect(time(activity.held("start")) == utc)
    #expect(activity.held("start").part(1) == .null)
  }

  @Test func `a rule that ends in UTC has its last change in the local time before it`() throws {
    // On 2026-03-29 at 02:00 in Rome, it is 01:00 UTC: the rule ends with this change, not before it.
    let zone =
      "BEGIN:VTIMEZONE\nTZID:Here\nBEGIN:DAYLIGHT\nDTSTART:20200329T020000\nTZOFFSETFROM:+0100\n"
      + "TZOFFSETTO:+0200\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU;UNTIL=20260329T010000Z\nEND:DAYLIGHT\n"
      + "BEGIN:STANDARD\nDTSTART:20191027T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\n"
      + "RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\nEND:STANDARD\nEND:VTIMEZONE\n"
    for (local, utc) in [
      ("20260503T150000", "2026-05-03T13:00:00Z"), ("20261201T150000", "2026-12-01T14:00:00Z"),
      ("20270503T150000", "2027-05-03T14:00:00Z"),
    ] {
      let plan = try plan(event("UID:a", "DTSTART;TZID=Here:\(local)"), before: zone)
      #expect(time(try #require(plan.drafts(Kind.activity).first).held("start")) == utc, "\(local)")
    }
  }

  @Test func `the name of a zone may have three parts, and any prefix`() throws {
    let zones = ZoneOffsets { _, zone in zone == "America/Argentina/Buenos_Aires" ? -10_800 : nil }
    for name in [
      "America/Argentina/Buenos_Aires", "/citadel.org/20190914_1/America/Argentina/Buenos_Aires",
      "Argentina Standard Time",
    ] {
      let text = event("UID:a", "DTSTART;TZID=\(name):20260503T150000")
      let plan = try Importer.plan(
        Array("BEGIN:VCALENDAR\n\(text)END:VCALENDAR\n".utf8), zones: zones)
      let activity = try #require(plan.drafts(Kind.activity).first)
      let expected: [Value] = [.integer(1_777_831_200_000), .text("America/Argentina/Buenos_Aires")]
      #expect(activity.held("start") == .array(expected), "\(name)")
    }
  }
}

/// Bookings whose values are incomplete, and hotels that several bookings name.
struct IncompleteBookingTests {
  private func booking(_ uid: String, _ json: String, _ lines: String...) -> String {
    event(["UID:\(uid)", "SUMMARY:\(uid)"] + lines + ["X-KDE-KITINERARY-RESERVATION:\(json)"])
  }

  @Test(
    arguments: [
      (#""totalPrice":120.50,"priceCurrency":"EUR""#, .array([.text("120.50"), .text("EUR")])),
      (#""totalPrice":"7.25""#, .array([.text("7.25"), .null])),
      (#""totalPrice":12,"priceCurrency":"Euro""#, .null), (#""totalPrice":"free""#, .null),
      (#""priceCurrency":"EUR""#, .null),
    ] as [(String, Value)])
  func `a price that can't be kept does not keep its booking out`(price: String, cost: Value) throws {
    let json = #"{"@type":"EventReservation","reservationNumber":"K7",\#(price)}"#
    let plan = try plan(booking("Tour", json, "DTSTART:20260503T150000Z"))
    let tour = try #require(plan.drafts(Kind.activity).first)
    #expect(tour.held("cost") == cost && tour.text("reservation") == "K7")
    #expect(plan.skipped.isEmpty)
  }

  @Test func `a time that is no moment is passed over for the next one, in the zone of the calendar`() throws
  {
    let json =
      #"{"@type":"LodgingReservation","checkinTime":"2026-05-03T14:00:00","#
      + #""checkinDate":"2026-05-03T16:00:00Z","checkoutTime":"2026-05-04T08:00:00Z"}"#
    let plan = try plan(
      booking("Stay", json, "DTSTART;VALUE=DATE:20260503"), before: "X-WR-TIMEZONE:Europe/Rome\n")
    let stay = try #require(plan.drafts(Kind.lodging).first)
    #expect(stay.held("start") == .array([.integer(1_777_824_000_000), .text("Europe/Rome")]))
    #expect(stay.held("end") == .array([.integer(1_777_881_600_000), .text("Europe/Rome")]))
  }

  @Test func `the place of a journey is in its notes, unless they have it already`() throws {
    let json = #"{"@type":"FlightReservation"}"#
    let start = "DTSTART:20260503T150000Z"
    let plan = try plan(
      booking("AZ 1", json, start, "DESCRIPTION:Seat 3", "LOCATION:Terminal 1")
        + booking("AZ 2", json, start, "DESCRIPTION:From Terminal 1", "LOCATION:Terminal 1")
        + booking("Terminal 1", json, start, "LOCATION:Terminal 1"))
    let texts = FieldTexts(plan.drafts)
    let notes = ["AZ 1", "AZ 2", "Terminal 1"].map { texts.record(Kind.transportation, $0)["notes"] }
    #expect(notes == ["Seat 3\n\nTerminal 1", "From Terminal 1", nil])
  }

  @Test func `a hotel of several bookings is one organization, whose first values stay and gaps are filled`()
    throws
  {
    func stay(_ uid: String, _ more: String) -> String {
      booking(
        uid, #"{"@type":"LodgingReservation","reservationFor":{"name":"Rosa"\#(more)}}"#,
        "DTSTART:20260503T150000Z")
    }
    let plan = try plan(
      stay("a", #","telephone":"1""#) + stay("b", #","telephone":"2","email":"a@example.org""#)
        + stay("c", ""))
    let rosa: [String: String] = ["name": "Rosa", "phone": "1", "email": "a@example.org"]
    #expect(FieldTexts(plan.drafts).records(Kind.organization) == [rosa])
    #expect(plan.drafts(Kind.lodging).count == 3)
  }

  @Test func `a hotel that is called None is no organization of its own`() throws {
    let json = #"{"@type":"LodgingReservation","reservationFor":{"name":" None ","telephone":"1"}}"#
    let plan = try plan(booking("Stay", json, "DTSTART:20260503T150000Z"))
    #expect(plan.drafts(Kind.organization).isEmpty)
    let stay = try #require(plan.drafts(Kind.lodging).first)
    #expect(stay.held("organizationId") == .bytes(FixedRecords.noneID.bytes))
  }
}
