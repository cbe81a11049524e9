import FileFormat
import JSONDocument
import Records
import SQLite
import Testing
import Wire

@testable import Exchange

private func id(_ number: UInt64) -> RecordID { RecordID(Bytes16(4, number)) }

private func uuid(_ number: UInt64) -> JSON { .string(id(number).uuid) }

/// A name that no habit can have.
private let long = String(repeating: "x", count: 201)

/// Habits of other applications of which a part can't be read: the rest is, and each part that is left out is named.
struct ForeignHabitRowTests {
  @Test func `a habit of HabitBull that is left out takes its entries with it, and no others`() throws {
    let rows = "\(long),2026-05-03,1\nRun,2026-05-03,1\nRun,2026-05-04,-2147483648\n\(long),2026-05-05,1\n"
    let plan = try Importer.plan(Array("HabitName,CalendarDate,Value\n\(rows)".utf8))
    #expect(plan.drafts(Kind.habit).compactMap { $0.text("name") } == ["Run"])
    #expect(plan.days == ["2026-05-03": .float(1)])
    #expect(plan.drafts(Kind.habitEntry).count == 1)
    #expect(plan.skipped.map(\.place) == ["line 4", "habit \"\(long.prefix(60))\""])
    #expect(plan.skipped.last?.reason.hasPrefix("it is left out with its entries") == true)
  }

  private func folder(_ habits: String, _ marks: [(String, String)]) throws -> ImportPlan {
    let list = ImportedFile(path: "Habits.csv", bytes: Array("Position,Name,Color\n\(habits)".utf8))
    let others = marks.map { ImportedFile(path: "\($0.0)/Checkmarks.csv", bytes: Array($0.1.utf8)) }
    return try Importer.plan(.folder([list] + others))
  }

