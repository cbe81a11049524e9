import Records
import Replication
import SQLite
import Testing
import Wire

@testable import Exchange

/// Every field that is read from the files of other applications, from several rows each, in different zones.
struct ForeignTripFieldTests {
  private let surmai = #"""
    {"trip":{"id":"6F8FAD5B-D9CB-469F-A165-70867728950E","name":"Italy","description":"With Zoë","notes":"Hats",
      "startDate":"2026-05-03 07:00:00.000Z","endDate":"2026-05-06 08:00:00.000Z",
      "destinations":[{"name":"Rome","timezone":"Europe/Rome"},{"name":"Tokyo","timezone":"Asia/Tokyo"}]},
     "transportations":[
      {"id":"a","type":"flight","origin":"Rome","destination":"Tokyo","departure":"2026-05-03 10:00:00.000Z",
       "arrival":"2026-05-04 06:00:00.000Z","cost":{"value":410.5,"currency":"EUR"},"link":"http://a",
       "metadata":{"flightNumber":"AZ 792","provider":{"name":"Alpha Air"},"reservation":"R1","seats":"12A",
        "originAddress":"Gate 1","destinationAddress":"Hall 2"}},
      {"id":"b","type":"ferry","origin":"Tokyo","destination":"Rome","departure":"2026-05-05 10:00:00.000Z",
       "arrival":"2026-05-05 12:00:00.000Z","cost":{"value":7,"currency":"JPY"},
       "metadata":{"provider":{"name":"Beta Boats"}}}],
     "lodgings":[
      {"id":"c","type":"hotel","name":" Rosa ","startDate":"2026-05-03 15:00:00.000Z",
       "endDate":"2026-05-04 10:00:00.000Z","address":"Via 1\r\nRoma","confirmationCode":"C1","description":"Quiet",
       "link":"http://c","cost":{"value":80,"currency":"EUR"},
       "metadata":{"place":{"timezone":"Europe/Rome"},"provider":{"name":"Booker"}}}],
     "activities":[
      {"id":"d","name":"Tour","startDate":"2026-05-05 09:00:00.000Z","endDate":"2026-05-05 11:00:00.000Z",
       "address":"Shibuya","confirmationCode":"C2","description":"Walk","cost":{"value":12,"currency":"JPY"},
       "metadata":{"place":{"timezone":"Asia/Tokyo"}}}],
     "expenses":[],"attachments":[],"travellerProfiles":[]}
    """#

  @Test func `journeys of Surmai have the values of their own rows`() throws {
    let plan = try Importer.plan(Array(surmai.utf8))
    #expect(plan.skipped.isEmpty, "\(plan.skipped)")
    #expect(plan.warnings == ["trip: \"destinations\" is not supported and is left out"])
    let texts = FieldTexts(plan.drafts)
    #expect(plan.drafts(Kind.trip).map(\.id.uuid) == ["6F8FAD5B-D9CB-469F-A165-70867728950E"])
    let trip: [String: String] = [
      "name": "Italy", "notes": "With Zoë\n\nHats", "startDate": "2026-05-03T07:00:00Z",
      "endDate": "2026-05-06T08:00:00Z",
    ]
    #expect(texts.record(Kind.trip, "Italy") == trip)
    let flight: [String: String] = [
      "trip": "Italy", "name": "AZ 792 Rome to Tokyo", "start": "2026-05-03T08:00:00Z Europe/Rome",
      "end": "2026-05-03T21:00:00Z Asia/Tokyo", "cost": "410.5 EUR", "organizationId": "Alpha Air",
      "notes": "Seats: 12A\n\nFrom: Gate 1\n\nTo: Hall 2\n\nhttp://a", "confirmation": "R1", "type": "plane",
    ]
    #expect(texts.record(Kind.transportation, "AZ 792 Rome to Tokyo") == flight)
    let ferry: [String: String] = [
      "trip": "Italy", "name": "Tokyo to Rome", "start": "2026-05-05T01:00:00Z Asia/Tokyo",
      "end": "2026-05-05T10:00:00Z Europe/Rome", "cost": "7 JPY", "organizationId": "Beta Boats",
      "type": "boat",
    ]
    #expect(texts.record(Kind.transportation, "Tokyo to Rome") == ferry)
  }

  @Test func `stays and activities of Surmai have the values of their own rows`() throws {
    let texts = FieldTexts(try Importer.plan(Array(surmai.utf8)).drafts)
    let stay: [String: String] = [
      "trip": "Italy", "name": "Rosa", "start": "2026-05-03T13:00:00Z Europe/Rome",
      "end": "2026-05-04T08:00:00Z Europe/Rome", "cost": "80 EUR", "notes": "Quiet\n\nhttp://c",
      "organizationId": "Booker", "reservation": "C1", "customLocationName": "Via 1\nRoma",
    ]
    #expect(texts.record(Kind.lodging, "Rosa") == stay)
    let tour: [String: String] = [
      "trip": "Italy", "name": "Tour", "start": "2026-05-05T00:00:00Z Asia/Tokyo",
      "end": "2026-05-05T02:00:00Z Asia/Tokyo", "cost": "12 JPY", "notes": "Walk", "reservation": "C2",
      "customLocationName": "Shibuya",
    ]
    #expect(texts.record(Kind.activity, "Tour") == tour)
  }

  // MARK: TripIt

  private func trip(_ number: Int, _ name: String, _ first: String, _ end: String) -> String {
    "BEGIN:VEVENT\nUID:t\(number)@tripit.com\nDTSTART;VALUE=DATE:\(first)\nDTEND;VALUE=DATE:\(end)\n"
      + "SUMMARY:\(name)\nDESCRIPTION:http://t/trip/show/id/\(number)\nEND:VEVENT\n"
  }

  private func item(_ uid: String, of trip: Int, _ name: String, _ times: String, _ notes: String) -> String {
    "BEGIN:VEVENT\nUID:item-\(uid)@tripit.com\n\(times)\nSUMMARY:\(name)\n"
      + "DESCRIPTION:http://t/trip/show/id/\(trip)\\n\(notes)\nEND:VEVENT\n"
  }

  private func tripIt(_ items: [String]) throws -> ImportPlan {
    let trips = trip(7, "Rome", "20260503", "20260506") + trip(8, "Paris", "20260510", "20260513")
    return try Importer.plan(
      Array("BEGIN:VCALENDAR\n\(trips)\(items.joined())END:VCALENDAR\n".utf8))
  }

  @Test func `stays of TripIt end with the event of their own trip and name, in the zone of that event`()
    throws
  {
    let plan = try tripIt([
      item(
        "a", of: 7, "Check-in: Rosa", "DTSTART;TZID=Europe/Rome:20260503T140000\nLOCATION:Via Appia 1",
        "[Lodging] Rosa\\; conf #K7 (x)\\; tel +39 1\\nquiet"),
      // In another trip, and earlier than the end of the first stay.
      item(
        "b", of: 8, "Check-in: Rosa", "DTSTART;TZID=Europe/Paris:20260503T150000",
        "[Lodging] Rosa\\; conf #K8"),
      item(
        "c", of: 7, "Check-in: Blu", "DTSTART;TZID=Europe/Rome:20260503T160000", "[Lodging] Blu\\; tel +39 2"),
      item(
        "d", of: 7, "Pick-up Rental Car: Rosa", "DTSTART:20260503T170000Z", "[Car Rental] Rosa\\; conf #C7"),
      item("e", of: 8, "Check-out: Rosa", "DTSTART;TZID=Europe/London:20260504T080000", "[Lodging] Rosa"),
      item("f", of: 7, "Check-out: Blu", "DTSTART;TZID=Europe/Rome:20260504T090000", "[Lodging] Blu"),
      item("g", of: 7, "Drop-off Rental Car: Rosa", "DTSTART:20260504T100000Z", "[Car Rental] Rosa"),
      item("h", of: 7, "Check-out: Rosa", "DTSTART;TZID=Europe/Athens:20260505T080000", "[Lodging] Rosa"),
    ])
    #expect(plan.skipped.isEmpty && plan.warnings.isEmpty, "\(plan.skipped) \(plan.warnings)")
    let texts = FieldTexts(plan.drafts)
    let stays = texts.records(Kind.lodging, without: ["notes"])
    let paris: [String: String] = [
      "trip": "Paris", "name": "Rosa", "start": "2026-05-03T13:00:00Z Europe/Paris",
      "end": "2026-05-04T07:00:00Z Europe/London", "reservation": "K8", "organizationId": "Rosa",
    ]
    let blu: [String: String] = [
      "trip": "Rome", "name": "Blu", "start": "2026-05-03T14:00:00Z Europe/Rome",
      "end": "2026-05-04T07:00:00Z Europe/Rome", "organizationId": "Blu",
    ]
    let rosa: [String: String] = [
      "trip": "Rome", "name": "Rosa", "start": "2026-05-03T12:00:00Z Europe/Rome",
      "end": "2026-05-05T05:00:00Z Europe/Athens", "reservation": "K7", "organizationId": "Rosa",
      "customLocationName": "Via Appia 1",
    ]
    #expect(stays.count == 3)
    for stay in [paris, blu, rosa] { #expect(stays.contains(stay), "\(stays)") }
    let car: [String: String] = [
      "trip": "Rome", "name": "Rosa", "start": "2026-05-03T17:00:00Z -", "end": "2026-05-04T10:00:00Z -",
      "type": "car", "confirmation": "C7", "organizationId": "Rosa",
    ]
    #expect(texts.records(Kind.transportation, without: ["notes"]) == [car])
    #expect(texts.record(Kind.organization, "Rosa") == ["name": "Rosa", "phone": "+39 1"])
    #expect(texts.record(Kind.organization, "Blu") == ["name": "Blu", "phone": "+39 2"])
  }

  @Test func `journeys of TripIt have their means, airline and number, and a lone return only an end`() throws
  {
    let plan = try tripIt([
      item(
        "a", of: 7, "FCO to LHR",
        "DTSTART;TZID=Europe/Rome:20260505T100000\nDTEND;TZID=Europe/London:20260505T113000",
        "[Flight] 5/5/2026 Alpha Air(AA) #403 dep FCO\\nconf #F1"),
      item(
        "b", of: 7, "Drop-off Rental Car: Wheels", "DTSTART:20260504T100000Z", "[Car Rental] Wheels\\; tel 9"),
      item("c", of: 8, "Rail", "DTSTART:20260511T100000Z", "[Rail] x"),
      item("d", of: 8, "Taxi", "DTSTART:20260511T110000Z", "[Ground Transportation] x"),
      item("e", of: 8, "Ship", "DTSTART:20260511T120000Z", "[Cruise] x"),
      item("f", of: 8, "Walk", "DTSTART:20260511T130000Z", "[Directions] x"),
    ])
    let texts = FieldTexts(plan.drafts)
    let flight: [String: String] = [
      "trip": "Rome", "name": "FCO to LHR", "start": "2026-05-05T08:00:00Z Europe/Rome",
      "end": "2026-05-05T10:30:00Z Europe/London", "type": "plane", "confirmation": "F1",
      "organizationId": "Alpha Air",
    ]
    #expect(texts.record(Kind.transportation, "FCO to LHR", without: ["notes"]) == flight)
    let car: [String: String] = [
      "trip": "Rome", "name": "Wheels", "end": "2026-05-04T10:00:00Z -", "type": "car",
      "organizationId": "Wheels",
    ]
    #expect(texts.record(Kind.transportation, "Wheels", without: ["notes"]) == car)
    // Only the telephone of a hotel is that of the organization.
    #expect(texts.record(Kind.organization, "Wheels") == ["name": "Wheels"])
    let means = ["Rail", "Taxi", "Ship", "Walk"].map { name in
      texts.record(Kind.transportation, name)["type"] ?? "none"
    }
    #expect(means == ["train", "car", "boat", "none"])
  }

  // MARK: Bookings and single events

  private func booked(_ uid: String, _ json: String) -> String {
    "BEGIN:VEVENT\nUID:\(uid)\nSUMMARY:\(uid)\nDTSTART;VALUE=DATE:20260503\n"
      + "X-KDE-KITINERARY-RESERVATION:\(json)\nEND:VEVENT\n"
  }

  @Test func `both times of a booking have their own zone, and a hotel its own telephone and address`() throws
  {
    let flight =
      #"{"@type":"FlightReservation","reservationFor":{"airline":{"iataCode":"AZ"},"departureTime":"#
      + #"{"@value":"2026-05-03T10:00:00+02:00","timezone":"Europe/Rome"},"arrivalTime":"#
      + #"{"@value":"2026-05-03T19:00:00+09:00","timezone":"Asia/Tokyo"}}}"#
    let rosa =
      #"{"@type":"LodgingReservation","reservationFor":{"name":"Rosa","telephone":"1","url":"http://r","#
      + #""email":"a@r","address":{"streetAddress":"Via 1","addressLocality":"Roma","addressRegion":"Lazio","#
      + #""addressCountry":"IT","postalCode":"00100"}}}"#
    let blu = #"{"@type":"LodgingReservation","reservationFor":{"name":"Blu","telephone":"2"}}"#
    let events = booked("Flight", flight) + booked("Stay", rosa) + booked("Stay 2", blu)
    let plan = try Importer.plan(
      Array("BEGIN:VCALENDAR\nX-WR-CALNAME:Trip\n\(events)END:VCALENDAR\n".utf8))
    let texts = FieldTexts(plan.drafts)
    let expected: [String: String] = [
      "trip": "Trip", "name": "Flight", "start": "2026-05-03T08:00:00Z Europe/Rome",
      "end": "2026-05-03T10:00:00Z Asia/Tokyo", "type": "plane", "organizationId": "AZ",
    ]
    #expect(texts.record(Kind.transportation, "Flight") == expected)
    #expect(texts.record(Kind.lodging, "Stay")["organizationId"] == "Rosa")
    #expect(texts.record(Kind.lodging, "Stay 2")["organizationId"] == "Blu")
    let address: [String: String] = [
      "street": "Via 1", "city": "Roma", "state": "Lazio", "country": "IT", "postalCode": "00100",
    ]
    #expect(texts.records(Kind.address) == [address])
    let addressID = try #require(plan.drafts(Kind.address).first).id.uuid
    let hotel: [String: String] = [
      "name": "Rosa", "phone": "1", "website": "http://r", "email": "a@r", "address": addressID,
    ]
    #expect(texts.record(Kind.organization, "Rosa") == hotel)
    #expect(texts.record(Kind.organization, "Blu") == ["name": "Blu", "phone": "2"])
  }

  @Test func `each of several calendars in a file has its own zones and its own trip`() throws {
    func calendar(_ name: String, _ zone: String, offset: String, _ events: String) -> String {
      "BEGIN:VCALENDAR\nX-WR-CALNAME:\(name)\n\(zone)BEGIN:VTIMEZONE\nTZID:Here\nBEGIN:STANDARD\n"
        + "DTSTART:19700101T000000\nTZOFFSETTO:\(offset)\nEND:STANDARD\nEND:VTIMEZONE\n\(events)END:VCALENDAR\n"
    }
    func event(_ name: String, _ times: String) -> String {
      "BEGIN:VEVENT\nUID:\(name)\nSUMMARY:\(name)\n\(times)\nEND:VEVENT\n"
    }
    let first = calendar(
      "A", "X-WR-TIMEZONE:Asia/Tokyo\n", offset: "+0100",
      event("own", "DTSTART:20260503T150000\nDTEND;TZID=Europe/Rome:20260503T100000")
        + event("defined", "DTSTART;TZID=Here:20260503T150000"))
    let second = calendar(
      "B", "", offset: "+0300",
      event("none", "DTSTART:20260503T150000\nDURATION:P1WT30S")
        + event(
          "defined otherwise", "DTSTART;TZID=Here:20260503T150000\nDTEND;TZID=Asia/Tokyo:20260504T010000"))
    let texts = FieldTexts(try Importer.plan(Array((first + second).utf8)).drafts)
    let expected: [String: [String: String]] = [
      "own": [
        "trip": "A", "start": "2026-05-03T06:00:00Z Asia/Tokyo", "end": "2026-05-03T08:00:00Z Europe/Rome",
      ],
      "defined": ["trip": "A", "start": "2026-05-03T14:00:00Z -"],
      "none": ["trip": "B", "start": "2026-05-03T15:00:00Z -", "end": "2026-05-10T15:00:30Z -"],
      "defined otherwise": [
        "trip": "B", "start": "2026-05-03T12:00:00Z -", "end": "2026-05-03T16:00:00Z Asia/Tokyo",
      ],
    ]
    for (name, fields) in expected {
      #expect(texts.record(Kind.activity, name, without: ["name"]) == fields, "\(name)")
    }
  }

  @Test func `the place and the link of a single event are kept, once each`() throws {
    func event(_ uid: String, _ lines: String) -> String {
      "BEGIN:VEVENT\nUID:\(uid)\nDTSTART:20260503T150000Z\n\(lines)\nEND:VEVENT\n"
    }
    let events =
      event("a", "SUMMARY:Walk\nDESCRIPTION:Bring water\nLOCATION:Park\nURL:http://x")
      + event("b", "DESCRIPTION:See http://y\nURL:http://y")
    let plan = try Importer.plan(Array("BEGIN:VCALENDAR\n\(events)END:VCALENDAR\n".utf8))
    let texts = FieldTexts(plan.drafts)
    let walk = texts.record(Kind.activity, "Walk", without: ["trip", "start"])
    #expect(walk == ["name": "Walk", "notes": "Bring water\n\nhttp://x", "customLocationName": "Park"])
    let other = texts.record(Kind.activity, "Without a name", without: ["trip", "start"])
    #expect(other == ["name": "Without a name", "notes": "See http://y"])
  }
}

/// Habits of other applications: every field, with several habits whose entries are on the same days.
struct ForeignHabitFieldTests {
  /// The habit, the day and the value of each entry.
  private func entries(_ texts: FieldTexts) -> [String] {
    texts.records(Kind.habitEntry).map { entry in
      "\(entry["habitID"] ?? "") \(entry["date"] ?? "") \(entry["value"] ?? "")"
    }.sorted()
  }

  @Test func `habits of HabitBull have the values of their first rows, and their own entries`() throws {
    let text =
      "HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText\n"
      + "Run,Daily run,Sport,2019-04-11,1,\nWater,Glasses,Health,2019-04-11,3,\nRun,Other,Health,2019-04-12,1,\n"
      + "Water,,,2019-04-12,0,\nWater,,,2019-04-13,1,\n"
    let plan = try Importer.plan(Array(text.utf8))
    #expect(plan.skipped.isEmpty && plan.warnings.isEmpty, "\(plan.skipped) \(plan.warnings)")
    let texts = FieldTexts(plan.drafts)
    let run: [String: String] = [
      "name": "Run", "notes": "Daily run", "kind": "binary", "schedule": "daily", "isActive": "true",
      "displayOrder": "0", "categoryId": "habitbull:Sport",
    ]
    #expect(texts.record(Kind.habit, "Run") == run)
    let water: [String: String] = [
      "name": "Water", "notes": "Glasses", "kind": "numeric", "schedule": "daily", "isActive": "true",
      "displayOrder": "1", "categoryId": "habitbull:Health",
    ]
    #expect(texts.record(Kind.habit, "Water") == water)
    let health: [String: String] = [
      "key": "habitbull:Health", "name": "Health", "displayName": "Health", "isActive": "true",
    ]
    #expect(texts.record(Kind.category, "Health") == health)
    let expected = [
      "Run 2019-04-11T00:00:00Z - 2019-04-11 1.0", "Run 2019-04-12T00:00:00Z - 2019-04-12 1.0",
      "Water 2019-04-11T00:00:00Z - 2019-04-11 3.0", "Water 2019-04-12T00:00:00Z - 2019-04-12 0.0",
      "Water 2019-04-13T00:00:00Z - 2019-04-13 1.0",
    ]
    #expect(entries(texts) == expected)
  }

  private static let water: [String: String] = [
    "name": "Wasser", "notes": "Enough?\n\nA lot\n\nat most", "colorHex": "#1976D2", "kind": "numeric",
    "unitLabel": "l", "dailyTarget": "2.5", "schedule": "daily", "isActive": "true",
  ]
  private static let run: [String: String] = [
    "name": "Lauf", "notes": "Far\n\n3 times in 7 days", "colorHex": "#FF8F00", "kind": "binary",
    "isActive": "false",
  ]

  @Test func `habits of a Loop archive have the values of their own rows and folders`() throws {
    let habits =
      "Position,Name,Type,Question,Description,FrequencyNumerator,FrequencyDenominator,Color,Unit,Target Type,"
      + "Target Value,Archived?\n001,Wasser,NUMERICAL,Enough?,A lot,1,1,#1976D2,l,AT_MOST,2.5,false\n"
      + "002,Lauf,YES_NO,,Far,3,7,#FF8F00,,,,true\n"
    let files = [
      ("002 Lauf/Checkmarks.csv", "Date,Value,Notes\n2026-07-04,YES_MANUAL,\n"), ("Habits.csv", habits),
      ("001 Wasser/Checkmarks.csv", "Date,Value,Notes\n2026-07-04,1500,\n2026-07-03,NO,\n"),
    ]
    let plan = try Importer.plan(.folder(files.map { ImportedFile(path: $0.0, bytes: Array($0.1.utf8)) }))
    #expect(plan.skipped.isEmpty, "\(plan.skipped)")
    let texts = FieldTexts(plan.drafts)
    #expect(texts.record(Kind.habit, "Wasser", without: ["displayOrder"]) == Self.water)
    #expect(texts.record(Kind.habit, "Lauf", without: ["displayOrder"]) == Self.run)
    #expect(["Wasser", "Lauf"].map { texts.record(Kind.habit, $0)["displayOrder"] } == ["0", "1"])
    let expected = [
      "Lauf 2026-07-04T00:00:00Z - 2026-07-04 1.0", "Wasser 2026-07-03T00:00:00Z - 2026-07-03 0.0",
      "Wasser 2026-07-04T00:00:00Z - 2026-07-04 1.5",
    ]
    #expect(entries(texts) == expected)
  }

  @Test func `habits of a Loop backup have the values of their own columns`() throws {
    let path = TemporaryFile.make()
    defer { TemporaryFile.remove(path) }
    do {
      let connection = try Connection(.file(path))
      try connection.execute(
        """
        PRAGMA user_version = 25;
        CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT, question TEXT, description TEXT, freq_num INTEGER,
          freq_den INTEGER, color INTEGER, type INTEGER, unit TEXT, target_type INTEGER, target_value REAL,
          archived INTEGER, position INTEGER, reminder_hour INTEGER, reminder_min INTEGER, reminder_days INTEGER,
          uuid TEXT);
        CREATE TABLE Repetitions (id INTEGER PRIMARY KEY, habit INTEGER, timestamp INTEGER, value INTEGER,
          notes TEXT);
        INSERT INTO Habits VALUES
          (5, 'Wasser', 'Enough?', 'A lot', 1, 1, 11, 1, 'l', 1, 2.5, 0, 4, 7, 45, 127, NULL),
          (6, 'Lauf', '', 'Far', 3, 7, 3, 0, '', 0, 0, 1, 2, NULL, NULL, NULL, NULL),
          (7, 'Halb', '', '', 1, 1, 8, 0, '', 0, 0, 0, 0, 25, 0, 127, NULL),
          (8, 'Teil', '', '', 1, 1, -12345, 0, '', 0, 0, 0, 1, 6, 5, 31, NULL);
        INSERT INTO Repetitions VALUES (1, 6, 1783123200000, 2, ''), (2, 5, 1783123200000, 1500, ''),
          (3, 5, 1783123199999, 250, '');
        """)
    }
    let plan = try Importer.plan(try TemporaryFile.read(path))
    #expect(plan.skipped.isEmpty, "\(plan.skipped)")
    let texts = FieldTexts(plan.drafts)
    #expect(texts.record(Kind.habit, "Wasser", without: ["displayOrder", "reminders"]) == Self.water)
    #expect(texts.record(Kind.habit, "Lauf", without: ["displayOrder", "reminders"]) == Self.run)
    let names = ["Wasser", "Lauf", "Halb", "Teil"]
    #expect(names.map { texts.record(Kind.habit, $0)["displayOrder"] } == ["4", "2", "0", "1"])
    #expect(names.map { texts.record(Kind.habit, $0)["reminders"] } == ["7 45", nil, nil, "6 5"])
    // The colour of an old database, -12345, is 0xFFFFCFC7.
    #expect(texts.record(Kind.habit, "Teil")["colorHex"] == "#FFCFC7")
    let days = plan.warnings.filter { $0.contains("only some days") }
    #expect(days.count == 1 && days.allSatisfy { $0.contains("Teil") }, "\(days)")
    #expect(plan.warnings.contains { $0.contains("Halb") && $0.contains("invalid time") })
    // A time is in the day that contains it, up to its last millisecond.
    let expected = [
      "Lauf 2026-07-04T00:00:00Z - 2026-07-04 1.0", "Wasser 2026-07-03T00:00:00Z - 2026-07-03 0.25",
      "Wasser 2026-07-04T00:00:00Z - 2026-07-04 1.5",
    ]
    #expect(entries(texts) == expected)
  }
}
