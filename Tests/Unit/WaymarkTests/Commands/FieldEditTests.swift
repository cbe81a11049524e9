import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Model
@testable import Waymark

/// Edits of one part of a record, where another part, or another record, has a value of the same type.
struct FieldEditTests {
  /// A flight from 08:00 to 10:00 UTC whose times are in different zones.
  private func flight() async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run(
      "transportation.add",
      fields(
        "trip=Rome", "name=Flight", "start=2026-05-03T10:00", "startTZ=Europe/Rome", "end=2026-05-03T19:00",
        "endTZ=Asia/Tokyo"))
    return alice
  }

  /// The start and the end of the flight, each with its zone.
  private func times(_ alice: TestNode) async throws -> [String] {
    let shown = try await alice.run("transportation.show", ["id": "Flight"])
    let start = "\(shown["start"]?.string ?? "-") \(shown["startTZId"]?.string ?? "-")"
    let end = "\(shown["end"]?.string ?? "-") \(shown["endTZId"]?.string ?? "-")"
    return [start, end]
  }

  private func edit(_ alice: TestNode, _ pairs: String...) async throws {
    try await alice.run("transportation.edit", fields(pairs, id: "Flight"))
  }

  @Test func `each time of an item is typed, moved and cleared in its own zone`() async throws {
    let alice = try await flight()
    let start = "2026-05-03T10:00:00+02:00 Europe/Rome"
    #expect(try await times(alice) == [start, "2026-05-03T19:00:00+09:00 Asia/Tokyo"])
    try await edit(alice, "end=2026-05-03T20:00")
    let end = "2026-05-03T20:00:00+09:00 Asia/Tokyo"
    #expect(try await times(alice) == [start, end])
    // Another zone shows the same moment on other clocks.
    try await edit(alice, "startTZ=Europe/London")
    #expect(try await times(alice) == ["2026-05-03T09:00:00+01:00 Europe/London", end])
    try await edit(alice, "start=2026-05-03T09:30")
    let moved = "2026-05-03T09:30:00+01:00 Europe/London"
    #expect(try await times(alice) == [moved, end])
    try await edit(alice, "end=")
    #expect(try await times(alice) == [moved, "- -"])
    // Without a zone of its own, an end is in that of the start, not in the one that it had before.
    try await edit(alice, "end=2026-05-03T23:00")
    #expect(try await times(alice) == [moved, "2026-05-03T23:00:00+01:00 Europe/London"])
    try await edit(alice, "start=2026-05-03T18:00", "startTZ=Asia/Tokyo", "end=2026-05-03T22:00")
    let last = ["2026-05-03T18:00:00+09:00 Asia/Tokyo", "2026-05-03T22:00:00+01:00 Europe/London"]
    #expect(try await times(alice) == last)
  }

  @Test func `times in the wrong order are compared as moments, and named in their own zones`() async throws {
    let alice = try await flight()
    let before = try await times(alice)
    // 13:00 in Rome is before 19:00 on the clock, but after the arrival.
    let late = try await failure(alice, "transportation.edit", fields("start=2026-05-03T13:00", id: "Flight"))
    let end = "it is after end, which is 2026-05-03T19:00:00+09:00"
    #expect(late?.message.description.contains(end) == true, "\(String(describing: late))")
    // 16:00 in Tokyo is after 10:00 on the clock, but before the departure.
    let early = try await failure(alice, "transportation.edit", fields("end=2026-05-03T16:00", id: "Flight"))
    let start = "it is before start, which is 2026-05-03T10:00:00+02:00"
    #expect(early?.message.description.contains(start) == true, "\(String(describing: early))")
    #expect(try await times(alice) == before)
    // An end at the moment of the start is allowed.
    try await edit(alice, "end=2026-05-03T17:00")
    #expect(try await times(alice) == [before[0], "2026-05-03T17:00:00+09:00 Asia/Tokyo"])
  }

  @Test func `an edit of an address changes that of its own organization, and keeps the record`() async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha", "city=Roma", "street=Via Appia 1"))
    try await alice.run("organization.add", fields("name=Beta", "city=Roma", "street=Via Sacra 2"))
    let before = Set(try await alice.node.records(Address.all).map(\.id))
    #expect(before.count == 2)
    let other = try await alice.run("organization.show", ["id": "Beta"])["address"]
    try await alice.run("organization.edit", fields("city=Milano", "street=", id: "Alpha"))
    let address = try await alice.run("organization.show", ["id": "Alpha"])["address"]
    #expect(address?["city"] == "Milano" && address?["street"]?.string == nil)
    #expect(try await alice.run("organization.show", ["id": "Beta"])["address"] == other)
    let after = Set(try await alice.node.records(Address.all).map(\.id))
    #expect(after == before)
  }

  /// The times, zones and price of a lodging.
  private func values(_ alice: TestNode, _ name: String) async throws -> [String] {
    let shown = try await alice.run("lodging.show", ["id": .string(name)])
    let texts = ["start", "startTZId", "end", "endTZId"].map { shown[$0]?.string ?? "-" }
    return texts + ["amount", "currency"].map { shown["cost"]?[$0]?.string ?? "-" }
  }

  @Test func `a file that changes one value of an item keeps what it lacks, and all other items`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    for (name, day, cost) in [("Casa", "03", "10.50"), ("Due", "04", "20")] {
      try await alice.run(
        "lodging.add",
        fields(
          "trip=Rome", "name=\(name)", "start=2026-05-\(day)T15:00", "startTZ=Europe/Rome",
          "end=2026-05-05T10:00",
          "endTZ=Europe/London", "cost=\(cost)", "currency=EUR"))
    }
    let due = try await values(alice, "Due")
    let path = alice.home.path + "/trips.json"
    try await alice.run("export", ["format": "traveling-snails", "output": .string(path)])
    var file = try JSON.parse(Array(Data(contentsOf: URL(filePath: path))))
    var trip = file["trips"]?[0] ?? .null
    var rows = trip["embeddedLodging"]?.array ?? []
    try #require(rows.map { $0["name"] } == ["Casa", "Due"])
    // As the other application writes it: it has no currencies, and need not have zones.
    for key in ["startTZId", "endTZId", "currency"] { rows[0][key] = nil }
    rows[0]["start"] = "2026-05-03T14:00:00Z"
    rows[0]["cost"] = 11
    trip["embeddedLodging"] = .array(rows)
    trip["totalCost"] = 31
    file["trips"] = [trip]
    let changed = alice.home.path + "/changed.json"
    try file.text(.pretty).write(toFile: changed, atomically: true, encoding: .utf8)
    let summary = try await alice.run("import", ["files": [.string(changed)], "preview": false])
    #expect([summary["added"], summary["updated"], summary["skipped"]] == [0, 1, 0])
    let expected = [
      "2026-05-03T16:00:00+02:00", "Europe/Rome", "2026-05-05T10:00:00+01:00", "Europe/London", "11", "EUR",
    ]
    #expect(try await values(alice, "Casa") == expected)
    #expect(try await values(alice, "Due") == due)
  }
}
