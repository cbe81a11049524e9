import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Model
@testable import Waymark

/// Which records the filters of a list select, at both ends of each range, and what a limit keeps of them.
struct ListFilterTests {
  private static let plurals = [
    "trip": "trips", "lodging": "lodgings", "entry": "entries", "attachment": "attachments",
  ]

  private func listed(
    _ node: TestNode, _ kind: String, _ arguments: JSON, by key: String = "name"
  ) async throws -> [String] {
    let list = try await node.run("\(kind).list", arguments)
    return (list[Self.plurals[kind] ?? ""]?.array ?? []).compactMap { $0[key]?.string }
  }

  private func onDay(_ node: TestNode, _ kind: String, _ day: String) async throws -> [String] {
    try await listed(node, kind, ["from": .string(day), "to": .string(day), "zone": "Etc/UTC"])
  }

  @Test func `trips to come are those that end today or later, in the zone of the person`() async throws {
    // It is 3 May, 08:00 UTC; in Honolulu it is still 2 May.
    let alice = try await TestNode.founder("alice")
    for typed in [
      ["name=over", "startDate=2026-05-01", "endDate=2026-05-02"],
      ["name=last day", "startDate=2026-05-01", "endDate=2026-05-03"],
      ["name=one day", "startDate=2026-05-03"], ["name=one day, over", "startDate=2026-05-02"],
      ["name=later", "startDate=2026-06-01"], ["name=open"], ["name=stay"], ["name=stay, over"],
    ] {
      try await alice.run("trip.add", fields(typed))
    }
    for (trip, end) in [("stay", "2026-05-03T10:00"), ("stay, over", "2026-05-02T10:00")] {
      try await alice.run(
        "lodging.add",
        fields(
          "trip=\(trip)", "name=Casa", "start=2026-05-01T15:00", "startTZ=Europe/Rome", "end=\(end)"))
    }
    func upcoming(_ more: JSON = [:], zone: String = "Etc/UTC") async throws -> [String] {
      var arguments = more
      arguments["upcoming"] = true
      arguments["zone"] = .string(zone)
      return try await listed(alice, "trip", arguments).sorted()
    }
    let present = ["last day", "later", "one day", "stay"]
    #expect(try await upcoming() == present)
    let yesterday = ["one day, over", "over", "stay, over"]
    #expect(try await upcoming(zone: "Pacific/Honolulu") == (present + yesterday).sorted())
    // Of two first days the later one counts.
    #expect(try await upcoming(["from": "2026-04-01"]) == present)
    #expect(try await upcoming(["from": "2026-05-20"]) == ["later"])
    #expect(try await upcoming(["to": "2026-05-03"]) == ["last day", "one day", "stay"])
    let never: JSON = ["upcoming": true, "to": "2026-05-02", "zone": "Etc/UTC"]
    #expect(try await failure(alice, "trip.list", never)?.code == .usage)
    #expect(try await listed(alice, "trip", ["upcoming": false]).count == 8)
  }

