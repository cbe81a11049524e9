import Exchange
import JSONDocument
import Records
import Replication
import Testing
import Wire

private func id(_ number: UInt64) -> JSON { .string(RecordID(Bytes16(8, number)).uuid) }

/// Keys that Waymark does not know, in the files of both applications.
struct OtherKeysTests {
  /// Returns the plan of a file, the file's export, and the export's plan.
  private func roundTrip(_ file: JSON, _ format: ExchangeFormat) throws -> (
    plan: ImportPlan, export: JSON, again: ImportPlan
  ) {
    let plan = try Importer.plan(file.bytes())
    let bytes = Exporter.file(format, from: ExportSource(plan.drafts), now: now).bytes
    return (plan, try JSON.parse(bytes), try Importer.plan(bytes))
  }

  private let trips: JSON = [
    "exportInfo": ["version": "1.0"], "books": [["id": 1]],
    "trips": [
      [
        "id": id(1), "name": "Rome", "shareID": "S-1", "hasStartDate": false, "hasEndDate": false,
        "transportation": [id(2)], "lodging": [], "activities": [],
        "embeddedTransportation": [
          [
            "id": id(2), "name": "Train", "legs": [["seat": "12A", "gate": nil, "cost": .number("10.50")]],
            "cabinClass": "second",
          ]
        ], "embeddedLodging": [], "embeddedActivities": [],
      ]
    ],
    "organizations": [
      ["id": id(3), "name": "Rosa", "fax": "1", "address": ["id": id(4), "plusCode": "8FHJ"]]
    ],
    "addresses": [["id": id(4), "plusCode": "8FHJ"]],
    "attachments": [["id": id(5), "fileName": "a", "parentType": "", "parentId": "", "pages": 3]],
  ]

  @Test func `trips keep the keys of their rows`() throws {
    let (plan, export, again) = try roundTrip(trips, .travelingSnails)
    #expect(plan.skipped.isEmpty && again.drafts == plan.drafts)
    #expect(plan.warnings.contains("trips: the key \"shareID\" is unknown and is kept with its record"))
    #expect(plan.warnings.contains("the file: the key \"books\" is unknown and is kept with its record"))
    #expect(export["books"]?[0]?["id"] == 1)
    let trip = try #require(export["trips"]?[0])
    #expect(trip["shareID"] == "S-1")
    let train = try #require(trip["embeddedTransportation"]?[0])
    #expect(train["cabinClass"] == "second")
    #expect(train["legs"]?[0]?["cost"] == .number("10.50") && train["legs"]?[0]?["gate"] == .null)
    let rosa = try #require(export["organizations"]?.array?.first { $0["name"] == "Rosa" })
    #expect(rosa["fax"] == "1" && rosa["address"]?["plusCode"] == "8FHJ")
    #expect(export["addresses"]?[0]?["plusCode"] == "8FHJ")
    #expect(export["attachments"]?[0]?["pages"] == 3)
  }

  private let habits: JSON = [
    "profile": ["name": "Zoë", "zodiac": "lion"], "syncMetadata": ["device": "iPad"],
    "categories": [["id": "health", "name": "Health", "tint": "#fff"]],
    "habits": [
      [
        "id": id(1), "name": "Walk", "kind": ["binary": [:]], "streakFreeze": 2,
        "locationConfiguration": ["latitude": 1, "longitude": 2, "floor": 3],
      ]
    ],
    "habitLogs": [
      [
        "id": id(2), "habitID": id(1), "date": "2026-05-03T13:00:00Z", "timezone": "UTC",
        "mood": ["b": 1, "a": 2],
      ]
    ],
  ]

  @Test func `habits keep the keys of their rows and of the objects inside them`() throws {
    let (plan, export, again) = try roundTrip(habits, .ritualist)
    #expect(plan.skipped.isEmpty && again.drafts == plan.drafts)
    #expect(!plan.warnings.contains { $0.contains("left out") }, "\(plan.warnings)")
    #expect(export["profile"]?["zodiac"] == "lion" && export["syncMetadata"]?["device"] == "iPad")
    #expect(export["profile"]?["syncMetadata"] == nil)
    #expect(export["categories"]?[0]?["tint"] == "#fff")
    let habit = try #require(export["habits"]?[0])
    #expect(habit["streakFreeze"] == 2 && habit["locationConfiguration"]?["floor"] == 3)
    #expect(export["habitLogs"]?[0]?["mood"]?["a"] == 2)
  }

