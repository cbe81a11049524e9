import Records
import Testing
import Wire

@testable import Exchange

/// Reservations that KItinerary has added to events.
@Suite struct BookingTests {
  private func plan(_ json: String, _ times: String = "DTSTART:20260503T150000Z") throws -> ImportPlan {
    let event =
      "BEGIN:VEVENT\nUID:a\nSUMMARY:Tour\n\(times)\nX-KDE-KITINERARY-RESERVATION:\(json)\nEND:VEVENT\n"
    return try Importer.plan(Array("BEGIN:VCALENDAR\n\(event)END:VCALENDAR\n".utf8))
  }

  private func names(_ plan: ImportPlan) -> [String] {
    plan.drafts(Kind.organization).compactMap { $0.text("name") }
  }

  @Test(
    arguments: [
      ("FlightReservation", Kind.transportation, "plane", "airline"),
      ("TrainReservation", Kind.transportation, "train", "trainCompany"),
      ("BusReservation", Kind.transportation, "car", "busCompany"),
      ("BoatReservation", Kind.transportation, "boat", "provider"),
      ("RentalCarReservation", Kind.transportation, "car", "rentalCompany"),
      ("TaxiReservation", Kind.transportation, "car", "provider"),
      ("LodgingReservation", Kind.lodging, "", ""),
      ("FoodEstablishmentReservation", Kind.activity, "", ""),
      ("EventReservation", Kind.activity, "", "provider"),
    ])
  func `a booking becomes a record of its type, with its number, price and company`(
    type: String, kind: Kind, vehicle: String, company: String
  ) throws {
    let subject = company.isEmpty ? #""name":"Rosa""# : #""\#(company)":{"name":"Rosa"}"#
    let plan = try plan(
      #"[{"@type":"\#(type)","reservationNumber":"K7","totalPrice":120.5,"priceCurrency":"EUR","#
        + #""reservationFor":{\#(subject)}}]"#)
    for other in [Kind.transportation, Kind.lodging, Kind.activity] {
      #expect(plan.drafts(other).count == (other == kind ? 1 : 0), "\(other.name)")
    }
    let draft = try #require(plan.drafts(kind).first)
    #expect(draft.text(kind == Kind.transportation ? "confirmation" : "reservation") == "K7")
    #expect(draft.held("cost") == .array([.text("120.5"), .text("EUR")]))
    if kind == Kind.transportation { #expect(draft.text("type") == vehicle) }
    #expect(names(plan).contains("Rosa"))
    #expect(draft.held("start").time == 1_777_820_400_000)
  }

  @Test func `a cancelled booking is skipped, and what can't be read is an ordinary event`() throws {
    let cancelled = try plan(
      #"{"@type":"FlightReservation","reservationStatus":"http://schema.org/ReservationCancelled"}"#)
    #expect(cancelled.drafts.isEmpty)
    #expect(cancelled.skipped.map(\.reason) == ["it is cancelled"])
    #expect(cancelled.skipped.map(\.place) == ["line 2"])
    for json in ["[]", "{", #"{"reservationNumber":"K7"}"#] {
      let plan = try plan(json)
      #expect(plan.drafts(Kind.activity).map { $0.text("name") } == ["Tour"], "\(json)")
      #expect(plan.skipped.isEmpty, "\(json)")
    }
  }

  @Test func `a booking gives a whole day its times, and changes none that the event has`() throws {
    let json =
      #"{"@type":"LodgingReservation","checkinTime":"2026-05-03T14:00:00Z","reservationFor":{"name":"R"}}"#
    let day = try #require(try plan(json, "DTSTART;VALUE=DATE:20260503").drafts(Kind.lodging).first)
    #expect(day.held("start").time == 1_777_816_800_000)
    let timed = try #require(try plan(json).drafts(Kind.lodging).first)
    #expect(timed.held("start").time == 1_777_820_400_000)
  }

  @Test func `a booking for several people is imported as one record, with a warning`() throws {
    let one = #"{"@type":"EventReservation","totalPrice":"7.25","reservationFor":{}}"#
    let plan = try plan("[\(one),\(one)]")
    #expect(plan.drafts(Kind.activity).count == 1)
    #expect(plan.warnings.contains { $0.contains("several people") })
    #expect(try self.plan("[\(one)]").warnings.allSatisfy { !$0.contains("several people") })
  }
}

/// Comma-separated values of other applications.
@Suite struct CommaSeparatedTests {
  private func rows(_ text: String) throws -> [String] {
    var reader = CSVReader(Array(text.utf8))
    var rows: [String] = []
    while let row = try reader.next() { rows.append("\(row.line):\(row.fields.joined(separator: "|"))") }
    return rows
  }

  @Test(
    arguments: [
      ("a,b\nc,d\n", ["1:a|b", "2:c|d"]), ("a,b\r\nc,d", ["1:a|b", "2:c|d"]), ("a\rb\r", ["1:a", "2:b"]),
      ("\u{FEFF}a\n", ["1:a"]), ("\n\r\na\n", ["3:a"]), ("\"x\ny\",z\nb\n", ["1:x\ny|z", "3:b"]),
      ("\"a \"\"b\"\"\",\"\"\n", ["1:a \"b\"|"]), ("a,\n,b\n", ["1:a|", "2:|b"]), ("a,", ["1:a|"]),
      ("\"a,b\"\r\nc", ["1:a,b", "2:c"]), ("", []), ("\n\n", []),
    ])
  func `each row has its cells and the line on which it begins`(text: String, expected: [String]) throws {
    #expect(try rows(text) == expected)
  }

  @Test(
    arguments: [
      ("a\n\"b", "line 2"), ("a\n\"b\"c\n", "line 2"), ("a\n\"b\n\n", "line 2"), ("\"b\nc\" d\n", "line 2"),
    ])
  func `a quotation mark that is not closed is damage at its line`(text: String, place: String) {
    let error = #expect(throws: ExchangeError.self) { try rows(text) }
    guard case .damaged(let found, _)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(found == place)
  }

  @Test func `cells beyond the limit of a row are damage, and as many as the limit are read`() throws {
    let full = String(repeating: ",", count: Limits.importColumnsMax - 1)
    #expect(try rows(full + "\n").count == 1)
    #expect(throws: ExchangeError.self) { try rows(full + ",\n") }
  }

  private func bull(_ rows: String) throws -> ImportPlan {
    try Importer.plan(Array("HabitName,HabitCategory,CalendarDate,Value,CommentText\n\(rows)".utf8))
  }

  @Test func `rows of HabitBull are named by the line on which they begin`() throws {
    let plan = try bull(
      "Run,,2019-04-11,1,\"x\ny\"\nRun,,never,1,\nRun,,2019-04-11,x,\n,,2019-04-11,1,\nRun,,2019-04-12,1,\n"
        + "Run,,2019-04-12,1,\nRun,,2019-04-13,0,note\nRun,,2019-04-14,0,\n")
    #expect(plan.skipped.map(\.place).sorted() == ["line 4", "line 5", "line 6", "line 8", "line 9"])
    #expect(plan.days.keys.sorted() == ["2019-04-11", "2019-04-12"])
    #expect(plan.drafts(Kind.habit).compactMap { $0.text("name") } == ["Run"])
    let error = #expect(throws: ExchangeError.self) {
      try bull("A,,13/1/2019,1,\nA,,2/2/2019,1,\nA,,1/13/2019,1,\n")
    }
    guard case .damaged(let place, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(place == "line 4" && reason.contains("line 2"))
  }

  @Test func `what may be wrong with a file of HabitBull is a warning, and else there is none`() throws {
    let sure = try bull("Run,,13/4/2019,1,\n")
    #expect(sure.warnings.allSatisfy { !$0.contains("month/day") && !$0.contains("truncated") })
    #expect(sure.days["2019-04-13"] != nil)
    #expect(try bull("Run,,4/11/2019,1,\n").warnings.contains { $0.contains("month/day") })
    #expect(try bull("Run,,2019-04-11,1,").warnings.contains { $0.contains("truncated") })
    // One habit in two rows of two categories keeps that of its first row.
    let two = try bull("Run,Sport,2019-04-11,1,\nRun,Health,2019-04-12,1,\n")
    #expect(two.drafts(Kind.category).compactMap { $0.text("name") } == ["Sport"])
    #expect(two.drafts(Kind.habit).count == 1 && two.days.count == 2)
  }
}
