import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// A clock with a fraction of a second, like a real one.
private let wall: @Sendable () -> Int64 = { TestNode.morning + 123 }

private func uuid(_ number: Int) -> JSON {
  .string("00000000-0000-4000-8000-\(String(repeating: "0", count: 11))\(number)")
}

private func none(_ number: Int, phone: String = "") -> JSON {
  [
    "id": uuid(number), "name": "None", "phone": .string(phone), "email": "", "website": "", "logoURL": "",
    "cachedLogoFilename": "", "address": nil,
  ]
}

/// A Traveling Snails file with one trip and one lodging.
private func trips(cost: JSON = 410.56, zone: JSON = "", name: JSON = "Casa Rosa") -> JSON {
  let lodging: JSON = [
    "id": uuid(2), "name": name, "start": "2026-05-03T13:00:00Z", "end": "2026-05-05T08:00:00Z",
    "startTZId": zone, "endTZId": zone, "cost": cost, "paid": "none", "reservation": "R1", "notes": "",
    "organizationId": uuid(8), "customLocationName": "", "hideLocation": false,
  ]
  return [
    "exportInfo": ["version": "1.0", "timestamp": "2026-01-01T00:00:00Z", "format": "json"],
    "trips": [
      [
        "id": uuid(1), "name": "Rome", "notes": "", "createdDate": "2026-01-01T00:00:00Z",
        "startDate": "0001-01-01T00:00:00Z", "endDate": "2026-05-05T00:00:00Z", "hasStartDate": false,
        "hasEndDate": true, "totalCost": cost, "isProtected": false, "transportation": [],
        "lodging": [uuid(2)], "activities": [], "embeddedTransportation": [], "embeddedLodging": [lodging],
        "embeddedActivities": [],
      ]
    ],
    "organizations": [none(8)], "addresses": [], "attachments": [],
  ]
}

extension TestNode {
  fileprivate func file(_ json: JSON, _ name: String = "export.json") throws -> JSON {
    try file(json.text(.pretty), name)
  }

  fileprivate func file(_ text: String, _ name: String = "export.json") throws -> JSON {
    let path = home.path + "/" + name
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return .string(path)
  }

  /// Added and updated records of an import.
  fileprivate func bring(_ files: JSON..., preview: Bool = false) async throws -> [Int64] {
    let summary = try await run("import", ["files": .array(files), "preview": .bool(preview)])
    #expect(summary["skipped"] == 0)
    return [summary["added"]?.integer ?? -1, summary["updated"]?.integer ?? -1]
  }

  fileprivate func lanes() async throws -> JSON? { try await run("status")["lanes"] }
}

struct ReimportTests {
  @Test func `a currency that was set here stays if the file has none`() async throws {
    let alice = try await TestNode.founder(wall: wall)
    let path = try alice.file(trips())
    #expect(try await alice.bring(path) == [2, 0])
    try await alice.run("lodging.edit", fields("currency=EUR", id: "Casa Rosa"))
    let lanes = try await alice.lanes()
    #expect(try await alice.bring(path) == [0, 0])
    #expect(try await alice.lanes() == lanes)
    #expect(try await alice.bring(try alice.file(trips(cost: 99.5))) == [0, 1])
    let lodging = try await alice.run("lodging.show", ["id": "Casa Rosa"])
    #expect(lodging["cost"] == ["amount": "99.5", "currency": "EUR"])
  }

  @Test func `a zone that was set here stays unless the file has one`() async throws {
    let alice = try await TestNode.founder(wall: wall)
    let path = try alice.file(trips())
    _ = try await alice.bring(path)
    try await alice.run("lodging.edit", fields("startTZId=Europe/Rome", id: "Casa Rosa"))
    let before = try await alice.lanes()
    #expect(try await alice.bring(path) == [0, 0])
    #expect(try await alice.lanes() == before)
    #expect(try await alice.bring(try alice.file(trips(zone: "Europe/Lisbon"))) == [0, 1])
  }

