import Foundation
import JSONDocument
import Testing
import WaymarkTesting

@testable import Waymark

/// Files of both applications with every key that their formats have: one device imports them, the other exports them.
struct EveryKeyTests {
  @Test func `every key of a file with trips comes back from another device`() async throws {
    try await check(TripsFile().json, "traveling-snails")
  }

  @Test func `keys of trips that are null come back from another device`() async throws {
    try await check(TripsFile(isNull: true).json, "traveling-snails")
  }

  @Test func `every key of a file with habits comes back from another device`() async throws {
    try await check(HabitsFile().json, "ritualist")
  }

  @Test func `keys of habits that are null come back from another device`() async throws {
    try await check(HabitsFile(isNull: true).json, "ritualist")
  }

  @Test func `the legs and the onboarding of a file can be seen and edited`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.node.bring(TripsFile().json)
    try await alice.node.bring(HabitsFile().json)
    let leg = try await alice.run("leg.show", ["id": "IC 7"])
    #expect(leg["departure"] == "2025-05-03T15:00:00.123+02:00")
    #expect(leg["departureAddressID"]?["city"] == "Rome 6")
    #expect(try await alice.node.value(of: .onboardingUserName) == "Ada L.")
    #expect(try await alice.node.value(of: .hasGrantedNotifications))
    try await alice.run("leg.edit", fields("seat=14C", "departureTerminal=", id: "IC 7"))
    try await alice.run("settings.set", ["key": "onboardingUserName", "value": "Ada"])
    let trips = try await alice.node.exported("traveling-snails")
    let legs = trips["trips"]?[0]?["embeddedTransportation"]?[0]?["legs"]
    #expect(legs?[0]?["seatNumber"] == "14C" && legs?[0]?["departureTerminal"] == nil)
    #expect(try await alice.node.exported("ritualist")["onboarding"]?["userName"] == "Ada")
  }

  @Test func `a leg without an id is the same record each time, and sorted by its place`() async throws {
    let alice = try await TestNode.founder("alice")
    var file = TripsFile()
    file.legs = [["serviceNumber": "B 2"], ["serviceNumber": "A 1"]]
    try await alice.node.bring(file.json)
    let again = try await alice.node.bring(file.json)
    #expect([again["added"], again["updated"]] == [0, 0])
    let listed = try await alice.run("leg.list")
    #expect(listed["legs"]?.array?.map { $0["serviceNumber"] } == ["B 2", "A 1"])
  }

  /// Imports a file at Alice, and compares it with what Bob exports.
  private func check(_ file: JSON, _ format: String) async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let summary = try await circle["alice"].bring(file)
    #expect(summary["skipped"] == 0)
    let leftOut = summary["warnings"]?.array?.filter { $0.string?.contains("left out") ?? false }
    #expect(leftOut == [], "\(summary)")
    try await circle.inSync()
    let (given, found) = (Tree(file), Tree(try await circle["bob"].exported(format)))
    for path in Set(given.leaves.keys).union(found.leaves.keys).sorted() {
      #expect(given.leaves[path] == found.leaves[path], "\(path)")
    }
  }
}

extension Node {
  @discardableResult
  fileprivate func bring(_ file: JSON) async throws -> JSON {
    let path = home.path + "/import.json"
    try file.text(.pretty).write(toFile: path, atomically: true, encoding: .utf8)
    return try await run("import", ["files": [.string(path)]])
  }

  fileprivate func exported(_ format: String) async throws -> JSON {
    let path = home.path + "/export.json"
    try await run("export", ["format": .string(format), "output": .string(path), "yes": true])
    return try JSON.parse(Array(try Data(contentsOf: URL(filePath: path))))
  }
}

/// A document as its leaves by path, without regard to the order of keys and of rows with ids.
private struct Tree {
  private(set) var leaves: [String: JSON] = [:]

  init(_ json: JSON) { add(json, "") }