  @Test func `habits and folders of a Loop archive that do not belong together are named`() throws {
    let plan = try folder(
      "001,Run,#1976D2\n002,Swim,#1976D2\n003,\(long),#1976D2\n",
      [("004 y", "2026-05-03,2\n"), ("003 x", "2026-05-03,2\n"), ("001 Run", "2026-05-03,2\n")])
    #expect(plan.drafts(Kind.habit).compactMap { $0.text("name") }.sorted() == ["Run", "Swim"])
    #expect(plan.days == ["2026-05-03": .float(1)])
    #expect(plan.drafts(Kind.habitEntry).count == 1)
    let left = plan.skipped.map { "\($0.place): \($0.reason)" }
    #expect(left.count == 3 && left[0].hasPrefix("Habits.csv, line 4: name cannot be"), "\(left)")
    #expect(
      left.dropFirst() == [
        "003 x/Checkmarks.csv: its habit is left out", "004 y/Checkmarks.csv: Habits.csv has no habit 4",
      ])
    #expect(plan.warnings == ["habit \"Swim\": there is no folder 2 with its entries"])
  }

  @Test func `a number of a Loop archive that is used twice, or is none, is damage`() {
    let row = "001,Run,#1976D2\n"
    let twice = ExchangeError.damaged(place: "Habits.csv, line 3", reason: "the position 1 appears twice")
    #expect(throws: twice) { try folder(row + "1,Swim,#1976D2\n", []) }
    let zero = ExchangeError.damaged(place: "Habits.csv, line 2", reason: "\"000\" is not a position")
    #expect(throws: zero) { try folder("000,Run,#1976D2\n", []) }
    let folders = ExchangeError.damaged(
      place: "01 b/Checkmarks.csv", reason: "another folder also has the number 1")
    #expect(throws: folders) { try folder(row, [("01 b", "2026-05-03,2\n"), ("001 a", "2026-05-03,2\n")]) }
  }

  @Test func `a day of a Loop archive is read once, and what is no day or no value is left out`() throws {
    let marks = "2026-05-03,2\n2026-05-03,2\n2026-02-30,2\n2026-05-04,MAYBE\n2026-05-05,YES_MANUAL\n"
    let plan = try folder("001,Run,#1976D2\n", [("001 Run", marks)])
    #expect(plan.days == ["2026-05-03": .float(1), "2026-05-05": .float(1)])
    let places = plan.skipped.map(\.place).sorted()
    #expect(places == [2, 3, 4].map { "001 Run/Checkmarks.csv, line \($0)" })
  }

  @Test func `rows of a Loop backup that can't be read are named, and so is the habit that they lack`() throws
  {
    let path = TemporaryFile.make()
    defer { TemporaryFile.remove(path) }
    do {
      let connection = try Connection(.file(path))
      try connection.execute(
        """
        PRAGMA user_version = 25;
        CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE Repetitions (id INTEGER PRIMARY KEY, habit INTEGER, timestamp INTEGER, value INTEGER);
        INSERT INTO Habits VALUES (1, '\(long)'), (2, 'Run');
        INSERT INTO Repetitions VALUES (1, 1, 1783123200000, 2), (2, 2, 9000000000000000000, 2),
          (3, 2, 1783036800000, NULL), (4, 2, 1783123200000, 2), (5, 2, 1783123200001, 2);
        """)
    }
    let plan = try Importer.plan(try TemporaryFile.read(path))
    #expect(plan.drafts(Kind.habit).compactMap { $0.text("name") } == ["Run"])
    #expect(plan.days == ["2026-07-04": .float(1)])
    #expect(plan.drafts(Kind.habitEntry).count == 1)
    let left = plan.skipped.map { "\($0.place): \($0.reason)" }
    #expect(left.first?.hasPrefix("Habits, id 1: name cannot be") == true, "\(left)")
    #expect(
      left.dropFirst() == [
        "Repetitions, id 1: its habit is left out",
        "Repetitions, id 2: its timestamp is outside the years 1 to 9999",
        "Repetitions, id 3: it has no value", "Repetitions, id 5: the day 2026-07-04 appears twice",
      ])
  }

  @Test func `an archive for Loop keeps notes that only look like a frequency, and names equal habits`()
    throws
  {
    let notes = [
      "Far\n\n03 times in 7 days", "Far\n\n7 times in 3 days", "at least", "3 times in 7 days, often",
    ]
    let habits = notes.enumerated().map { number, text in
      RecordDraft(
        Kind.habit, id(UInt64(number)),
        [
          Kind.habit.number("name"): .text("a/../b"), Kind.habit.number("notes"): .text(text),
          Kind.habit.number("displayOrder"): .integer(Int64(number)),
        ])
    }
    let folder = Exporter.folder(.loopCSV, from: ExportSource(habits))
    let paths = (1...4).map { "00\($0) a..b/Checkmarks.csv" }
    #expect(folder.files.map(\.path) == ["Habits.csv"] + paths)
    let same = "two habits are named \"a/../b\": Loop distinguishes them only by position"
    #expect(folder.warnings == [same, same, same])
    let list = String(decoding: folder.files[0].bytes, as: UTF8.self)
    #expect(!list.contains(",3,7,") && !list.contains(",7,3,"), "\(list)")
    let files = folder.files.map { ImportedFile(path: $0.path, bytes: $0.bytes) }
    let read = try Importer.plan(.folder(files)).drafts(Kind.habit)
    #expect(Set(read.map { $0.text("notes") ?? "" }) == Set(notes))
    #expect(Set(read.map(\.id)).count == 4)
  }

  // MARK: Ritualist

  private func ritualist(_ habits: [JSON], logs: [JSON] = []) -> JSON {
    ["habits": .array(habits), "habitLogs": .array(logs)]
  }

  @Test func `a second row of a habit that is refused does not take the entries of the first`() throws {
    let habit: JSON = ["id": uuid(1), "name": "Run", "kind": ["binary": [:]]]
    let log: JSON = [
      "id": uuid(2), "habitID": uuid(1), "date": "2026-05-03T13:00:00Z", "timezone": "UTC", "value": 1,
    ]
    for name in ["Run", ""] {
      var second = habit
      second["name"] = .string(name)
      let plan = try Importer.plan(ritualist([habit, second], logs: [log]).bytes())
      #expect(plan.skipped.map(\.place) == ["habits[1]"])
      #expect(plan.drafts(Kind.habitEntry).count == 1 && plan.drafts(Kind.habit).count == 1)
    }
  }

  @Test func `entries of a habit are read if any row of the habit is`() throws {
    let habit: JSON = ["id": uuid(1), "name": "Run", "kind": ["binary": [:]]]
    var refused = habit
    refused["name"] = ""
    let log: JSON = [
      "id": uuid(2), "habitID": uuid(1), "date": "2026-05-03T13:00:00Z", "timezone": "UTC", "value": 1,
    ]
    let plan = try Importer.plan(ritualist([refused, habit], logs: [log]).bytes())
    #expect(plan.skipped.map(\.place) == ["habits[0]"])
    #expect(plan.drafts(Kind.habitEntry).count == 1 && plan.drafts(Kind.habit).count == 1)
  }

  @Test func `a key is written as the file had it only while the record has that value`() throws {
    let file = ritualist([
      [
        "id": uuid(1), "name": "Run", "kind": ["binary": [:]], "notes": nil,
        "reminders": [["hour": 8, "minute": 30, "sound": "bell"]],
      ]
    ])
    let plan = try Importer.plan(file.bytes())
    var habit = try #require(plan.drafts(Kind.habit).first)
    func exported() throws -> JSON {
      let bytes = Exporter.file(.ritualist, from: ExportSource([habit]), now: now).bytes
      return try #require(try JSON.parse(bytes)["habits"]?[0])
    }
    let same = try exported()
    #expect(same["notes"] == .null && same["reminders"]?[0]?["sound"] == "bell")
    habit[Kind.habit.number("notes")] = .text("Hat")
    habit[Kind.habit.number("reminders")] = .array([.array([.integer(9), .integer(0)])])
    let changed = try exported()
    let nine: JSON = [["hour": 9, "minute": 0]]
    #expect(changed["notes"] == "Hat" && changed["reminders"] == nine)
  }

  @Test func `the onboarding is written with its flag, and not for the flag alone`() throws {
    func setting(_ key: String, _ value: Value) -> RecordDraft {
      let kind = Kind.setting
      return RecordDraft(
        kind, RecordID(kind: kind, key: key), [kind.number("key"): .text(key), kind.number("value"): value])
    }
    let flag = setting("hasCompletedOnboarding", .bool(true))
    let details = [
      setting("onboardingUserName", .text("Alice")),
      setting("onboardingCompletedDate", .text("2026-05-03T13:00:00Z")),
    ]
    let alone = Exporter.file(.ritualist, from: ExportSource([flag]), now: now)
    #expect(try JSON.parse(alone.bytes)["onboarding"] == nil)
    let file = Exporter.file(.ritualist, from: ExportSource([flag] + details), now: now)
    let expected: JSON = [
      "completedDate": "2026-05-03T13:00:00Z", "isCompleted": true, "userName": "Alice",
    ]
    #expect(try JSON.parse(file.bytes)["onboarding"] == expected)
    let read = try Importer.plan(file.bytes).drafts(Kind.setting)
    #expect(Set(read) == Set([flag] + details))
  }
}