  @Test func `an import restores the values that the file contains`() async throws {
    let alice = try await TestNode.founder(wall: wall)
    let path = try alice.file(trips())
    _ = try await alice.bring(path)
    try await alice.run(
      "lodging.edit", fields("name=Casa Blu", "notes=late", "cost=12", "currency=EUR", id: "Casa Rosa"))
    #expect(try await alice.bring(path) == [0, 1])
    let lodging = try await alice.run("lodging.show", ["id": "Casa Rosa"])
    #expect(lodging["cost"] == ["amount": "410.56", "currency": "EUR"])
  }

  @Test func `None is one record, whatever ids files give it`() async throws {
    let alice = try await TestNode.founder(wall: wall)
    var first = trips()
    first["organizations"] = [none(8, phone: "112")]
    var second = trips()
    second["organizations"] = [none(7), none(8)]
    let paths = (try alice.file(first, "1.json"), try alice.file(second, "2.json"))
    _ = try await alice.bring(paths.0)
    let lanes = try await alice.lanes()
    #expect(try await alice.bring(paths.1) == [0, 0])
    #expect(try await alice.bring(paths.0, paths.1) == [0, 0])
    #expect(try await alice.lanes() == lanes)
    let organizations = try await alice.run("organization.list")["organizations"]?.array ?? []
    #expect(organizations.map { $0["name"] } == ["None"])
    #expect(organizations.first?["phone"] == "112")
    let lodging = try await alice.run("lodging.show", ["id": "Casa Rosa"])
    #expect(lodging["organizationName"] == "None")
  }

  @Test func `a file without other keys leaves those of None unchanged, and so does another id`() async throws
  {
    let alice = try await TestNode.founder(wall: wall)
    var first = trips()
    first["organizations"] = [none(8, phone: "112")]
    first["later"] = "news"
    var second = trips()
    second["organizations"] = [none(7), none(8)]
    _ = try await alice.bring(try alice.file(first, "1.json"))
    #expect(try await alice.bring(try alice.file(second, "2.json")) == [0, 0])
    let path = alice.home.path + "/export.json"
    try await alice.run("export", ["format": "traveling-snails", "output": .string(path), "yes": true])
    let export = try JSON.parse(Array(Data(contentsOf: URL(filePath: path))))
    #expect(export["later"] == "news")
    #expect(export["organizations"]?[0]?["id"] == uuid(8))
  }

  @Test func `of several files the later one counts, and the import is one operation`() async throws {
    let alice = try await TestNode.founder(wall: wall)
    let before = try alice.file(trips(name: "Casa Blu"), "1.json")
    let after = try alice.file(trips(name: "Casa Rosa"), "2.json")
    #expect(try await alice.bring(before, after, preview: true) == [2, 0])
    try await alice.checkEmpty()
    #expect(try await alice.bring(before, after) == [2, 0])
    #expect(try await alice.bring(after) == [0, 0])
    #expect(try await alice.run("lodging.list")["lodgings"]?.array?.count == 1)
  }

  @Test func `a broken file among several writes nothing of any`() async throws {
    let alice = try await TestNode.founder(wall: wall)
    let whole = try alice.file(trips(), "1.json")
    let text = trips().text(.pretty)
    let cut = try alice.file(String(text.prefix(text.count - 40)), "2.json")
    let refused = try #require(try await failure(alice, "import", ["files": [whole, cut]]))
    #expect(refused.message.description.contains("line"))
    try await alice.checkEmpty()
  }

  @Test func `a large attachment is written once, and a preview does not write it`() async throws {
    let alice = try await TestNode.founder(wall: wall)
    let content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
    var file = trips()
    file["attachments"] = [
      [
        "id": uuid(4), "fileName": "a.pdf", "originalFileName": "A.pdf", "fileSize": 100_000,
        "mimeType": "application/pdf", "fileExtension": "pdf", "createdDate": "2026-01-01T00:00:00Z",
        "fileDescription": "", "parentType": "lodging", "parentId": uuid(2),
        "fileData": .string(content.base64EncodedString()),
      ]
    ]
    let path = try alice.file(file)
    let empty = try await alice.lanes()
    #expect(try await alice.bring(path, preview: true) == [3, 0])
    #expect(try await alice.lanes() == empty)
    #expect(try await alice.bring(path) == [3, 0])
    let lanes = try await alice.lanes()
    #expect(try await alice.bring(path) == [0, 0])
    #expect(try await alice.lanes() == lanes)
  }