  private mutating func add(_ json: JSON, _ path: String) {
    switch json {
    case .object(let members) where !members.isEmpty:
      for member in members { add(member.value, "\(path).\(member.key)") }
    case .array(let items) where !items.isEmpty:
      for (index, item) in items.enumerated() { add(item, "\(path)[\(item["id"]?.string ?? "\(index)")]") }
    default:
      // The time of the export differs.
      if path != ".exportedAt", path != ".exportInfo.timestamp" { leaves[path] = json }
    }
  }
}

/// A table of keys and values, and the rows that are made of it.
private struct Keys {
  let values: [(key: String, value: JSON)]
  /// The keys that a row can't do without.
  let needed: Set<String>

  init(needed: Set<String>, _ values: KeyValuePairs<String, JSON>) {
    self.values = values.map { ($0.key, $0.value) }
    self.needed = needed
  }

  /// Returns a row with all keys, each with a value of its own row, and one that no format has.
  ///
  /// - Parameters:
  ///   - number: the number of the row, which its texts have.
  ///   - isNull: whether all keys that a row can do without are null.
  func row(_ number: Int, isNull: Bool, _ more: KeyValuePairs<String, JSON> = [:]) -> JSON {
    var row: JSON = [:]
    for (key, value) in values {
      if isNull, !needed.contains(key) {
        row[key] = .null
      } else if case .string(let text) = value {
        row[key] = .string(text.replacing("%", with: "\(number)"))
      } else {
        row[key] = value
      }
    }
    for (key, value) in more { row[key] = value }
    row["unknown"] = ["number": .integer(number), "nothing": nil, "list": [1, "é", [:]]]
    return row
  }
}

private func id(_ number: Int) -> JSON {
  .string("00000000-0000-4000-8000-00000000000" + String(number, radix: 16, uppercase: true))
}

/// Protocol/records.md, "Exports of other applications": Traveling Snails.
private struct TripsFile {
  var isNull = false
  var legs: JSON?

  private static let trip = Keys(
    needed: ["name"],
    [
      "name": "Trip %", "notes": "Notes %", "createdDate": "2025-01-02T03:04:05Z", "isProtected": true,
    ])
  private static let item = Keys(
    needed: ["name"],
    [
      "name": "Item %", "start": "2025-05-03T13:00:00Z", "end": "2025-05-04T14:30:00Z",
      "startTZId": "Europe/Rome", "endTZId": "Asia/Tokyo", "cost": .number("120.5"), "paid": "deposit",
      "notes": "Notes %",
    ])
  private static let transportation = Keys(needed: [], ["type": "train", "confirmation": "Confirmation %"])
  private static let place = Keys(
    needed: [],
    ["reservation": "Reservation %", "customLocationName": "Location %", "hideLocation": true])
  private static let leg = Keys(
    needed: ["serviceNumber"],
    [
      "sortIndex": 3, "type": "boat", "departure": "2025-05-03T13:00:00.123Z", "departureTZId": "Europe/Rome",
      "departureLocationName": "From %", "departureGateOrPlatform": "Gate A%",
      "departureTerminal": "Terminal A%", "arrival": "2025-05-04T14:30:00Z", "arrivalTZId": "Asia/Tokyo",
      "arrivalLocationName": "To %", "arrivalGateOrPlatform": "Gate B%", "arrivalTerminal": "Terminal B%",
      "serviceNumber": "IC %", "confirmation": "Confirmation %", "seatNumber": "Seat %",
      "cabinClass": "premiumEconomy", "seatType": "aisle", "boardingGroup": "Group %", "notes": "Notes %",
    ])
  private static let organization = Keys(
    needed: ["name"],
    [
      "name": "Organization %", "phone": "+39 %", "email": "%@example.com",
      "website": "https://example.com/%",
      "logoURL": "https://example.com/%.png", "cachedLogoFilename": "%.png",
    ])
  private static let address = Keys(
    needed: [],
    [
      "street": "Via Roma %", "city": "Rome %", "state": "Lazio %", "country": "Italy %",
      "postalCode": "0018%", "latitude": .number("41.5"), "longitude": .number("12.25"),
      "formattedAddress": "Via Roma %, Rome",
    ])
  private static let attachment = Keys(
    needed: [],
    [
      "fileName": "%.pdf", "originalFileName": "Ticket %.pdf", "fileSize": 4, "mimeType": "application/pdf",
      "fileExtension": "pdf", "createdDate": "2025-02-03T04:05:06Z", "fileDescription": "Ticket %",
      "fileData": "ZGF0YQ==",
    ])

