import Foundation
import JSONDocument
import Testing
import WaymarkTesting

@testable import Control
@testable import Model
@testable import Waymark

/// Finding records, lists with filters, and the names and ids by which records are found.
struct FindTests {
  private func alice() async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    for (name, start, end, notes) in [
      ("Rome", "2026-05-02", "2026-05-06", "Two bags, and the café by the Forum"),
      ("Oslo", "2026-07-01", "", ""),
      ("Roma Nord", "2027-01-01", "2027-01-03", ""),
    ] {
      try await alice.run(
        "trip.add", fields("name=\(name)", "startDate=\(start)", "endDate=\(end)", "notes=\(notes)"))
    }
    return alice
  }

  private func names(_ node: TestNode, _ arguments: JSON, kind: String = "trip") async throws -> [String] {
    let list = try await node.run("\(kind).list", arguments)
    let plural = ["trip": "trips", "lodging": "lodgings", "entry": "entries"][kind] ?? ""
    return list[plural]?.array?.compactMap { ($0["name"] ?? $0["day"])?.string } ?? []
  }

  // MARK: Find

  @Test func `find looks at every text regardless of case and accents, and names the field`() async throws {
    let alice = try await alice()
    let found = try await alice.run("find", ["text": "CAFE"])
    #expect(found["total"] == 1)
    let match = found["items"]?[0]
    #expect(match?["kind"] == "trip")
    #expect(match?["name"] == "Rome")
    #expect(match?["field"] == "notes")
    #expect(match?["excerpt"]?.string?.contains("café") == true)
  }

  @Test func `find names the trip of an item and searches one kind alone`() async throws {
    let alice = try await alice()
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa Romana"))
    let all = try await alice.run("find", ["text": "rom"])
    #expect(all["items"]?.array?.compactMap { $0["name"]?.string } == ["Rome", "Roma Nord", "Casa Romana"])
    let lodging = try await alice.run("find", ["text": "rom", "kind": "lodging"])
    #expect(lodging["total"] == 1)
    #expect(lodging["items"]?[0]?["parent"]?["name"] == "Rome")
  }

  @Test func `find counts what a limit leaves out`() async throws {
    let alice = try await alice()
    let found = try await alice.run("find", ["text": "ro", "limit": "1"])
    #expect(found["items"]?.array?.count == 1)
    #expect(found["total"] == 2)
    #expect(try await alice.run("find", ["text": "nowhere"])["total"] == 0)
    #expect(try await failure(alice, "find", ["text": ""])?.code == .usage)
  }

  @Test func `a deleted record is not found`() async throws {
    let alice = try await alice()
    try await alice.run("trip.delete", ["id": "Oslo"])
    #expect(try await alice.run("find", ["text": "oslo"])["total"] == 0)
  }

  @Test func `an excerpt shows the words around the text`() {
    let long = String(repeating: "word ", count: 40) + "Größe " + String(repeating: "tail ", count: 40)
    let excerpt = Excerpt(of: long, around: "grosse").text
    #expect(excerpt.hasPrefix("…word"))
    #expect(excerpt.contains("Größe tail"))
    #expect(excerpt.hasSuffix("…"))
    #expect(Excerpt(of: "two\nlines", around: "lines").text == "two lines")
  }

  // MARK: Lists

  @Test func `a list is narrowed by a text, by days and by what is to come`() async throws {
    let alice = try await alice()
    #expect(try await names(alice, ["text": "CAFE"]) == ["Rome"])
    #expect(try await names(alice, ["from": "2026-05-06", "to": "2026-12-31"]) == ["Rome", "Oslo"])
    #expect(try await names(alice, ["from": "2026-05-07"]) == ["Oslo", "Roma Nord"])
    #expect(try await names(alice, ["to": "2026-05-02"]) == ["Rome"])
    #expect(try await failure(alice, "trip.list", ["from": "tomorrow"])?.code == .badValue)
    #expect(
      try await failure(alice, "trip.list", ["from": "2026-05-02", "to": "2026-05-01"])?.code == .usage)
  }

  @Test func `a trip without dates is listed by the dates of its items`() async throws {
    let alice = try await alice()
    try await alice.run("trip.add", fields("name=Open"))
    try await alice.run(
      "activity.add", fields("trip=Open", "name=Walk", "start=2026-09-01T10:00", "startTZ=Europe/Rome"))
    #expect(try await names(alice, ["from": "2026-09-01", "to": "2026-09-01"]) == ["Open"])
  }

  @Test func `an item is listed by the day in its own zone`() async throws {
    let alice = try await alice()
    try await alice.run(
      "lodging.add", fields("trip=Oslo", "name=Ryokan", "start=2026-07-02T00:30", "startTZ=Asia/Tokyo"))
    #expect(
      try await names(alice, ["from": "2026-07-02", "to": "2026-07-02"], kind: "lodging") == ["Ryokan"])
    #expect(try await names(alice, ["from": "2026-07-01", "to": "2026-07-01"], kind: "lodging").isEmpty)
  }

  @Test func `a list is sorted by a field in either direction`() async throws {
    let alice = try await alice()
    #expect(try await names(alice, ["sort": "-name"]) == ["Rome", "Roma Nord", "Oslo"])
    #expect(try await names(alice, ["sort": "name", "limit": "2"]) == ["Oslo", "Roma Nord"])
    let refused = try await failure(alice, "trip.list", ["sort": "colour"])
    #expect(refused?.message.description.contains("startDate") == true)
  }

  @Test func `costs are sorted as numbers`() async throws {
    let alice = try await alice()
    for cost in ["9", "100", "20.5"] {
      try await alice.run("lodging.add", fields("trip=Rome", "name=\(cost)", "cost=\(cost)", "currency=EUR"))
    }
    #expect(try await names(alice, ["sort": "cost"], kind: "lodging") == ["9", "20.5", "100"])
  }

  @Test func `a limit of entries keeps the newest, in the order of the list`() async throws {
    let alice = try await alice()
    try await alice.run("habit.add", fields("name=Read"))
    for day in 1...5 {
      try await alice.run("habit.tick", ["id": "Read", "date": .string("2026-04-0\(day)")])
    }
    #expect(try await names(alice, ["limit": "2"], kind: "entry") == ["2026-04-04", "2026-04-05"])
    #expect(try await alice.run("entry.list", ["limit": "2"])["total"] == 5)
    #expect(try await names(alice, ["text": "rea"], kind: "entry").count == 5)
    #expect(try await names(alice, ["text": "swim"], kind: "entry").isEmpty)
  }

  // MARK: Names and ids

  @Test func `a name is found by any part of it, after whole names and beginnings`() async throws {
    let alice = try await alice()
    for name in ["Hotel Mario", "Café Central"] {
      try await alice.run("organization.add", fields("name=\(name)"))
    }
    #expect(try await alice.run("organization.show", ["id": "mario"])["name"] == "Hotel Mario")
    #expect(try await alice.run("organization.show", ["id": "cafe"])["name"] == "Café Central")
    try await alice.run("trip.add", fields("name=Old Rome"))
    #expect(try await alice.run("trip.show", ["id": "rome"])["name"] == "Rome")
    // A beginning wins over a part in the middle.
    #expect(try await alice.run("trip.show", ["id": "old"])["name"] == "Old Rome")
    #expect(try await failure(alice, "trip.show", ["id": "rom"])?.candidates.count == 2)
  }

  @Test func `what is deleted or erased is not named by a part in the middle`() async throws {
    let alice = try await alice()
    #expect(try await failure(alice, "trip.delete", ["id": "slo"])?.code == .notFound)
    #expect(try await failure(alice, "erase", ["records": ["slo"], "yes": true])?.code == .notFound)
  }

  @Test func `a short id is the same in every list, and names one record of any kind`() async throws {
    let alice = try await alice()
    let trips = try await alice.run("trip.list")["trips"]?.array ?? []
    let short = try #require(trips[0]["shortId"]?.string)
    #expect(trips[0]["id"]?.string?.hasSuffix(short) == true)
    #expect(short.count == 8)
    #expect(try await alice.run("trip.list", ["text": "rome"])["trips"]?[0]?["shortId"]?.string == short)
    #expect(try await alice.run("trip.show", ["id": .string(short)])["name"] == "Rome")
    #expect(try await alice.run("why", ["subject": .string(short.lowercased())])["record"]?["name"] == "Rome")
    try await alice.run("trip.delete", ["id": .string(short)])
    #expect(try await alice.run("trash.list")["items"]?[0]?["shortId"]?.string == short)
    try await alice.run("trip.restore", ["id": .string(short)])
    #expect(try await names(alice, ["text": "rome"]) == ["Rome"])
  }

  @Test func `an entry is named by the end of its id`() async throws {
    let alice = try await alice()
    try await alice.run("habit.add", fields("name=Read"))
    let added = try await alice.run("entry.add", fields("habit=Read", "date=2026-05-03"))
    let end = try #require(added["id"]?.string?.suffix(8))
    #expect(try await alice.run("entry.show", ["id": .string(String(end))])["day"] == "2026-05-03")
  }

  @Test func `a short id has more digits if another record ends with the same ones`() async throws {
    let alice = try await alice()
    let ids = ["0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60", "0196F0A2-7C31-7B4C-9E0F-3A5E2C8B1E60"]
    _ = try await alice.node.save(Trip(name: "One", id: try #require(.init(ids[0]))))
    _ = try await alice.node.save(Habit(name: "Two", id: try #require(.init(ids[1]))))
    let shown = try await alice.run("trip.list", ["text": "One"])["trips"]?[0]?["shortId"]
    #expect(shown == "D2C8B1E60")
    #expect(try await alice.run("history", ["record": "D2C8B1E60"])["record"]?["name"] == "One")
    #expect(try await failure(alice, "history", ["record": "2C8B1E60"])?.code == .ambiguous)
  }
}
