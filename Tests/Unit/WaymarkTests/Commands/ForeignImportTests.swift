import Foundation
import JSONDocument
import Reasons
import Testing
import WaymarkTesting

@testable import Waymark

struct ForeignImportTests {
  private let calendar = """
    BEGIN:VCALENDAR
    X-WR-CALNAME:Rome
    BEGIN:VEVENT
    UID:a
    DTSTART;TZID=Europe/Rome:20260503T150000
    SUMMARY:Tour
    END:VEVENT
    BEGIN:VEVENT
    UID:b
    DTSTART:20260503T150000Z
    RRULE:FREQ=DAILY
    END:VEVENT
    END:VCALENDAR

    """

  private func file(_ alice: TestNode, _ text: String) throws -> JSON {
    let path = alice.home.path + "/calendar.ics"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return ["files": [.string(path)]]
  }

  @Test func `a calendar is imported as one operation, only once, and one undo reverts it`() async throws {
    let alice = try await TestNode.founder("alice")
    let files = try file(alice, calendar)
    var preview = files
    preview["preview"] = true
    #expect(try await alice.run("import", preview)["added"] == 2)
    try await alice.checkEmpty()
    let first = try await alice.run("import", files)
    #expect([first["added"], first["skipped"]] == [2, 1])
    let again = try await alice.run("import", files)
    #expect([again["added"], again["updated"], again["unchanged"]] == [0, 0, 2])
    let edited = try await alice.run("import", try file(alice, calendar.replacing("Tour", with: "Walk")))
    #expect([edited["added"], edited["updated"], edited["unchanged"]] == [0, 1, 1])
    try await alice.run("undo")
    #expect(try await alice.run("activity.show", ["id": "Tour"])["name"] == "Tour")
    try await alice.run("undo", ["yes": true])
  }

  @Test func `a folder is exported completely into a new folder only, and imported unchanged`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("habit.add", fields("name=Run"))
    try await alice.run("habit.tick", ["id": "Run", "date": "2026-05-03"])
    #expect(try await failure(alice, "export", ["format": "loop-csv"])?.exitCode == ExitCode.usage)
    let folder = alice.home.path + "/loop"
    let request: JSON = ["format": "loop-csv", "output": .string(folder)]
    try await alice.run("export", request)
    #expect(try await failure(alice, "export", request)?.exitCode == ExitCode.failed)
    let bob = try await TestNode.founder("bob")
    #expect(try await bob.run("import", ["files": [.string(folder)]])["added"] == 2)
    #expect(try await bob.run("entry.list")["entries"]?[0]?["day"] == "2026-05-03")
  }
}