/// Trips of other applications of which a part can't be read.
struct ForeignTripRowTests {
  private func surmai(_ trip: JSON, _ transportations: [JSON] = [], lodgings: [JSON] = []) throws
    -> ImportPlan
  {
    let file: JSON = [
      "trip": trip, "transportations": .array(transportations), "lodgings": .array(lodgings),
    ]
    return try Importer.plan(file.bytes())
  }

  @Test func `without its trip, nothing of a file of Surmai is imported`() throws {
    let stay: JSON = ["id": "a", "name": "Rosa"]
    let plan = try surmai(["name": "Italy"], lodgings: [stay])
    #expect(plan.drafts.isEmpty)
    #expect(plan.skipped == [SkippedRow(place: "trip", reason: "it has no id")])
    #expect(try surmai(["id": "t", "name": "Italy"], lodgings: [stay]).drafts.count == 2)
  }

  @Test
  func `means, prices and companies of Surmai that no record can have are left out, and the rest is kept`()
    throws
  {
    let plan = try surmai(
      ["id": "t", "name": "Italy"],
      [
        ["id": "a", "type": "Bus", "origin": "A"], ["id": "b", "type": "zeppelin", "origin": "B"],
        ["id": "c", "type": "rental_car", "origin": "C", "metadata": ["provider": ["name": "None"]]],
        ["id": "d", "type": "train", "origin": "D", "cost": ["value": 5, "currency": "Euro"]],
      ], lodgings: [["id": "e", "name": "Rosa", "type": "hostel"]])
    let texts = FieldTexts(plan.drafts)
    let types = ["A", "B", "C"].map { texts.record(Kind.transportation, $0)["type"] }
    #expect(types == ["car", nil, "car"])
    #expect(plan.skipped.map(\.place) == ["transportations[3]"])
    #expect(plan.skipped.first?.reason.hasPrefix("cost should be a price") == true, "\(plan.skipped)")
    #expect(
      plan.warnings == [
        "lodgings: the type \"hostel\" is not supported and is left out",
        "transportations: a bus is imported as a car",
        "transportations: the type \"zeppelin\" is unknown and is left out",
      ])
    #expect(plan.drafts(Kind.lodging).count == 1 && plan.drafts(Kind.organization).isEmpty)
    let none = plan.drafts(Kind.transportation).filter {
      $0.held("organizationId") == .bytes(FixedRecords.noneID.bytes)
    }
    #expect(none.compactMap { $0.text("name") } == ["C"])
  }

  // MARK: Traveling Snails

  private func snails(_ attachment: JSON) throws -> ImportPlan {
    let trip: JSON = ["id": uuid(1), "name": "Rome", "embeddedLodging": [["id": uuid(2), "name": "Casa"]]]
    let file: JSON = ["exportInfo": ["version": "1.0"], "trips": [trip], "attachments": [attachment]]
    return try Importer.plan(file.bytes())
  }

  private let attachment: JSON = [
    "id": uuid(3), "fileName": "a.pdf", "fileSize": 3, "parentType": "lodging", "parentId": uuid(2),
    "fileData": "Zm9v",
  ]

  @Test(
    arguments: [
      (
        "parentType", "trip",
        "parentType cannot be \"trip\": expected one of activity, lodging, transportation"
      ),
      ("parentId", "Casa", "parentId should be a UUID, but is \"Casa\""),
      ("fileData", "%%%", "fileData is not base64"),
      ("fileData", 7, "fileData is not base64"), ("fileName", 7, "fileName should be text, but is 7"),
    ] as [(String, JSON, String)])
  func `an attachment that can't be read is left out, with the reason`(
    key: String, value: JSON, reason: String
  ) throws {
    var row = attachment
    row[key] = value
    let plan = try snails(row)
    #expect(plan.drafts(Kind.attachment).isEmpty && plan.drafts(Kind.lodging).count == 1)
    #expect(plan.skipped == [SkippedRow(place: "attachments[0]", reason: reason)])
  }

  @Test(
    arguments: [
      ("fileSize", 3, nil), ("fileSize", 5, "attachments[0]: fileSize is 5, but its data has 3 bytes"),
      ("parentId", "", "attachments: an attachment has no parent"),
      ("parentType", "activity", "attachments: an attachment belongs to a row that is not in the file"),
    ] as [(String, JSON, String?)])
  func `an attachment that contradicts its file is imported, with a warning`(
    key: String, value: JSON, warning: String?
  ) throws {
    var row = attachment
    row[key] = value
    let plan = try snails(row)
    #expect(plan.skipped.isEmpty && plan.warnings == [warning].compactMap { $0 }, "\(plan.warnings)")
    let read = try #require(plan.drafts(Kind.attachment).first)
    #expect(read.held("fileData") == .bytes(Array("foo".utf8)))
  }

  // MARK: Exports

  private func draft(_ kind: Kind, _ number: UInt64, _ values: [String: Value]) -> RecordDraft {
    var draft = RecordDraft(kind, id(number))
    for (name, value) in values { draft[kind.number(name)] = value }
    return draft
  }

  private func reference(_ number: UInt64) -> Value { .bytes(id(number).bytes) }

  private var world: [RecordDraft] {
    let trips = ([1, 2] as [UInt64]).map { draft(Kind.trip, $0, ["name": .text("Trip \($0)")]) }
    let items = [
      draft(
        Kind.lodging, 11,
        ["trip": reference(1), "name": .text("a"), "organizationId": reference(21), "address": reference(31)]),
      draft(Kind.transportation, 12, ["trip": reference(1), "name": .text("b")]),
      draft(
        Kind.leg, 13,
        [
          "transportationID": reference(12), "organizationId": reference(22),
          "departureAddressID": reference(32),
        ]),
      draft(
        Kind.activity, 14,
        ["trip": reference(2), "name": .text("c"), "organizationId": reference(23), "address": reference(33)]),
    ]
    let organizations = (21...24 as ClosedRange<UInt64>).map { number in
      draft(Kind.organization, number, ["name": .text("\(number)"), "address": reference(number + 13)])
    }
    let addresses = (31...37 as ClosedRange<UInt64>).map { draft(Kind.address, $0, ["city": .text("\($0)")]) }
    let attachments = [
      draft(Kind.attachment, 41, ["parent": .owner(Kind.lodging, id(11)), "fileName": .text("a")]),
      draft(Kind.attachment, 42, ["parent": .owner(Kind.activity, id(14)), "fileName": .text("b")]),
    ]
    return trips + items + organizations + addresses + attachments
  }

  @Test func `a file with one trip has all that its items name, and nothing else`() throws {
    func ids(_ list: String, of trip: UInt64?) throws -> Set<String> {
      let file = Exporter.file(.travelingSnails, from: ExportSource(world), now: 0, trip: trip.map(id))
      #expect(file.warnings.isEmpty, "\(file.warnings)")
      let rows = try JSON.parse(file.bytes)[list]?.array ?? []
      return Set(rows.compactMap { $0["id"]?.string })
    }
    func expected(_ numbers: [UInt64]) -> Set<String> { Set(numbers.map { id($0).uuid }) }
    let none: Set = [FixedRecords.noneID.uuid]
    #expect(try ids("trips", of: 1) == expected([1]))
    #expect(try ids("organizations", of: 1) == expected([21, 22]).union(none))
    // Those of the lodging and the leg, and of their organizations.
    #expect(try ids("addresses", of: 1) == expected([31, 32, 34, 35]))
    #expect(try ids("attachments", of: 1) == expected([41]))
    #expect(try ids("organizations", of: 2) == expected([23]).union(none))
    #expect(try ids("addresses", of: 2) == expected([33, 36]))
    #expect(try ids("attachments", of: nil) == expected([41, 42]))
    #expect(try ids("addresses", of: nil) == expected(Array(31...37)))
  }

  @Test func `an item without its trip is not in a file of trips, and is named`() throws {
    let lost = draft(Kind.lodging, 5, ["trip": reference(9), "name": .text("Casa")])
    let file = Exporter.file(.travelingSnails, from: ExportSource(world + [lost]), now: 0)
    #expect(file.warnings == ["lodging \(id(5).uuid) belongs to no trip and is left out"])
    #expect(!String(decoding: file.bytes, as: UTF8.self).contains(id(5).uuid))
  }

  @Test(arguments: [
    ("pdf", ".pdf"), ("abcdefghij", ".abcdefghij"), ("", ""), ("abcdefghijk", ""), ("a/b", ""), ("..", ""),
    ("p df", ""), ("é", ""),
  ])
  func `a file next to the tables has the ending of its attachment, if that can't lead elsewhere`(
    ending: String, expected: String
  ) throws {
    let row = draft(
      Kind.attachment, 41,
      ["fileName": .text("a"), "fileExtension": .text(ending), "fileData": .bytes([1, 2])])
    let folder = Exporter.folder(.csv, from: ExportSource([row]))
    let path = "files/\(id(41).uuid)\(expected)"
    let file = try #require(folder.files.first { $0.path.hasPrefix("files/") })
    #expect(file.path == path && file.bytes == [1, 2])
    let table = try #require(folder.files.first { $0.path == "attachments.csv" })
    #expect(String(decoding: table.bytes, as: UTF8.self).contains(",\(path),"))
  }

  @Test func `a file that is not on this device is not next to the tables, and is named`() throws {
    let content = [UInt8](repeating: 7, count: 40_000)
    let file = try #require(FileHasher.list(of: content)).reference
    let row = draft(Kind.attachment, 41, ["fileName": .text("a"), "fileData": file.value])
    let folder = Exporter.folder(.csv, from: ExportSource([row]))
    #expect(!folder.files.contains { $0.path.hasPrefix("files/") })
    #expect(
      folder.warnings == [
        "fileData of attachment \(id(41).uuid) is incomplete on this device and is left out"
      ])
  }

  // MARK: Full imports

  private func full(_ text: String) throws -> ImportPlan { try Importer.plan(Array(text.utf8)) }

  @Test(arguments: ["", "0", "-1", "x", "2.0"])
  func `an export of a version that never was is refused`(version: String) {
    let expected = ExchangeError.wrongShape(place: "\"schema\"", expected: "\"waymark.export/2\"")
    #expect(throws: expected) { try full(#"{"schema":"waymark.export/\#(version)","trips":[]}"#) }
  }

  @Test func `an export of the first version is read, and a list that is none is damage`() throws {
    let row = #"{"id":"\#(id(3).uuid)","fileName":"a","fileData":"Zm9v"}"#
    let plan = try full(#"{"schema":"waymark.export/1","attachments":[\#(row)]}"#)
    #expect(plan.drafts.first?.held("fileData") == .bytes(Array("foo".utf8)) && plan.skipped.isEmpty)
    #expect(throws: ExchangeError.wrongShape(place: "\"trips\"", expected: "a list")) {
      try full(#"{"schema":"waymark.export/2","attachments":[\#(row)],"trips":{}}"#)
    }
  }

  @Test func `an export can't bring a second profile, nor another name for None`() throws {
    let profile = #"{"id":"\#(id(3).uuid)","name":"Bob"}"#
    let none = #"{"id":"\#(FixedRecords.noneID.uuid)","name":"Nothing","phone":"1"}"#
    let plan = try full(
      #"{"schema":"waymark.export/2","profiles":[\#(profile)],"organizations":[\#(none)]}"#)
    #expect(plan.skipped.map(\.place) == ["profiles[0]"])
    #expect(plan.drafts.map(\.id) == [FixedRecords.noneID])
    #expect(plan.drafts.first?[FixedRecords.organizationName] == nil)
    #expect(plan.drafts.first?.text("phone") == "1")
  }
}
