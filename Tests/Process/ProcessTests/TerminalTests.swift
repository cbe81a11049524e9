import Foundation
import JSONDocument
import Processes
import Testing
import Waymark

/// Names come from other devices and from files, and are printed on the user's terminal.
struct TerminalTests {
  @Test func `no command prints the control or bidirectional characters of a name unescaped`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let name = "Rome\u{9B}31m\u{202E}moR\u{2067}a\u{200F}b\u{061C}c\u{FEFF}d"
    let trip = try await alice.json("trip", "add", "name=Rome", "notes=Rome")
    let id = try #require(trip["id"]?.string)
    try await alice.text("habit", "add", "name=Rome")
    // Such a name can't be typed, but comes from files and other devices.
    #expect(try await alice.run(["trip", "edit", id, "name=" + name]).code == 2)
    let plain = try await alice.text("export", "--format", "json")
    let odd = plain.replacing("\"Rome\"", with: JSON.string(name).text(.line))
    try await alice.text("import", try stage.write(Array(odd.utf8), "odd.json"))
    let commands = [
      ["trip", "list"], ["trip", "show", id], ["trip", "timeline", id], ["habit", "list"], ["history"],
      ["history", id], ["why", id], ["trip", "edit", id, "notes=x"],
    ]
    for words in commands {
      for option in [[], ["--json"]] {
        let outcome = try await alice.run(words + option)
        let said = outcome.output + outcome.errors
        #expect(outcome.code == 0, "\(words + option): \(said)")
        #expect(hidden(in: said).isEmpty, "\(words + option): \(hidden(in: said))")
      }
    }
    let file = stage.path("everything.json")
    try await alice.text("export", "--format", "json", "--output", file)
    let text = try String(contentsOf: URL(filePath: file), encoding: .utf8)
    #expect(hidden(in: text).isEmpty)
    // The stored value is unchanged.
    #expect(try JSON.parse(text)["trips"]?[0]?["name"]?.string == name)
    #expect(try await alice.json("trip", "show", id)["name"]?.string == name)
  }

  private func hidden(in text: String) -> [UInt32] {
    let values: Set<UInt32> = [0x9B, 0x202E, 0x2067, 0x200F, 0x061C, 0xFEFF]
    return text.unicodeScalars.map(\.value).filter(values.contains)
  }

  @Test func `an export for Loop runs nothing in a spreadsheet, and is imported unchanged`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let name = "=cmd|'/C calc'!A0"
    let notes = "\"=1;@2\n＋3 'tis"
    try await alice.text("habit", "add", "name=" + name, "notes=" + notes)
    let folder = stage.path("loop")
    try await alice.text("export", "--format", "loop-csv", "--output", folder)
    let list = try String(contentsOf: URL(filePath: folder + "/Habits.csv"), encoding: .utf8)
    #expect(list.contains("001,'=cmd|"), "\(list)")
    let bob = Device("bob", on: stage)
    try await bob.text("init", "--name", "bob")
    try await bob.text("import", folder)
    let habits = try await bob.json("habit", "list")["habits"]?.array ?? []
    #expect(habits.map { $0["name"]?.string } == [name], "\(habits)")
    #expect(habits.map { $0["notes"]?.string } == [notes], "\(habits)")
  }
}
