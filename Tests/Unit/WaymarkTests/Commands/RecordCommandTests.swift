import Foundation
import JSONDocument
import Model
import Reasons
import Testing
import WaymarkKinds
import WaymarkTesting

@testable import Waymark

struct RecordCommandTests {
  private func rome() async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome", "startDate=2026-05-03"))
    return alice
  }

  @Test func `a lodging is added with a local time, a price and the name of its trip`() async throws {
    let alice = try await rome()
    let added = try await alice.run(
      "lodging.add",
      fields(
        "trip=rom", "name=Casa Rosa", "start=2026-05-03T15:00", "startTZ=Europe/Rome",
        "end=2026-05-05T10:00", "cost=120.50", "currency=eur"))
    let shown = try await alice.run("lodging.show", ["id": added["id"] ?? .null])
    #expect(shown["schema"] == "waymark.lodging.show/1")
    #expect(shown["start"] == "2026-05-03T15:00:00+02:00")
    #expect(shown["end"] == "2026-05-05T10:00:00+02:00")
    #expect(shown["endTZId"] == "Europe/Rome")
    #expect(shown["cost"] == ["amount": "120.50", "currency": "EUR"])
    #expect(shown["tripName"] == "Rome")
    #expect(shown["organizationId"] == .null)
    #expect(shown["organizationName"] == "None")
    #expect(shown["paid"] == "none")
  }

  @Test func `categories whose names differ only in symbols may coexist`() async throws {
    let alice = try await rome()
    for name in ["Fun", "Fun!", "Fun?", "Fun!?"] {
      try await alice.run("category.add", fields("name=\(name)"))
    }
    let names = try await alice.run("category.list")["categories"]?.array?.compactMap { $0["name"]?.string }
    #expect(Set(names ?? []).isSuperset(of: ["Fun", "Fun!", "Fun?", "Fun!?"]))
    let refused = try await failure(alice, "category.add", fields("name=fun!"))
    #expect(refused?.message.description.contains("already") == true)
  }

  @Test func `a trip adds up its prices exactly, one sum per currency`() async throws {
    let alice = try await rome()
    for (kind, cost, currency) in [
      ("lodging", "0.10", "EUR"), ("activity", "0.20", "EUR"), ("transportation", "7", "USD"),
    ] {
      try await alice.run(
        "\(kind).add", fields("trip=Rome", "name=\(kind)", "cost=\(cost)", "currency=\(currency)"))
    }
    let trip = try await alice.run("trip.list")["trips"]?[0]
    #expect(
      trip?["totals"] == [["amount": "0.30", "currency": "EUR"], ["amount": "7", "currency": "USD"]])
    #expect(trip?["activities"] == 3)
    #expect(trip?["startDate"] == "2026-05-03T00:00:00Z")
  }

  @Test func `editing the currency keeps the amount and editing the time keeps the zone`() async throws {
    let alice = try await rome()
    try await alice.run(
      "lodging.add",
      fields("trip=Rome", "name=Casa", "start=2026-05-03T15:00", "startTZ=Europe/Rome", "cost=120.50"))
    try await alice.run("lodging.edit", fields("currency=USD", "start=2026-05-03T16:00", id: "Casa"))
    let shown = try await alice.run("lodging.show", ["id": "Casa"])
    #expect(shown["cost"] == ["amount": "120.50", "currency": "USD"])
    #expect(shown["start"] == "2026-05-03T16:00:00+02:00")
    try await alice.run("lodging.edit", fields("cost=", id: "Casa"))
    #expect(try await alice.run("lodging.show", ["id": "Casa"])["cost"] == .null)
  }

  struct BadValue: Sendable {
    let command: String
    let pairs: [String]
    let named: String
    let code: String

    init(_ command: String, _ pairs: [String], _ named: String, _ code: String) {
      self.command = command
      self.pairs = pairs
      self.named = named
      self.code = code
    }
  }

  @Test(arguments: [
    BadValue("trip.add", ["colour=red"], "colour", "unknown_field"),
    BadValue("trip.add", ["notes=no name"], "name", "bad_value"),
    BadValue("trip.add", ["name=X", "startDate=soon"], "soon", "bad_value"),
    BadValue("habit.add", ["name=X", "colorHex=red"], "red", "bad_value"),
    BadValue("habit.add", ["name=X", "priorityLevel=4"], "4", "bad_value"),
    BadValue("lodging.add", ["trip=Rome", "name=X", "start=2026-05-03T15:00"], "startTZ", "bad_value"),
    BadValue(
      "lodging.add", ["trip=Rome", "name=X", "start=2026-05-03T15:00", "startTZ=Mars/Base"], "Mars/Base",
      "bad_value"),
    BadValue("lodging.add", ["trip=Rome", "name=X", "cost=12,50"], "12,50", "bad_value"),
    BadValue("lodging.add", ["trip=Rome", "name=X", "cost=1", "currency=euro"], "euro", "bad_value"),
    BadValue("lodging.add", ["trip=Paris", "name=X"], "Paris", "not_found"),
    BadValue("lodging.add", ["trip=Rome", "name=X", "paid=later"], "later", "bad_value"),
    BadValue("transportation.add", ["trip=Rome", "name=X", "type=rocket"], "rocket", "bad_value"),
    BadValue("trip.edit", [], "Nothing", "usage"),
    BadValue("trip.edit", ["name="], "name", "bad_value"),
    BadValue("entry.add", ["habit=Rome"], "Rome", "not_found"),
  ]) func `an invalid value is named and nothing is written`(_ row: BadValue) async throws {
    let alice = try await rome()
    let before = try await alice.run("status")["lanes"]
    let failure = try #require(try await failure(alice, row.command, fields(row.pairs, id: "Rome")))
    #expect(failure.exitCode == (row.code == "not_found" ? ExitCode.notFound : ExitCode.usage))
    #expect(failure.code.rawValue == row.code)
    #expect(failure.message.description.contains(row.named), "\(failure.message)")
    #expect(try await alice.run("status")["lanes"] == before)
  }

  @Test func `a name prefix of two records lists both`() async throws {
    let alice = try await rome()
    try await alice.run("trip.add", fields("name=Rome again"))
    #expect(try await alice.run("trip.show", ["id": "Rome"])["name"] == "Rome")
    #expect(try await alice.run("trip.show", ["id": "ROME"])["name"] == "Rome")
    let failure = try #require(try await failure(alice, "trip.show", ["id": "Ro"]))
    #expect(failure.exitCode == ExitCode.usage)
    #expect(failure.code == .ambiguous)
    #expect(failure.candidates.count == 2)
  }

  @Test func `a record is found by its id in either case and by a prefix of it`() async throws {
    let alice = try await rome()
    let id = try #require(try await alice.run("trip.show", ["id": "Rome"])["id"]?.string)
    #expect(id == id.uppercased())
    for text in [id, id.lowercased(), id.filter { $0 != "-" }, String(id.prefix(10))] {
      #expect(try await alice.run("trip.show", ["id": .string(text)])["name"] == "Rome")
    }
  }

  @Test func `deleting a trip hides its items`() async throws {
    let alice = try await rome()
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    try await alice.run("trip.delete", ["id": "Rome"])
    #expect(try await alice.run("lodging.list")["lodgings"] == [])
    #expect(try await failure(alice, "trip.show", ["id": "Rome"])?.code == .notFound)
    #expect(try await alice.run("status")["counts"]?["lodging"] == 0)
  }

  @Test func `a timeline shows all items of a trip by time, each in its own zone`() async throws {
    let alice = try await rome()
    try await alice.run(
      "activity.add",
      fields("trip=Rome", "name=Museum", "start=2026-05-04T10:00", "startTZ=Europe/Rome"))
    try await alice.run(
      "transportation.add",
      fields("trip=Rome", "name=Flight", "type=plane", "start=2026-05-03T22:00", "startTZ=America/New_York"))
    let items = try await alice.run("trip.timeline", ["id": "Rome"])["items"]?.array ?? []
    #expect(items.map { $0["name"] } == ["Flight", "Museum"])
    #expect(items.first?["start"] == "2026-05-03T22:00:00-04:00")
    #expect(items.first?["kind"] == "transportation")
  }

  @Test func `a list has the same order on the command line and in an application`() async throws {
    let alice = try await rome()
    for name in ["Ölbad", "apple", "ölabend", "Banana", "Zebra"] {
      try await alice.run("habit.add", fields("name=\(name)"))
      try await alice.run("organization.add", fields("name=\(name)"))
      try await alice.run("category.add", fields("name=\(name)"))
      try await alice.run("activity.add", fields("trip=Rome", "name=\(name)"))
    }
    let names = ["apple", "Banana", "ölabend", "Ölbad", "Zebra"]
    func listed(_ kind: String, _ plural: String) async throws -> [String] {
      try await alice.run("\(kind).list")[plural]?.array?.compactMap { $0["name"]?.string } ?? []
    }
    #expect(try await listed("habit", "habits") == names)
    #expect(try await alice.node.records(Habit.all).map(\.name) == names)
    #expect(try await listed("category", "categories") == names)
    #expect(try await alice.node.records(HabitCategory.all).map(\.name) == names)
    #expect(try await listed("activity", "activities") == names)
    #expect(try await alice.node.records(Activity.all).map(\.name) == names)
    #expect(try await listed("organization", "organizations") == ["None"] + names)
    #expect(try await alice.node.records(Organization.all).map(\.name) == ["None"] + names)
    #expect(try await alice.node.read(.organizations).all.map(\.name) == ["None"] + names)
  }

  @Test func `an empty file is valid content too`() async throws {
    let folder = try Folder()
    let path = try folder.write([], "empty.txt")
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run(
      "lodging.add", fields("trip=Rome", "name=Casa", "start=2026-05-01T15:00Z", "end=2026-05-02T10:00Z"))
    try await alice.run("attachment.add", fields("file=\(path)", "lodging=Casa"))
    let output = folder.file("out.txt")
    try await alice.run("attachment.show", ["id": "empty.txt", "output": .string(output)])
    #expect(try Data(contentsOf: URL(filePath: output)).isEmpty)
  }

  @Test func `an attachment contains the bytes of a file and returns them`() async throws {
    let alice = try await rome()
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let path = alice.home.path + "/ticket.pdf"
    try Data(bytes).write(to: URL(filePath: path))
    try await alice.run("attachment.add", fields("file=\(path)", "lodging=Casa"))
    let output = alice.home.path + "/back.pdf"
    let shown = try await alice.run("attachment.show", ["id": "ticket.pdf", "output": .string(output)])
    #expect(shown["fileSize"] == 100_000)
    #expect(shown["mimeType"] == "application/pdf")
    #expect(shown["parentName"] == "Casa")
    #expect(try Data(contentsOf: URL(filePath: output)) == Data(bytes))
  }

  @Test func `several files are attached as one operation, or none of them`() async throws {
    let (alice, folder) = (try await rome(), try Folder())
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    let paths = try (0..<12).map { number in
      try folder.write([UInt8](repeating: UInt8(number), count: number * 10_000), "\(number).pdf")
    }
    let typed = paths.map { "file=\($0)" } + ["lodging=Casa"]
    let gone = try #require(
      try await failure(alice, "attachment.add", fields(typed + ["file=\(folder.path)/no"])))
    #expect(
      gone.code == .file && gone.message.description.contains("Can't read \(folder.path)/no: no such file"))
    let whole = try #require(
      try await failure(alice, "attachment.add", fields(typed + ["file=\(folder.path)"])))
    #expect(
      whole.code == .file && whole.message.description.contains("Can't read \(folder.path): is a directory"))
    let nowhere = try #require(
      try await failure(alice, "attachment.add", fields(paths.map { "file=\($0)" } + ["lodging=Nope"])))
    #expect(nowhere.code == .notFound)
    #expect(try await alice.run("attachment.list")["attachments"] == [])
    #expect(alice.files.isEmpty)
    let added = try await alice.run("attachment.add", fields(typed))
    #expect(added["ids"]?.array?.count == 12 && added["ids"]?[0] == added["id"])
    let names = try await alice.run("attachment.list")["attachments"]?.array?.map { $0["fileName"]?.string }
    #expect(Set(names ?? []) == Set((0..<12).map { "\($0).pdf" }))
    // Up to 32 KiB are in the record itself.
    #expect(alice.files.count == 8)
    try await alice.run("undo")
    #expect(try await alice.run("attachment.list")["attachments"] == [])
  }

  @Test func `a damaged attachment is not written to a file`() async throws {
    let (alice, folder) = (try await rome(), try Folder())
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    let path = try folder.write([UInt8](repeating: 7, count: 200_000), "a.pdf")
    try await alice.run("attachment.add", fields("file=\(path)", "lodging=Casa"))
    let file = try #require(alice.files.first)
    let handle = try FileHandle(forUpdating: URL(filePath: file))
    try handle.seek(toOffset: 150_000)
    try handle.write(contentsOf: Data([8]))
    try handle.close()
    let output = folder.file("b.pdf")
    let damaged = try #require(
      try await failure(alice, "attachment.show", ["id": "a.pdf", "output": .string(output)]))
    #expect(damaged.code == .noContent && damaged.message.description.contains("damaged"))
    #expect(folder.names == ["a.pdf"])
  }
}
