import JSONDocument
import Reasons
import Records
import Replication
import Testing
import Wire

/// Knows no records.
private struct Nobody: ReferenceResolver {
  struct Unknown: Error {}

  func record(_ kind: KindNumber, named name: String) throws -> RecordID { throw Unknown() }
  func key(_ kind: KindNumber, named name: String) throws -> String { throw Unknown() }
}

/// The value that a person has typed for a field.
private func typed(_ kind: Kind, _ name: String, _ texts: (String, String)...) throws -> Value? {
  let assignments = Assignments(kind: kind, zones: lab, zone: "Lab/East", resolver: Nobody())
  let values = try assignments.values(texts.map { (name: $0.0, text: $0.1) }) { _ in nil }
  return values[kind.number(name)]
}

/// Lists and times as a person types them.
struct TypedListTests {
  private static let weights: Value = .array([
    .array([.text("a:b"), .float(-2)]), .array([.text("drive"), .float(1)]),
    .array([.text("openness"), .float(0.5)]),
  ])
  private static let changes: Value = .array([
    .array([.text("Europe/Rome"), .text("Asia/Tokyo"), .integer(1_777_820_400_123)]),
    .array([.text("Asia/Tokyo"), .text("UTC"), .integer(1_777_820_400_000)]),
  ])

