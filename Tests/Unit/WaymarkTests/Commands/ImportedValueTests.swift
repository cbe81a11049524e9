import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

private func uuid(_ number: Int) -> JSON { .string("00000000-0000-4000-8000-00000000000\(number)") }

/// What an import changes where the store, or an earlier file, has a value already.
struct ImportedValueTests {
  /// Writes a file into the home of a node, and returns its path.
  private func file(_ node: TestNode, _ name: String, _ text: String) throws -> JSON {
    let path = node.home.path + "/" + name
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return .string(path)
  }

  /// The added, changed and unchanged records of an import.
  private func bring(_ node: TestNode, _ files: [JSON]) async throws -> [Int64?] {
    let summary = try await node.run("import", ["files": .array(files)])
    return ["added", "updated", "unchanged"].map { summary[$0]?.integer }
  }

  @Test func `an exported calendar, whose times are whole seconds, changes nothing where it comes from`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run(
      "trip.add",
      fields("name=Rome", "startDate=2026-05-03T13:00:00.123Z", "endDate=2026-05-06T12:00:00.456Z"))
    try await alice.run(
      "lodging.add",
      fields(
        "trip=Rome", "name=Casa", "start=2026-05-03T15:00:00.250", "startTZ=Europe/Rome",
        "end=2026-05-05T10:00:00.750", "endTZ=Europe/London", "cost=10.50", "currency=EUR"))
    let lanes = try await alice.run("status")["lanes"]
    let path = JSON.string(alice.home.path + "/trips.ics")
    try await alice.run("export", ["format": "ics", "output": path])
    #expect(try await bring(alice, [path]) == [0, 0, 2])
    #expect(try await alice.run("status")["lanes"] == lanes)
    let text = try String(contentsOfFile: path.string ?? "", encoding: .utf8)
    // A time in UTC says nothing about the zone.
    let universal = text.replacingOccurrences(
      of: "DTSTART;TZID=Europe/Rome:20260503T150000", with: "DTSTART:20260503T130000Z")
    #expect(universal != text)
    #expect(try await bring(alice, [file(alice, "utc.ics", universal)]) == [0, 0, 2])
    // Another second is another time, and the zone stays.
    let moved = text.replacingOccurrences(of: "20260503T150000", with: "20260503T150001")
    #expect(try await bring(alice, [file(alice, "moved.ics", moved)]) == [0, 1, 1])
    let shown = try await alice.run("lodging.show", ["id": "Casa"])
    #expect(shown["start"] == "2026-05-03T15:00:01+02:00" && shown["startTZId"] == "Europe/Rome")
    #expect(shown["end"] == "2026-05-05T10:00:00.750+01:00")
  }

  private func trips(_ description: String, data: JSON?) -> JSON {
    var attachment: JSON = [
      "id": uuid(4), "fileName": "a.txt", "fileSize": 3, "parentType": "lodging", "parentId": uuid(2),
      "fileDescription": .string(description),
    ]
    attachment["fileData"] = data
    let lodging: JSON = ["id": uuid(2), "name": "Casa"]
    return [
      "exportInfo": ["version": "1.0"], "attachments": [attachment],
      "trips": [["id": uuid(1), "name": "Rome", "embeddedLodging": [lodging]]],
    ]
  }

  @Test func `of two files with one record, the later one counts, but not where it says nothing`()
    async throws
  {
    for (isReversed, description) in [(false, "Seat"), (true, "Gate")] {
      let alice = try await TestNode.founder("alice")
      let whole = try file(alice, "1.json", trips("Gate", data: "Zm9v").text())
      let part = try file(alice, "2.json", trips("Seat", data: nil).text())
      #expect(try await bring(alice, isReversed ? [part, whole] : [whole, part]) == [3, 0, 0])
      let exported = try await alice.run("export", ["format": "traveling-snails"])
      let row = try JSON.parse(try #require(exported["content"]?.string))["attachments"]?[0]
      #expect(row?["fileDescription"] == JSON.string(description))
      #expect(row?["fileData"] == "Zm9v", "reversed: \(isReversed)")
      await alice.close()
    }
  }

  /// A HabitBull export with an entry on each of these days of ten months.
  private func habits(_ days: ClosedRange<Int>, and rows: String = "") -> String {
    let dates = (1...10).flatMap { month in days.map { String(format: "2025-%02d-%02d", month, $0) } }
    return "HabitName,CalendarDate,Value\n" + dates.map { "Run,\($0),1\n" }.joined() + rows
  }

  @Test
  func `of a large file, only the rows that are not in the store yet are added, wherever their place is`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    #expect(try await bring(alice, [file(alice, "1.csv", habits(4...25))]) == [221, 0, 0])
    // New days are before, between and after those that are there.
    #expect(try await bring(alice, [file(alice, "2.csv", habits(1...28))]) == [60, 0, 221])
    // The days that are there alone are left as they are.
    let part = habits(3...23, and: "Run,2024-12-31,1\n")
    #expect(try await bring(alice, [file(alice, "3.csv", part)]) == [1, 0, 211])
    #expect(try await alice.run("entry.list", ["limit": "1"])["total"] == 281)
    await alice.close()
  }

  @Test func `a file of another format than the one that was named is refused, and changes nothing`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let path = try file(alice, "habits.csv", habits(1...2))
    let refused = try await failure(alice, "import", ["files": [path], "format": "traveling-snails"])
    #expect(refused?.exitCode == ExitCode.failed)
    try await alice.checkEmpty()
  }
}
