import Foundation
import JSONDocument
import Testing
import WaymarkTesting

@testable import Waymark

/// Imports of many records, and of several files at once: nothing is left out.
struct LargeImportTests {
  /// The path of a HabitBull export with 250 entries of a habit.
  private func export(_ habit: String, in node: TestNode) throws -> JSON {
    let days = (1...10).flatMap { month in
      (1...25).map { day in String(format: "2025-%02d-%02d", month, day) }
    }
    let text = "HabitName,CalendarDate,Value\n" + days.map { "\(habit),\($0),1\n" }.joined()
    let path = node.home.path + "/\(habit).csv"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return .string(path)
  }

  @Test func `every row of a large file is imported`() async throws {
    let alice = try await TestNode.founder("alice")
    let files: JSON = ["files": [try export("Run", in: alice)], "format": "habitbull"]
    #expect(try await alice.run("import", files)["added"] == 251)
    #expect(try await alice.run("entry.list", ["limit": "1"])["total"] == 250)
    #expect(try await alice.run("import", files)["unchanged"] == 251)
    await alice.close()
  }

  @Test func `entries that were hidden with their habit are unchanged when the habit is imported again`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let files: JSON = ["files": [try export("Run", in: alice)], "format": "habitbull"]
    try await alice.run("import", files)
    try await alice.run("habit.delete", ["id": "Run", "yes": true])
    #expect(try await alice.run("entry.list", ["limit": "1"])["total"] == 0)
    let again = try await alice.run("import", files)
    #expect([again["added"], again["updated"], again["unchanged"]] == [1, 0, 250])
    #expect(try await alice.run("entry.list", ["limit": "1"])["total"] == 250)
    await alice.close()
  }

  @Test func `a twelve before a slash is a month if another number can't be one`() async throws {
    let alice = try await TestNode.founder("alice")
    let path = alice.home.path + "/slashes.csv"
    let text = "HabitName,CalendarDate,Value\nRun,12/24/2025,1\nRun,12/11/2025,1\n"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    try await alice.run("import", ["files": [.string(path)], "format": "habitbull"])
    let days = try await alice.run("entry.list")["entries"]?.array?.compactMap { $0["day"]?.string } ?? []
    #expect(Set(days) == ["2025-12-24", "2025-12-11"])
    await alice.close()
  }

  @Test func `files that are imported together are imported as a whole, in either order`() async throws {
    for isReversed in [false, true] {
      let alice = try await TestNode.founder("alice")
      let paths = [try export("Run", in: alice), try export("Swim", in: alice)]
      let files: JSON = ["files": .array(isReversed ? paths.reversed() : paths), "format": "habitbull"]
      #expect(try await alice.run("import", files)["added"] == 502, "reversed: \(isReversed)")
      await alice.close()
    }
  }
}