  @Test func `a trip takes place on its own days and, only if it has none, on those of its items`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Dated", "startDate=2027-01-01", "endDate=2027-01-02"))
    try await alice.run("trip.add", fields("name=Start", "startDate=2026-10-01"))
    try await alice.run("trip.add", fields("name=Undated"))
    for trip in ["Dated", "Undated"] {
      try await alice.run(
        "lodging.add",
        fields(
          "trip=\(trip)", "name=\(trip) stay", "start=2026-09-01T15:00", "startTZ=Europe/Rome",
          "end=2026-09-03T10:00"))
    }
    for (day, trips) in [
      ("2026-08-31", []), ("2026-09-01", ["Undated"]), ("2026-09-02", ["Undated"]),
      ("2026-09-03", ["Undated"]), ("2026-09-04", []), ("2026-09-30", []), ("2026-10-01", ["Start"]),
      ("2026-10-02", []), ("2026-12-31", []), ("2027-01-01", ["Dated"]), ("2027-01-02", ["Dated"]),
      ("2027-01-03", []),
    ] as [(String, [String])] {
      #expect(try await onDay(alice, "trip", day) == trips, "\(day)")
    }
    try await alice.run("lodging.delete", ["id": "Undated stay"])
    #expect(try await onDay(alice, "trip", "2026-09-02") == [])
  }

  @Test func `an item takes place on each day from its start to its end, each in its own zone`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    for typed in [
      ["name=Stay", "start=2026-07-01T15:00", "startTZ=Europe/Rome", "end=2026-07-04T10:00"],
      // It ends on 4 July in London and on 5 July in Rome.
      [
        "name=Night", "start=2026-07-04T23:30", "startTZ=Europe/London", "end=2026-07-05T00:45",
        "endTZ=Europe/Rome",
      ], ["name=Someday"],
    ] {
      try await alice.run("lodging.add", fields(["trip=Rome"] + typed))
    }
    for (day, items) in [
      ("2026-06-30", []), ("2026-07-01", ["Stay"]), ("2026-07-03", ["Stay"]),
      ("2026-07-04", ["Stay", "Night"]),
      ("2026-07-05", ["Night"]), ("2026-07-06", []),
    ] as [(String, [String])] {
      #expect(try await onDay(alice, "lodging", day) == items, "\(day)")
    }
    #expect(try await listed(alice, "lodging", [:]) == ["Stay", "Night", "Someday"])
    #expect(try await listed(alice, "lodging", ["upcoming": true]) == ["Stay", "Night"])
    let first = try await alice.run("lodging.list", ["from": "2026-07-01", "to": "2026-07-05", "limit": "1"])
    #expect(first["lodgings"]?.array?.map { $0["name"] } == ["Stay"])
    #expect(first["total"] == 2)
  }

  @Test func `entries are listed by day and habit, and a limit keeps the first of a typed order`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    for habit in ["Read", "Run"] { try await alice.run("habit.add", fields("name=\(habit)")) }
    for day in 1...5 {
      try await alice.run("habit.tick", ["id": "Read", "date": .string("2026-04-0\(day)")])
    }
    try await alice.run("habit.tick", ["id": "Run", "date": "2026-04-03"])
    func days(_ arguments: JSON) async throws -> [String] {
      try await listed(alice, "entry", arguments, by: "day").map { String($0.suffix(2)) }
    }
    #expect(try await days(["date": "2026-04-03"]) == ["03", "03"])
    #expect(try await days(["habit": "Read", "date": "2026-04-03"]) == ["03"])
    #expect(try await days(["from": "2026-04-04"]) == ["04", "05"])
    #expect(try await days(["to": "2026-04-02"]) == ["01", "02"])
    #expect(try await days(["habit": "Read", "from": "2026-04-02", "to": "2026-04-03"]) == ["02", "03"])
    #expect(try await days(["habit": "Run", "from": "2026-04-04"]) == [])
    #expect(try await days(["habit": "Read", "from": "2026-04-01", "limit": "2"]) == ["04", "05"])
    #expect(try await days(["habit": "Read", "limit": "9"]) == ["01", "02", "03", "04", "05"])
    // In an order that was typed, a limit keeps the beginning.
    #expect(try await days(["habit": "Read", "sort": "-date", "limit": "2"]) == ["05", "04"])
    #expect(try await days(["habit": "Read", "sort": "day", "limit": "2"]) == ["01", "02"])
    for limit in ["0", "-1", "two", ""] {
      let refused = try await failure(alice, "entry.list", ["limit": .string(limit)])
      #expect(refused?.code == .badValue, "\(limit)")
    }
    #expect(try await failure(alice, "entry.list", ["date": "3 May"])?.code == .badValue)
  }

  @Test func `a list of one parent has its children alone, also if another kind has the same id`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let trips = try await node.save([Trip(name: "Rome"), Trip(name: "Oslo")])
    let hotel = try await node.save(Lodging(name: "Casa", tripID: trips[0].id))
    _ = try await node.save(Lodging(name: "Hytte", tripID: trips[1].id))
    let walk = try await node.save(
      Activity(name: "Walk", tripID: trips[1].id, id: Activity.ID(hotel.id.uuid)))
    _ = try await node.attach(Data([1]), named: "hotel.pdf", to: .lodging(hotel.id))
    _ = try await node.attach(Data([2]), named: "walk.pdf", to: .activity(walk.id))
    #expect(try await listed(alice, "lodging", ["trip": "Rome"]) == ["Casa"])
    #expect(try await listed(alice, "lodging", ["trip": "Oslo"]) == ["Hytte"])
    #expect(try await listed(alice, "attachment", ["lodging": "Casa"], by: "fileName") == ["hotel.pdf"])
    #expect(try await listed(alice, "attachment", ["activity": "Walk"], by: "fileName") == ["walk.pdf"])
    #expect(try await listed(alice, "attachment", ["lodging": "Hytte"], by: "fileName") == [])
    #expect(try await failure(alice, "lodging.list", ["trip": "Bergen"])?.code == .notFound)
  }

  @Test(
    arguments: [(1, ["Roma A"]), (2, ["Roma A", "Roma B"]), (3, ["Roma A", "Roma B", "Roma Casa"])]
      as [(Int, [String])])
  func `find returns at most as many records as its limit, of all kinds together, and counts all`(
    limit: Int, names: [String]
  ) async throws {
    let alice = try await TestNode.founder("alice")
    for trip in ["Roma A", "Roma B"] { try await alice.run("trip.add", fields("name=\(trip)")) }
    try await alice.run("lodging.add", fields("trip=Roma A", "name=Roma Casa"))
    try await alice.run("habit.add", fields("name=Roma run"))
    let found = try await alice.run("find", ["text": "roma", "limit": .string("\(limit)")])
    #expect(found["items"]?.array?.compactMap { $0["name"]?.string } == names)
    #expect(found["total"] == 4)
  }
}
