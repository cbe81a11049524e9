import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

struct ImportTests {
  private let habits = """
    {"exportedAt":"2025-11-09T08:00:00Z",
     "profile":{"name":"Zoë","appearance":"dark","currentTimezone":"Europe/Rome","homeTimezone":"Europe/Rome",
      "displayTimezoneMode":"current","timezoneChangeHistory":[],"createdAt":"2025-01-01T00:00:00Z",
      "updatedAt":"2025-11-09T08:00:00Z"},
     "habits":[{"id":"11111111-1111-4111-8111-111111111111","name":"Wasser","colorHex":"#2DA9E3",
      "kind":{"numeric":{}},"schedule":{"daily":{}},"reminders":[{"hour":8,"minute":0}],
      "startDate":"2025-01-01T00:00:00Z","isActive":true,"displayOrder":0,"isPinned":false,
      "categoryId":"health"}],
     "categories":[{"id":"health","name":"health","displayName":"Health","emoji":"💪","order":0,
      "isActive":true,"isPredefined":true}],
     "habitLogs":[{"id":"22222222-2222-4222-8222-222222222222",
      "habitID":"11111111-1111-4111-8111-111111111111","date":"2025-11-08T23:30:00Z","value":2.5,
      "timezone":"Europe/Rome"}],
     "syncMetadata":{"profileId":"33333333-3333-4333-8333-333333333333"}}
    """

  private func file(_ alice: TestNode, _ text: String) throws -> JSON {
    let path = alice.home.path + "/export.json"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return ["files": [.string(path)]]
  }

  @Test func `a profile that is dated in the future does not win over a change made here now`() async throws {
    let alice = try await TestNode.founder("alice", wall: { TestNode.morning })
    // The second change at the same moment gets the next millisecond.
    for name in ["Anna", "Zita"] { try await alice.run("profile.set", fields("name=\(name)")) }
    let dated = habits.replacing(#""updatedAt":"2025"#, with: #""updatedAt":"2035"#)
    try await alice.run("import", try file(alice, dated))
    #expect(try await alice.run("profile.show")["name"] == "Zita")
    await alice.close()
  }

  @Test func `a file is imported once and changes nothing the second time`() async throws {
    let alice = try await TestNode.founder("alice")
    let files = try file(alice, habits)
    var preview = files
    preview["preview"] = true
    let planned = try await alice.run("import", preview)
    #expect(planned["added"] == 4)
    try await alice.checkEmpty()
    let summary = try await alice.run("import", files)
    #expect(
      [summary["added"], summary["updated"], summary["unchanged"], summary["skipped"]] == [4, 0, 0, 0])
    let lanes = try await alice.run("status")["lanes"]
    let again = try await alice.run("import", files)
    #expect([again["added"], again["updated"], again["unchanged"]] == [0, 0, 4])
    #expect(try await alice.run("status")["lanes"] == lanes)
    let log = try await alice.run("entry.list")["entries"]?[0]
    #expect(log?["day"] == "2025-11-09")
    #expect(log?["value"] == 2.5)
  }

  @Test func `only the file's changes are written`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("import", try file(alice, habits))
    let changed = try await alice.run(
      "import", try file(alice, habits.replacingOccurrences(of: "Wasser", with: "Eau")))
    #expect([changed["added"], changed["updated"], changed["unchanged"]] == [0, 1, 3])
    #expect(try await alice.run("habit.show", ["id": "Eau"])["categoryName"] == "Health")
  }

  @Test func `an import does not overwrite a profile that was edited here since`() async throws {
    let alice = try await TestNode.founder("alice")
    let files = try file(alice, habits)
    try await alice.run("import", files)
    try await alice.run("profile.set", fields("name=Zoé"))
    try await alice.run("import", files)
    #expect(try await alice.run("profile.show")["name"] == "Zoé")
  }

  @Test func `importing a deleted record restores it`() async throws {
    let alice = try await TestNode.founder("alice")
    let files = try file(alice, habits)
    try await alice.run("import", files)
    try await alice.run("habit.delete", ["id": "Wasser"])
    #expect(try await alice.run("entry.list")["entries"] == [])
    let summary = try await alice.run("import", files)
    #expect(summary["added"] == 1)
    #expect(try await alice.run("entry.list")["entries"]?.array?.count == 1)
  }

  @Test func `imported data is exported without loss`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("import", try file(alice, habits))
    let exported = try await alice.run("export", ["format": "ritualist"])
    let content = try JSON.parse(try #require(exported["content"]?.string))
    let original = try JSON.parse(habits)
    for key in ["profile", "habits", "categories", "habitLogs", "syncMetadata"] {
      #expect(sorted(content[key]) == sorted(original[key]), "\(key)")
    }
  }

  private func sorted(_ json: JSON?) -> String { json?.text(JSON.Layout(sortsKeys: true)) ?? "nothing" }

  @Test(arguments: [0.2, 0.5, 0.9])
  func `a truncated file writes nothing`(_ part: Double) async throws {
    let alice = try await TestNode.founder("alice")
    let cut = String(habits.prefix(Int(Double(habits.count) * part)))
    let refused = try #require(try await failure(alice, "import", try file(alice, cut)))
    #expect(refused.exitCode == ExitCode.failed)
    #expect(refused.message.description.contains("line"))
    try await alice.checkEmpty()
  }
}