  private func address(_ number: Int) -> JSON {
    Self.address.row(number, isNull: isNull, ["id": id(number)])
  }

  private func item(_ number: Int, _ keys: Keys, _ more: KeyValuePairs<String, JSON>) -> JSON {
    let organization: JSON = isNull ? .null : id(5)
    var row = Self.item.row(number, isNull: isNull, ["id": id(number), "organizationId": organization])
    for member in keys.row(number, isNull: isNull, more).members ?? [] { row[member.key] = member.value }
    return row
  }

  private func leg(_ number: Int) -> JSON {
    func reference(_ number: Int) -> JSON { isNull ? .null : id(number) }
    return Self.leg.row(
      number, isNull: isNull,
      [
        "id": id(number), "transportationID": id(2), "departureAddressID": reference(6),
        "arrivalAddressID": reference(11), "organizationId": reference(5),
      ])
  }

  private func stay(_ number: Int, address: Int) -> JSON {
    item(number, Self.place, ["customAddresss": isNull ? .null : self.address(address)])
  }

  private func attachment(_ number: Int, of parent: Int, _ type: String) -> JSON {
    Self.attachment.row(
      number, isNull: isNull,
      ["id": id(number), "parentType": .string(type), "parentId": id(parent)])
  }

  var json: JSON {
    let trip = Self.trip.row(
      1, isNull: isNull,
      [
        "id": id(1), "hasStartDate": .bool(!isNull), "hasEndDate": .bool(!isNull),
        "startDate": isNull ? "0001-01-01T00:00:00Z" : "2025-05-02T00:00:00Z",
        "endDate": isNull ? "4001-01-01T00:00:00Z" : "2025-05-06T00:00:00Z",
        "totalCost": isNull ? 0 : .number("361.5"), "transportation": [id(2)], "lodging": [id(3)],
        "activities": [id(4)],
        "embeddedTransportation": [item(2, Self.transportation, ["legs": legs ?? [leg(7), leg(8)]])],
        "embeddedLodging": [stay(3, address: 9)], "embeddedActivities": [stay(4, address: 10)],
      ])
    let organization = Self.organization.row(
      5, isNull: isNull, ["id": id(5), "address": isNull ? .null : address(6)])
    let none = Self.organization.row(0, isNull: isNull, ["id": id(14), "name": "None", "address": nil])
    return [
      "exportInfo": [
        "version": "1.0", "timestamp": "2025-06-01T00:00:00Z", "format": "json", "includesAttachments": true,
        "unknown": ["device": "iPad", "nothing": nil],
      ],
      "trips": [trip], "organizations": [none, organization],
      "addresses": .array([6, 9, 10, 11].map(address)),
      "attachments": [
        attachment(12, of: 2, "transportation"), attachment(13, of: 3, "lodging"),
        attachment(14, of: 4, "activity"),
      ],
      "unknown": [["id": id(1), "title": "Book"]], "nothing": nil,
    ]
  }
}

/// Protocol/records.md, "Exports of other applications": Ritualist.
private struct HabitsFile {
  var isNull = false