  @Test func `a zone without a time and an address that differs keep their keys`() throws {
    var file = trips
    var trip = file["trips"]?[0] ?? .null
    trip["embeddedTransportation"] = [
      [
        "id": id(2), "name": "Train", "start": nil, "startTZId": "Europe/Rome", "cost": nil,
        "currency": "EUR",
        "reservation": "R 1", "legs": [["id": id(7), "arrivalTZId": "Asia/Tokyo", "type": ""]],
      ]
    ]
    file["trips"] = [trip]
    file["organizations"] = [
      ["id": id(3), "name": "Rosa", "address": ["id": id(4), "city": "Rome", "floor": 2]]
    ]
    let (plan, export, again) = try roundTrip(file, .travelingSnails)
    #expect(plan.skipped.isEmpty && again.drafts == plan.drafts)
    let train = try #require(export["trips"]?[0]?["embeddedTransportation"]?[0])
    #expect(train["start"] == .null && train["startTZId"] == "Europe/Rome" && train["currency"] == "EUR")
    #expect(train["reservation"] == "R 1")
    #expect(train["legs"]?[0] == ["id": id(7), "arrivalTZId": "Asia/Tokyo", "type": ""])
    let rosa = try #require(export["organizations"]?.array?.first { $0["name"] == "Rosa" })
    #expect(rosa["address"]?["floor"] == 2 && rosa["address"]?["plusCode"] == nil)
    #expect(export["addresses"]?[0]?["plusCode"] == "8FHJ" && export["addresses"]?[0]?["floor"] == nil)
  }

  @Test func `keys beyond the limit are reported and left out, and smaller ones are kept`() throws {
    var file = trips
    var trip = file["trips"]?[0] ?? .null
    trip["plan"] = .string(String(repeating: "x", count: Limits.otherKeysBytesMax))
    file["trips"] = [trip]
    let (plan, export, again) = try roundTrip(file, .travelingSnails)
    #expect(plan.warnings.contains("trips: the key \"plan\" is unknown and is left out"))
    #expect(export["trips"]?[0]?["plan"] == nil && export["trips"]?[0]?["shareID"] == "S-1")
    #expect(again.drafts == plan.drafts)
  }

  @Test func `the kept keys fill their limit and no more`() throws {
    let text = Kind.trip.number("otherKeys")
    for (count, isKept) in [(Limits.otherKeysBytesMax - 8, true), (Limits.otherKeysBytesMax - 7, false)] {
      var file = trips
      var trip = file["trips"]?[0] ?? .null
      trip["shareID"] = nil
      trip["p"] = .string(String(repeating: "x", count: count))
      file["trips"] = [trip]
      let plan = try Importer.plan(file.bytes())
      let found = try #require(plan.drafts.first { $0.kind == Kind.trip })
      #expect((found[text] != nil) == isKept, "\(count)")
      if case .text(let kept)? = found[text] { #expect(kept.utf8.count == Limits.otherKeysBytesMax) }
    }
  }

  @Test func `a row without other keys leaves those of the record unchanged`() throws {
    var file = trips
    var trip = file["trips"]?[0] ?? .null
    trip["shareID"] = nil
    file["trips"] = [trip]
    let plan = try Importer.plan(file.bytes())
    let found = try #require(plan.drafts.first { $0.kind == Kind.trip })
    #expect(found[Kind.trip.number("otherKeys")] == nil)
  }

  @Test func `text that is no object is not written, and no key is written twice`() throws {
    func export(_ text: String) throws -> JSON {
      let trip = RecordDraft(
        Kind.trip, RecordID(Bytes16(8, 1)), [1: .text("Rome"), Kind.trip.number("otherKeys"): .text(text)])
      let file = Exporter.file(.travelingSnails, from: ExportSource([trip]), now: now)
      return try #require(try JSON.parse(file.bytes)["trips"]?[0])
    }
    #expect(try export("{\"name\":\"Paris\",\"x\":1}")["name"] == "Rome")
    #expect(try export("{\"name\":\"Paris\",\"x\":1}")["x"] == 1)
    #expect(try export("[1]")["name"] == "Rome")
    #expect(try export("{")["name"] == "Rome")
  }
}
