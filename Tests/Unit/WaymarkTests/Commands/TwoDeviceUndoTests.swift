import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Waymark

/// History, undo and the trash between two devices that were disconnected.
struct TwoDeviceUndoTests {
  private func count(_ circle: SocketCircle, _ kind: String) async throws -> [Int64?] {
    var counts: [Int64?] = []
    for name in ["alice", "bob"] {
      counts.append(try await circle.run(name, "status")["counts"]?[kind]?.integer)
    }
    return counts
  }

  private func operation(_ circle: SocketCircle, _ verb: String) async throws -> JSON {
    let listed = try await circle.run("alice", "history", ["limit": "100"])["operations"]?.array ?? []
    return try #require(listed.first { $0["verb"] == .string(verb) }?["id"])
  }

  @Test func `restore brings back what was changed and added on another device in between`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome", "notes=sunny"))
    try await circle.run("alice", "lodging.add", fields("trip=Rome", "name=Casa"))
    try await circle.apart {
      try await circle.run("alice", "trip.delete", ["id": "Rome"])
      try await circle.run("bob", "trip.edit", fields("name=Roma", id: "Rome"))
      try await circle.run("bob", "activity.add", fields("trip=Roma", "name=Colosseum"))
    }
    #expect(try await count(circle, "trips") == [0, 0])
    #expect(try await count(circle, "activities") == [0, 0])
    let seen = try await circle.run("bob", "conflicts.list")["conflicts"]?.array ?? []
    #expect(Set(seen.compactMap { $0["reason"]?.string }) == ["edit-lost-to-delete", "hidden-by-parent"])
    let hidden = try await circle.run("bob", "history", ["record": "Roma"])["writes"]?.array ?? []
    #expect(hidden.filter { $0["hidden"] == true }.map { $0["deviceName"] } == ["bob"])
    try await circle.run("bob", "trip.restore", ["id": "Roma"])
    try await circle.inSync()
    for name in ["alice", "bob"] {
      let items = try await circle.run(name, "trip.timeline", ["id": "Roma"])["items"]?.array ?? []
      #expect(Set(items.compactMap { $0["name"]?.string }) == ["Casa", "Colosseum"])
      #expect(try await circle.run(name, "trip.show", ["id": "Roma"])["notes"] == "sunny")
      #expect(try await circle.run(name, "conflicts.list")["conflicts"] == [])
    }
  }

  @Test func `another device's operation is undone, and both report it`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle.inSync()
    try await circle.run("bob", "trip.delete", ["id": "Rome"])
    try await circle.inSync()
    let deletion = try await operation(circle, "trip.delete")
    let undone = try await circle.run("alice", "undo", ["operation": deletion])
    #expect(undone["operation"]?["deviceName"] == "bob")
    #expect(undone["operation"]?["own"] == false)
    try await circle.inSync()
    #expect(try await count(circle, "trips") == [1, 1])
    let listed = try await circle.run("bob", "history")["operations"]?.array ?? []
    #expect(listed.first { $0["id"] == deletion }?["undoneBy"] == undone["undo"])
    // Alice's undo reverts what Alice did, not what she reverted of Bob's.
    #expect(try await circle.run("alice", "undo")["operation"]?["verb"] == "trip.add")
  }

  @Test func `a record that is removed is not reported as left alone`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle.inSync("alice", "bob")
    try await circle.run("bob", "trip.edit", fields("name=Roma", id: "Rome"))
    try await circle.inSync("alice", "bob")
    let undone = try await circle.run("alice", "undo")
    #expect(undone["operation"]?["verb"] == "trip.add")
    #expect(undone["left"] == [])
    #expect(try await count(circle, "trips")[0] == 0)
  }

  @Test func `undoing concurrent edits shows the other device's value`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle.apart {
      try await circle.run("alice", "trip.edit", fields("name=Roma", id: "Rome"))
      try await circle.run("bob", "trip.edit", fields("name=Rom", "notes=kalt", id: "Rome"))
    }
    // Bob's was later and wins: reverting Alice's changes nothing visible.
    let edit = try #require(
      try await circle.run("alice", "history", ["record": "Rom"])["writes"]?.array?
        .first { $0["deviceName"] == "alice" && $0["verb"] == "trip.edit" })
    #expect(edit["fields"]?[0]?["state"] == "lost")
    #expect(edit["fields"]?[0]?["lostTo"]?["deviceName"] == "bob")
    let refused = await #expect(throws: WaymarkError.self) {
      try await circle.run("alice", "undo", ["operation": edit["id"] ?? .null])
    }
    #expect(refused?.exitCode == ExitCode.needsYes)
    let bobs = try await circle.run("bob", "undo")
    #expect(bobs["left"] == [])
    try await circle.inSync()
    for name in ["alice", "bob"] {
      let trip = try await circle.run(name, "trip.show", ["id": "Roma"])
      #expect([trip["name"], trip["notes"]] == ["Roma", .null])
    }
  }

  @Test func `a record's history keeps losing writes, also after the conflict is resolved`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "habit.add", fields("name=Water"))
    try await circle.apart {
      try await circle.run("alice", "habit.edit", fields("name=Eau", id: "Water"))
      try await circle.run("alice", "habit.edit", fields("name=Acqua", id: "Eau"))
      try await circle.run("bob", "habit.edit", fields("name=Wasser", id: "Water"))
    }
    try await circle.run("bob", "habit.edit", fields("name=Voda", id: "Wasser"))
    try await circle.inSync()
    #expect(try await circle.run("alice", "conflicts.list")["conflicts"] == [])
    let expected: [[JSON?]] = [
      ["Voda", "Wasser", "shows"], ["Wasser", "Water", "replaced"], ["Acqua", "Eau", "lost"],
      ["Eau", "Water", "replaced"], ["Water", nil, "replaced"],
    ]
    for device in ["alice", "bob"] {
      let writes = try await circle.run(device, "history", ["record": "Voda"])["writes"]?.array ?? []
      let names = writes.compactMap { write in
        write["fields"]?.array?.first { $0["field"] == "name" }
      }
      let told = names.map { name in
        [name["value"], name["before"] == .null ? nil : name["before"], name["state"]]
      }
      #expect(told == expected)
    }
  }

  @Test func `undoing a day does not revert ticks that another device added meanwhile`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "habit.add", fields("name=Water", "kind=numeric"))
    let day: JSON = ["id": "Water", "date": "2026-05-03"]
    try await circle.run("alice", "habit.tick", day)
    try await circle.apart {
      try await circle.run("bob", "habit.tick", day)
      try await circle.run("alice", "habit.untick", day)
    }
    #expect(try await count(circle, "habitEntries") == [1, 1])
    try await circle.run("alice", "undo")
    try await circle.inSync()
    #expect(try await count(circle, "habitEntries") == [2, 2])
  }

  @Test func `of concurrent setting and unsetting the later one counts`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    func schemes() async throws -> [JSON?] {
      var values: [JSON?] = []
      for name in ["alice", "bob"] {
        values.append(try await circle.run(name, "settings.get", ["key": "colorScheme"])["value"])
      }
      return values
    }
    try await circle.run("alice", "settings.set", ["key": "colorScheme", "value": "dark"])
    try await circle.apart {
      try await circle.run("alice", "settings.unset", ["key": "colorScheme"])
      try await circle.run("bob", "settings.set", ["key": "colorScheme", "value": "light"])
    }
    #expect(try await schemes() == ["light", "light"])
    try await circle.apart {
      try await circle.run("bob", "settings.set", ["key": "colorScheme", "value": "dark"])
      try await circle.run("alice", "settings.unset", ["key": "colorScheme"])
    }
    #expect(try await schemes() == ["system", "system"])
  }

  @Test func `a category that is created again keeps what was changed on another device meanwhile`()
    async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "category.add", fields("name=Health", "emoji=🍏"))
    try await circle.apart {
      try await circle.run("alice", "category.delete", ["id": "Health"])
      try await circle.run("alice", "category.add", fields("name=Health"))
      try await circle.run("bob", "category.edit", fields("displayName=Sport", id: "Health"))
    }
    for name in ["alice", "bob"] {
      let category = try await circle.run(name, "category.show", ["id": "Health"])
      #expect([category["displayName"], category["emoji"]] == ["Sport", .null])
    }
  }

  @Test func `an organization deleted while another device started to use it reads as None until restored`()
    async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "organization.add", fields("name=Alpha Air"))
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle.apart {
      try await circle.run("alice", "organization.delete", ["id": "Alpha Air"])
      try await circle.run(
        "bob", "transportation.add", fields("trip=Rome", "name=Flight", "organization=Alpha Air"))
    }
    func organization(_ name: String) async throws -> JSON? {
      try await circle.run(name, "transportation.show", ["id": "Flight"])["organizationName"]
    }
    for name in ["alice", "bob"] { #expect(try await organization(name) == "None") }
    try await circle.run("bob", "organization.restore", ["id": "Alpha Air"])
    try await circle.inSync()
    for name in ["alice", "bob"] { #expect(try await organization(name) == "Alpha Air") }
  }

  @Test func `another device's import is undone, except for what was added to it`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let path = circle["bob"].home.path + "/export.json"
    try Self.export(logs: 2_500).write(toFile: path, atomically: true, encoding: .utf8)
    try await circle.run("bob", "import", ["files": [.string(path)]])
    try await circle.inSync()
    try await circle.run("alice", "habit.tick", ["id": "Wasser", "date": "2026-05-03"])
    let done = try await operation(circle, "import")
    let undone = try await circle.run("alice", "undo", ["operation": done, "agreed": true])
    #expect(undone["changes"]?.array?.map { $0["deleted"] } == [2_500])
    #expect(undone["left"]?.array?.map { $0["reason"] } == ["in_use"])
    try await circle.inSync()
    #expect(try await count(circle, "habitEntries") == [1, 1])
    #expect(try await count(circle, "habits") == [1, 1])
    try await circle.run("bob", "undo", ["operation": undone["undo"] ?? .null, "agreed": true])
    try await circle.inSync()
    #expect(try await count(circle, "habitEntries") == [2_501, 2_501])
  }

  private static func export(logs count: Int) -> String {
    let logs = (0..<count).map { number in
      """
      {"id":"22222222-2222-4222-8222-\(100_000_000_000 + number)",
      "habitID":"11111111-1111-4111-8111-111111111111","date":"2025-11-08T23:30:00Z","value":2.5,
      "timezone":"Europe/Rome"}
      """
    }
    return """
      {"exportedAt":"2025-11-09T08:00:00Z",
       "habits":[{"id":"11111111-1111-4111-8111-111111111111","name":"Wasser","colorHex":"#2DA9E3",
        "kind":{"numeric":{}},"schedule":{"daily":{}},"reminders":[],"startDate":"2025-01-01T00:00:00Z",
        "isActive":true,"displayOrder":0,"isPinned":false}],
       "categories":[],"habitLogs":[\(logs.joined(separator: ","))]}
      """
  }
}