  @Test func `an export of local records changes nothing when it is imported`() async throws {
    let alice = try await TestNode.founder(wall: wall)
    let home = alice.home.path
    let photo = try alice.file(String(repeating: "photo ", count: 20_000), "photo.txt")
    try await alice.run("organization.add", fields("name=Alpha Air", "city=Roma"))
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    try await alice.run(
      "lodging.add",
      fields(
        "trip=Rome", "name=Casa Due", "start=2026-05-03T15:00", "startTZId=Europe/Rome", "cost=10.50",
        "currency=EUR"))
    try await alice.run("activity.add", fields("trip=Rome", "name=Colosseo", "organization=None"))
    try await alice.run(
      "transportation.add", fields("trip=Rome", "name=Flight", "organization=Alpha Air", "cost=0"))
    try await alice.run(
      "attachment.add", fields("lodging=Casa", "file=" + (photo.string ?? "")))
    try await alice.run("category.add", fields("key=health", "name=Health"))
    try await alice.run("habit.add", fields("name=Walk", "category=health"))
    try await alice.run("habit.add", fields("name=Water", "kind=numeric", "notes="))
    try await alice.run("habit.tick", ["id": "Walk"])
    try await alice.run("habit.set", ["id": "Water", "value": "2.5"])
    try await alice.run("profile.set", fields("name=Zoë"))
    let lanes = try await alice.lanes()
    for format in ["ritualist", "traveling-snails"] {
      let output = home + "/" + format + ".json"
      try await alice.run("export", ["format": .string(format), "output": .string(output)])
      #expect(try await alice.bring(.string(output)) == [0, 0], "\(format)")
      #expect(try await alice.lanes() == lanes, "\(format)")
    }
  }

  @Test func `a missing value in a file is no value, and changes nothing if there is none`() async throws {
    let alice = try await TestNode.founder(wall: wall)
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("transportation.add", fields("trip=Rome", "name=Flight"))
    let output = alice.home.path + "/trips.json"
    try await alice.run("export", ["format": "traveling-snails", "output": .string(output)])
    try await alice.run("transportation.edit", fields("type=plane", id: "Flight"))
    #expect(try await alice.bring(.string(output)) == [0, 1])
    #expect(try await alice.run("transportation.show", ["id": "Flight"])["type"] == .null)
    try await alice.run("transportation.edit", fields("type=", id: "Flight"))
    let lanes = try await alice.lanes()
    #expect(try await alice.bring(.string(output)) == [0, 0])
    #expect(try await alice.lanes() == lanes)
  }

  @Test func `a profile from a file is imported with all its values`() async throws {
    let alice = try await TestNode.founder(wall: wall)
    let file: JSON = [
      "profile": [
        "name": "Zoë", "appearance": "system", "currentTimezone": "UTC", "homeTimezone": "UTC",
        "displayTimezoneMode": "current", "timezoneChangeHistory": [], "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
      ],
      "categories": [], "habits": [], "habitLogs": [],
    ]
    _ = try await alice.bring(try alice.file(file))
    let profile = try await alice.run("profile.show")
    #expect(profile["appearance"] == "system")
    #expect(profile["homeTimezone"] == "UTC")
    // An undo clears it, with a time of change of its own, and the same file restores it.
    try await alice.run("undo")
    #expect(try await alice.run("profile.show")["homeTimezone"] == .null)
    _ = try await alice.bring(try alice.file(file))
    #expect(try await alice.run("profile.show")["name"] == "Zoë")
  }

  @Test func `an export that cannot be written names the requested file`() async throws {
    let alice = try await TestNode.founder(wall: wall)
    let output = alice.home.path + "/absent/trips.json"
    let arguments: JSON = ["format": "traveling-snails", "output": .string(output)]
    let refused = try #require(try await failure(alice, "export", arguments))
    #expect(refused.message.description.contains(output + ":"))
  }
}