  private static let profile = Keys(
    needed: [
      "name", "appearance", "currentTimezone", "homeTimezone", "displayTimezoneMode", "timezoneChangeHistory",
      "createdAt", "updatedAt",
    ],
    [
      "name": "Ada", "appearance": "dark", "currentTimezone": "Asia/Tokyo", "homeTimezone": "Europe/Rome",
      "displayTimezoneMode": "home",
      "timezoneChangeHistory": [
        [
          "fromTimezone": "Europe/Rome", "toTimezone": "Asia/Tokyo", "changedAt": "2025-03-04T05:06:07Z",
          "unknown": ["reason": nil],
        ]
      ], "createdAt": "2025-01-02T03:04:05Z", "updatedAt": "2025-02-03T04:05:06Z", "gender": "female",
      "ageGroup": "25_34",
    ])
  private static let habit = Keys(
    needed: [
      "id", "name", "colorHex", "kind", "schedule", "reminders", "startDate", "isActive", "displayOrder",
      "isPinned",
    ],
    [
      "id": id(1), "name": "Habit", "colorHex": "#112233", "emoji": "💧", "kind": ["numeric": [:]],
      "unitLabel": "glasses", "dailyTarget": .number("7.5"), "schedule": ["daysOfWeek": ["_0": [5, 1, 3]]],
      "reminders": [["hour": 8, "minute": 30, "unknown": "bell"], ["hour": 20, "minute": 15]],
      "startDate": "2025-01-03T00:00:00Z", "endDate": "2025-12-03T00:00:00Z", "isActive": false,
      "displayOrder": 4, "categoryId": "health", "suggestionId": "suggestion", "isPinned": true,
      "notes": "Notes", "lastCompletedDate": "2025-01-05T06:00:00Z", "archivedDate": "2025-01-06T06:00:00Z",
      "priorityLevel": 2, "lastGeofenceTriggerDate": "2025-01-07T06:00:00Z",
    ])
  private static let place = Keys(
    needed: ["latitude", "longitude", "radius", "triggerType", "frequency", "isEnabled"],
    [
      "latitude": .number("41.5"), "longitude": .number("12.25"), "radius": 150, "triggerType": "both",
      "frequency": ["everyEntry": ["cooldownMinutes": 30, "unknown": 1]], "isEnabled": false,
      "locationLabel": "Home", "lastTriggerDate": "2025-01-08T06:00:00Z",
      "lastEntryTriggerDate": "2025-01-09T06:00:00Z", "lastExitTriggerDate": "2025-01-10T06:00:00Z",
    ])
  private static let category = Keys(
    needed: ["id", "name", "displayName", "emoji", "order", "isActive", "isPredefined"],
    [
      "id": "health", "name": "health", "displayName": "Health", "emoji": "🍎", "order": 3, "isActive": false,
      "isPredefined": true, "personalityWeights": ["drive": .number("0.5"), "openness": .number("0.25")],
    ])
  private static let log = Keys(
    needed: ["date", "timezone", "habitID"],
    [
      "habitID": id(1), "date": "2025-04-05T06:07:08Z", "value": .number("2.5"), "timezone": "Europe/Rome",
    ])
  private static let metadata = Keys(
    needed: ["profileId"], ["profileId": id(3), "lastSynced": "2025-05-06T07:08:09Z"])
  private static let onboarding = Keys(
    needed: ["isCompleted", "hasGrantedNotifications"],
    [
      "isCompleted": true, "completedDate": "2025-01-02T03:05:00Z", "userName": "Ada L.",
      "hasGrantedNotifications": true,
    ])

  var json: JSON {
    let place = Self.place.row(1, isNull: isNull)
    return [
      "exportedAt": "2025-06-01T00:00:00Z", "avatar": isNull ? .null : "ZGF0YQ==",
      "profile": Self.profile.row(1, isNull: isNull),
      "categories": [Self.category.row(1, isNull: isNull)],
      "habits": [
        Self.habit.row(1, isNull: isNull, ["locationConfiguration": place]),
        Self.habit.row(2, isNull: isNull, ["id": id(4), "locationConfiguration": isNull ? .null : place]),
      ],
      "habitLogs": [Self.log.row(1, isNull: isNull, ["id": id(2)])],
      "syncMetadata": Self.metadata.row(1, isNull: isNull),
      "onboarding": Self.onboarding.row(1, isNull: isNull),
      "unknown": [["id": id(1), "title": "Widget"]], "nothing": nil,
    ]
  }
}