  @Test(
    arguments: [
      (Kind.category, "personalityWeights", "openness:0.5, a:b:-2,drive:1", weights),
      (
        Kind.category, "personalityWeights", "a-b:2,a:1",
        .array([.array([.text("a"), .float(1)]), .array([.text("a-b"), .float(2)])])
      ),
      (Kind.category, "personalityWeights", #"{"openness":0.5,"drive":1,"a:b":-2}"#, weights),
      (
        Kind.profile, "timezoneChangeHistory",
        "Europe/Rome>Asia/Tokyo@2026-05-03T15:00:00.123Z,Asia/Tokyo>UTC@2026-05-04T00:00:00+09:00", changes
      ),
      (Kind.habit, "schedule", #"{"daysOfWeek":{"_0":[5,1,5]}}"#, .array([.integer(1), .integer(5)])),
      (Kind.habit, "schedule", #"{"daily":{}}"#, .text("daily")),
      (Kind.habit, "schedule", "Sun, MON", .array([.integer(1), .integer(7)])),
      (
        Kind.habit, "reminders", #"[{"hour":8,"minute":5}]"#, .array([.array([.integer(8), .integer(5)])])
      ),
      (Kind.habit, "frequency", #"{"everyEntry":{"cooldownMinutes":30}}"#, .integer(30)),
    ] as [(Kind, String, String, Value)])
  func `a list is typed as words or as in a file, and shown as words that give it again`(
    kind: Kind, field: String, text: String, value: Value
  ) throws {
    #expect(try typed(kind, field, (field, text)) == value)
    let type = try #require(kind.field(named: field)?.type)
    guard case .list(let shape) = type else {
      Issue.record("\(field) is no list")
      return
    }
    #expect(try typed(kind, field, (field, shape.text(value))) == value, "\(shape.text(value))")
    #expect(shape.value(shape.json(value)) == value)
  }

  @Test(arguments: [
    (Kind.category, "personalityWeights", "openness"), (Kind.category, "personalityWeights", "openness:x"),
    (Kind.category, "personalityWeights", "openness:inf"), (Kind.category, "personalityWeights", "a:1,a:2"),
    (Kind.category, "personalityWeights", #"{"a":"1"}"#),
    (Kind.profile, "timezoneChangeHistory", "Europe/Rome@2026-05-03T15:00:00Z"),
    (Kind.profile, "timezoneChangeHistory", "Europe/Rome>UTC"),
    (Kind.profile, "timezoneChangeHistory", "Europe/Rome>UTC@2026-05-03T15:00"),
    (Kind.habit, "schedule", #"{"daily":{},"weekly":{}}"#), (Kind.habit, "schedule", "mon,8"),
    (Kind.habit, "schedule", #"{"daysOfWeek":{"_0":[1,"2"]}}"#), (Kind.habit, "reminders", "08:00,8"),
    (Kind.habit, "reminders", "08:00:00"), (Kind.habit, "reminders", #"[{"hour":8}]"#),
    (Kind.habit, "frequency", "everyEntry"), (Kind.habit, "frequency", "onEntry:30"),
    (Kind.habit, "frequency", #"{"everyEntry":{}}"#),
  ])
  func `a list of which one item is wrong is refused as a whole`(kind: Kind, field: String, text: String) {
    let error = #expect(throws: FieldError.self) { try typed(kind, field, (field, text)) }
    #expect(error?.field == field && error?.value == text)
  }

  // MARK: Times

  @Test func `an entry typed with an offset has the day that it is in the zone of the person`() throws {
    // It is 10:15 of the next day in Lab/East.
    let late = try typed(Kind.habitEntry, "date", ("date", "2026-05-03T23:30:00-05:00"))
    #expect(late == .array([.integer(1_777_869_000_000), .text("Lab/East"), .text("2026-05-04")]))
    // A zone that was typed must go with the offset.
    let error = #expect(throws: FieldError.self) {
      try typed(
        Kind.habitEntry, "date", ("date", "2026-05-03T23:30:00-05:00"), ("timezone", "Lab/East"))
    }
    #expect(error?.field == "date")
    #expect(error?.allowed.description.contains("use 2026-05-04T10:15:00+05:45") == true)
    let utc = try typed(Kind.habitEntry, "date", ("timezone", "UTC"), ("date", "2026-05-03T23:30:00+00:00"))
    #expect(utc == .array([.integer(1_777_851_000_000), .text("UTC"), .text("2026-05-03")]))
  }

  @Test func `a day of a habit is noon in the zone of the person, and a day of a trip is that day in UTC`()
    throws
  {
    let midnight: Int64 = 1_777_766_400_000
    let east: Int64 = 20_700_000
    let day = "2026-05-03"
    #expect(try typed(Kind.habit, "startDate", ("startDate", day)) == .integer(midnight + 43_200_000 - east))
    let early = try typed(Kind.habit, "startDate", ("startDate", "2026-05-03T00:30"))
    #expect(early == .integer(midnight + 1_800_000 - east))
    #expect(try typed(Kind.trip, "startDate", ("startDate", day)) == .integer(midnight))
    let exact = try typed(Kind.habit, "startDate", ("startDate", "2026-05-03T00:30:00Z"))
    #expect(exact == .integer(midnight + 1_800_000))
  }

  @Test(arguments: [
    (Kind.lodging, [("start", "2026-05-03T15:00Z"), ("startTZ", "UTC"), ("startTZId", "UTC")], "startTZId"),
    (Kind.leg, [("from", "Rome"), ("departureLocationName", "Rome")], "departureLocationName"),
    (Kind.habit, [("latitude", "1"), ("longitude", "2"), ("latitude", "1")], "latitude"),
  ])
  func `a part of a field is typed once, under whichever of its names`(
    kind: Kind, texts: [(String, String)], field: String
  ) {
    let assignments = Assignments(kind: kind, zones: lab, zone: "Lab/East", resolver: Nobody())
    let error = #expect(throws: FieldError.self) {
      try assignments.values(texts.map { (name: $0.0, text: $0.1) }) { _ in nil }
    }
    #expect(error?.field == field && error?.allowed.description == "it is given twice")
  }

  @Test(arguments: [
    ("yes", true), ("NO", false), ("True", true), ("off", false), ("1", true), ("0", false), ("On", true),
    ("false", false),
  ])
  func `a yes or no is typed in many ways`(text: String, flag: Bool) throws {
    #expect(try typed(Kind.habit, "isActive", ("isActive", text)) == .bool(flag))
  }

  // MARK: New records

  @Test func `a new habit counts an amount only if it has a unit or a target, and starts at a whole second`()
  {
    let (kind, start) = (Kind.habit.number("kind"), Kind.habit.number("startDate"))
    func defaults(_ name: String, _ value: Value) -> Value? {
      Kind.habit.defaults(now: 0, for: [Kind.habit.number(name): value])[kind]
    }
    #expect(defaults("unitLabel", .text("l")) == .text("numeric"))
    #expect(defaults("dailyTarget", .float(2)) == .text("numeric"))
    #expect(defaults("unitLabel", .text("")) == .text("binary"))
    #expect(defaults("dailyTarget", .null) == .text("binary"))
    #expect(defaults("notes", .text("l")) == .text("binary"))
    #expect(Kind.habit.defaults(now: 1_999)[start] == .integer(1_000))
    #expect(Kind.habit.defaults(now: -1)[start] == .integer(-1_000))
    #expect(Kind.trip.defaults(now: 1_999)[Kind.trip.number("createdDate")] == .integer(1_000))
    #expect(Kind.trip.defaults(now: 0)[Kind.trip.number("startDate")] == nil)
  }
}

/// Values as documents have them.
struct DocumentValueTests {
  private static let id: JSON = "00000000-0000-4000-8000-000000000001"

  static let refused: [(Kind, JSON, String)] = [
    (Kind.lodging, ["cost": ["amount": 5, "currency": "EUR"]], "cost"),
    (Kind.lodging, ["cost": ["currency": "EUR"]], "cost"), (Kind.lodging, ["cost": "5 EUR"], "cost"),
    (Kind.lodging, ["cost": ["amount": "5", "currency": 7]], "cost"),
    (Kind.lodging, ["start": "2026-05-03T15:00", "startTZId": "Europe/Rome"], "start"),
    (Kind.lodging, ["start": "2026-05-03T15:00:00Z", "startTZId": 7], "start"),
    (Kind.lodging, ["startTZId": "Europe/Rome"], "start"), (Kind.lodging, ["trip": "Rome"], "trip"),
    (Kind.lodging, ["hideLocation": 1], "hideLocation"),
    (Kind.trip, ["startDate": "2026-05-03"], "startDate"),
    (Kind.habit, ["latitude": 1], "latitude"), (Kind.habit, ["longitude": 1], "latitude"),
    (Kind.habit, ["latitude": 1, "longitude": "2"], "latitude"),
    (Kind.habit, ["schedule": "daily"], "schedule"),
    (Kind.habit, ["priorityLevel": 1.5], "priorityLevel"), (Kind.habit, ["dailyTarget": "2"], "dailyTarget"),
    (Kind.habitEntry, ["date": "2026-05-03T15:00:00Z", "day": 3], "date"),
    (Kind.attachment, ["parentType": "spaceship", "parentId": id], "parentType"),
    (Kind.attachment, ["parentType": "lodging", "parentId": "x"], "parentType"),
    (Kind.attachment, ["parentId": id], "parentType"), (Kind.setting, ["value": [:]], "value"),
  ]

  @Test(arguments: refused)
  func `a value in another form is refused, and its field is named`(kind: Kind, row: JSON, name: String)
    throws
  {
    let field = try #require(kind.field(named: name))
    let error = #expect(throws: FieldError.self) { try field.value(in: row) }
    #expect(error?.field == name)
  }

  @Test func `an absent value is not the same as none`() throws {
    let (start, cost) = (try #require(Kind.lodging.field(named: "start")), Kind.lodging.fields[4])
    #expect(try start.value(in: ["end": "2026-05-03T15:00:00Z"]) == nil)
    #expect(try start.value(in: ["start": nil]) == .null)
    #expect(try start.value(in: ["start": nil, "startTZId": nil]) == .null)
    let time = try start.value(in: ["start": "2026-05-03T15:00:00+02:00"])
    #expect(time == .array([.integer(1_777_813_200_000), .null]))
    #expect(cost.name == "cost")
    #expect(try cost.value(in: ["cost": ["amount": "5"]]) == .array([.text("5"), .null]))
  }

  @Test func `a setting has the value of its document, and no list or object`() throws {
    let table: [(JSON, Value?)] = [
      (true, .bool(true)), (1, .integer(1)), (.number("1.0"), .float(1)), (0.5, .float(0.5)), ("", .text("")),
      (.number("9223372036854775808"), .float(9.223372036854775808e18)), (.null, nil), ([], nil), ([:], nil),
      (.number("1e999"), nil),
    ]
    for (json, value) in table { #expect(Value(documentJSON: json) == value, "\(json)") }
    let zero = try #require(Value(documentJSON: .number("-0.0")))
    #expect(zero.isWritable && zero == .float(0))
    for json: JSON in [true, 1, 0.5, "x"] { #expect(Value(documentJSON: json)?.documentJSON == json) }
    #expect(Value.bytes([0, 255]).documentJSON == "AP8=")
    #expect(Value.array([.null, .integer(1)]).documentJSON == [nil, 1])
  }
}
