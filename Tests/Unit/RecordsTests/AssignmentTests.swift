import JSONDocument
import Reasons
import Records
import Replication
import Testing
import Wire

private struct Names: ReferenceResolver {
  struct Unknown: Error {}

  func record(_ kind: KindNumber, named name: String) throws -> RecordID {
    guard name == "Rome" else { throw Unknown() }
    return RecordID(kind: try #require(Schema.builtIn.kind(kind)), key: name)
  }

  func key(_ kind: KindNumber, named name: String) throws -> String {
    guard name == "Health" else { throw Unknown() }
    return "health"
  }
}

/// The values of a kind's fields by name, in the typed form.
private func values(
  _ kind: Kind, _ text: [(String, String)], held: [String: Value] = [:]
) throws -> [String: Value] {
  let assignments = Assignments(kind: kind, zones: lab, zone: "Lab/East", resolver: Names())
  let values = try assignments.values(text.map { (name: $0.0, text: $0.1) }) { held[$0.name] }
  return Dictionary(
    uniqueKeysWithValues: values.map { number, value in (kind.field(number)?.name ?? "?", value) })
}

struct AssignmentTests {
  @Test func `the lodging example of the manual is parsed`() throws {
    let lodging = try values(
      Kind.lodging,
      [
        ("trip", "Rome"), ("name", "Casa Rosa"), ("start", "2026-05-03T15:00"), ("startTZ", "Lab/East"),
        ("cost", "120.50"), ("currency", "eur"), ("hideLocation", "yes"), ("paid", "deposit"),
      ])
    #expect(
      lodging == [
        "trip": .bytes(RecordID(kind: Kind.trip, key: "Rome").bytes), "name": .text("Casa Rosa"),
        "start": .array([.integer(1_777_820_400_000 - 20_700_000), .text("Lab/East")]),
        "cost": .array([.text("120.50"), .text("EUR")]), "hideLocation": .bool(true),
        "paid": .text("deposit"),
      ])
  }

  @Test func `omitted parts of a structured value keep their values`() throws {
    let held: [String: Value] = [
      "cost": .array([.text("1"), .text("EUR")]), "start": .array([.integer(0), .text("Lab/East")]),
      "location": .array([.float(1), .float(2)]),
    ]
    let kind = Kind.lodging
    #expect(try values(kind, [("cost", "2")], held: held) == ["cost": .array([.text("2"), .text("EUR")])])
    #expect(
      try values(kind, [("currency", "USD")], held: held) == ["cost": .array([.text("1"), .text("USD")])])
    #expect(try values(kind, [("currency", "")], held: held) == ["cost": .array([.text("1"), .null])])
    #expect(try values(kind, [("cost", "")], held: held) == ["cost": .null])
    #expect(
      try values(kind, [("start", "1970-01-02")], held: held)
        == ["start": .array([.integer(86_400_000 - 20_700_000), .text("Lab/East")])])
    #expect(
      try values(kind, [("startTZId", "UTC")], held: held) == ["start": .array([.integer(0), .text("UTC")])])
    #expect(
      try values(Kind.habit, [("latitude", "-3.5")], held: held)
        == ["location": .array([.float(-3.5), .float(2)])])
  }

  @Test func `a log gets the zone of the device and the day in that zone`() throws {
    #expect(
      try values(Kind.habitEntry, [("date", "2026-05-03"), ("value", "2")]) == [
        "date": .array([.integer(1_777_766_400_000 - 20_700_000), .text("Lab/East"), .text("2026-05-03")]),
        "value": .float(2),
      ])
  }

  @Test func `structured values can be typed as words`() throws {
    let habit = try values(
      Kind.habit,
      [
        ("schedule", "fri,mon,1"), ("reminders", "20:30, 8:05"), ("frequency", "everyEntry:30"),
        ("category", "Health"),
      ])
    #expect(habit["schedule"] == .array([.integer(1), .integer(5)]))
    #expect(
      habit["reminders"]
        == .array([.array([.integer(20), .integer(30)]), .array([.integer(8), .integer(5)])]))
    #expect(habit["frequency"] == .integer(30))
    #expect(habit["categoryId"] == .text("health"))
  }

  @Test(arguments: [
    ("schedule", "daily"), ("schedule", "mon,wed,sun"), ("reminders", "08:05,20:30"), ("reminders", "00:00"),
    ("frequency", "oncePerDay"), ("frequency", "everyEntry:30"),
  ])
  func `structured values are shown in the form in which they are typed`(field: String, typed: String) throws
  {
    let value = try #require(try values(Kind.habit, [(field, typed)])[field])
    let type = try #require(Kind.habit.field(named: field)?.type)
    guard case .list(let shape) = type else { throw FieldError(field: field, value: nil, allowed: "a list") }
    #expect(shape.text(value) == typed)
    #expect(shape.value(shape.json(value)) == value)
  }

  static let refused: [(Kind, [(String, String)], String)] = [
    (Kind.trip, [("colour", "red")], "a trip has no field colour: it has name, notes"),
    (Kind.trip, [("name", "a"), ("name", "b")], "name cannot be \"b\": it is given twice"),
    (Kind.trip, [("startDate", "soon")], "startDate cannot be \"soon\": use a day such as"),
    (Kind.trip, [("isProtected", "maybe")], "isProtected cannot be \"maybe\": true or false"),
    (Kind.lodging, [("cost", "1,50")], "cost cannot be \"1,50\": use a point: 1.50"),
    (
      Kind.lodging, [("currency", "EUR")],
      "currency cannot be \"EUR\": cost must be given as well"
    ),
    (Kind.lodging, [("cost", "1"), ("currency", "Euro")], "currency cannot be \"Euro\": use a code"),
    (
      Kind.lodging, [("start", "2026-05-03T15:00")],
      "start cannot be \"2026-05-03T15:00\": give the time with an offset"
    ),
    (
      Kind.lodging, [("start", "2026-05-03"), ("startTZ", "Rome")],
      "startTZ cannot be \"Rome\": use a time zone"
    ),
    (Kind.lodging, [("paid", "yes")], "paid cannot be \"yes\": one of infull, deposit, none"),
    (Kind.habit, [("latitude", "1")], "longitude is missing"),
    (Kind.habit, [("latitude", "91"), ("longitude", "0")], "latitude cannot be \"91\": from -90 to 90"),
    (Kind.habit, [("colorHex", "red")], "colorHex cannot be \"red\": a colour such as"),
    (Kind.habit, [("priorityLevel", "4")], "priorityLevel cannot be \"4\": from 1 to 3"),
    (Kind.habit, [("dailyTarget", "0")], "dailyTarget cannot be \"0\": from 0.01 to 1000000"),
    (Kind.habit, [("radius", "nan")], "radius cannot be \"nan\": a number"),
    (Kind.habit, [("schedule", "sometimes")], "schedule cannot be \"sometimes\": daily, or days"),
    (Kind.habit, [("frequency", "everyEntry:1441")], "frequency cannot be \"1441\": oncePerDay, or"),
    (Kind.habit, [("name", String(repeating: "x", count: 201))], "name cannot be \"xxxxxxx"),
    (Kind.habitEntry, [("day", "2026-05-03"), ("date", "2026-05-03")], "day cannot be"),
    (Kind.habitEntry, [("value", "1000001")], "value cannot be \"1000001\": from -1000000 to 1000000"),
    (Kind.attachment, [("parentType", "trip"), ("parentId", "Rome")], "parentType cannot be \"trip\""),
    (Kind.attachment, [("parentType", "lodging")], "parentId is missing"),
  ]

  @Test(arguments: refused)
  func `an invalid value is reported with the field, the value and what is allowed`(
    kind: Kind, text: [(String, String)], message: String
  ) {
    do {
      let values = try values(kind, text)
      Issue.record("\(text) gave \(values)")
    } catch {
      #expect("\(error)".hasPrefix(message), "\(error)")
    }
  }

  @Test func `a new record needs the required fields of its kind`() throws {
    let id = RecordID(Bytes16(0, 1))
    #expect(throws: FieldError.self) {
      try Kind.trip.validate(RecordDraft(Kind.trip, id), isNew: true)
    }
    try Kind.trip.validate(RecordDraft(Kind.trip, id), isNew: false)
    try Kind.trip.validate(RecordDraft(Kind.trip, id, [1: .text("Rome")]), isNew: true)
    for kind in Schema.builtIn.kinds {
      try kind.validate(RecordDraft(kind, id, kind.defaults(now: 1_234)), isNew: false)
    }
  }

  @Test func `a record is printed with all its parts`() {
    let held: [String: Value] = [
      "name": .text("Casa Rosa"), "start": .array([.integer(0), .text("Lab/East")]),
      "cost": .array([.text("120.50"), .null]), "hideLocation": .bool(false),
    ]
    let members = Kind.lodging.fields.flatMap { $0.members(of: held[$0.name] ?? .null, zones: lab) }
    #expect(
      JSON.object(members).text() == """
        {"trip":null,"name":"Casa Rosa","start":"1970-01-01T05:45:00+05:45","startTZId":"Lab/East","end":null,\
        "endTZId":null,"cost":{"amount":"120.50","currency":null},"paid":null,"notes":null,"organizationId":null,\
        "reservation":null,"customLocationName":null,"hideLocation":false,"otherKeys":null,"address":null}
        """)
    let habit = Kind.habit.fields.flatMap {
      $0.members(of: $0.name == "schedule" ? .array([.integer(1)]) : .null, zones: lab)
    }
    #expect(JSON.object(habit)["reminders"] == [])
    #expect(JSON.object(habit)["schedule"] == ["daysOfWeek": ["_0": [1]]])
    #expect(JSON.object(habit)["frequency"] == JSON.null)
  }

  /// Resolves ids only, as the assignments of a value name records.
  private struct IDs: ReferenceResolver {
    func record(_ kind: KindNumber, named name: String) throws -> RecordID {
      try #require(RecordID(uuid: name))
    }
    func key(_ kind: KindNumber, named name: String) throws -> String { name }
  }

  @Test(arguments: [
    (Kind.lodging, ["name": Value.text("Casa 'Rosa'"), "notes": .null, "hideLocation": .bool(false)]),
    (
      Kind.lodging,
      [
        "start": .array([.integer(1_777_820_400_000), .text("Lab/East")]),
        "end": .array([.integer(0), .null]),
        "trip": .bytes(RecordID(kind: Kind.trip, key: "Rome").bytes),
        "cost": .array([.text("120.50"), .text("EUR")]),
      ]
    ),
    (Kind.activity, ["cost": .array([.text("1"), .null])]),
    (
      Kind.habit,
      [
        "dailyTarget": .float(2.5), "priorityLevel": .integer(3), "startDate": .integer(1_777_820_400_123),
        "categoryId": .text("health"), "schedule": .array([.integer(1), .integer(5)]),
        "reminders": .array([.array([.integer(8), .integer(5)])]),
        "location": .array([.float(41.5), .float(-12)]),
      ]
    ),
    (
      Kind.attachment,
      [
        "parent": .owner(Kind.lodging, RecordID(kind: Kind.trip, key: "Casa")),
        "fileDescription": .text("line\nline"),
      ]
    ),
    (Kind.habitEntry, ["date": .datedInstant(milliseconds: 0, zone: "Lab/East", zones: lab)]),
    (Kind.profile, ["profileId": .bytes(RecordID(kind: Kind.trip, key: "a").bytes)]),
  ])
  func `assigning the texts of a value gives that value again`(kind: Kind, values: [String: Value]) throws {
    let wanted = Dictionary(uniqueKeysWithValues: values.map { (kind.number($0.key), $0.value) })
    let typed = try #require(kind.assignments(of: wanted, zones: lab))
    var pairs = typed
    if kind == Kind.attachment {
      // As a command does with the assignment of an item.
      let parent = try #require(pairs.firstIndex { $0.name == "lodging" })
      pairs.replaceSubrange(
        parent...parent, with: [("parentType", "lodging"), ("parentId", typed[parent].text)])
    }
    let assignments = Assignments(kind: kind, zones: lab, zone: "Lab/East", resolver: IDs())
    #expect(try assignments.values(pairs) { _ in nil } == wanted)
  }

  @Test func `a value that nobody can type has no assignments`() {
    let picture = [Kind.profile.number("avatar"): Value.bytes([1])]
    #expect(Kind.profile.assignments(of: picture, zones: lab) == nil)
    #expect(Kind.trip.assignments(of: [999: .integer(1)], zones: lab) == nil)
  }
}
