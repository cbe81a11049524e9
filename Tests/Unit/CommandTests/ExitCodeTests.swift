import Control
import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// What a command reports to scripts, and to the person who interrupts it.
struct ExitCodeTests {
  private static let lane: JSON = [
    "open": true, "reason": nil, "digest": "00", "changeSets": 3, "parked": 0,
  ]
  private static let late: JSON = ["reason": "offline", "text": "bob can't be reached.", "next": nil]

  private func code(_ document: JSON, check: Bool?) throws -> Int32 {
    var command = ShowStatus()
    command.check = check
    let defaults: JSON = [
      "lanes": ["settings": Self.lane, "records": Self.lane],
      "premium": ["active": false, "source": "none", "validUntil": nil],
    ]
    return command.exitCode(for: try Answers.status(Answers.completed(document, by: defaults)))
  }

  @Test func `a status that is checked reports peers before conflicts, and any other status nothing`() throws
  {
    #expect(try code([:], check: true) == 0)
    #expect(try code(["conflicts": 1], check: true) == 6)
    #expect(try code(["notInSync": Self.late], check: true) == 5)
    #expect(try code(["notInSync": Self.late, "conflicts": 1], check: true) == 5)
    for check in [false, nil] {
      #expect(try code(["notInSync": Self.late, "conflicts": 1], check: check) == 0)
    }
  }

  @Test func `an interrupted command says that nothing was changed only if nothing can have been`() throws {
    let home = Home(path: "/nonexistent")
    var status = ShowStatus()
    #expect(status.interruption(at: nil, home) == .nothingChanged)
    status.acknowledge = true
    let told = status.interruption(at: nil, home)
    #expect(told.message == Interruption.unknown.message)
    #expect(told.next?.description.contains("waymark history") == true)

    var files = try AnswerCoding.decode(ImportFiles.self, from: ["files": ["/a.json"]])
    for stage in [nil, "reading"] { #expect(files.interruption(at: stage, home) == .nothingChanged) }
    #expect(files.interruption(at: "writing", home).message == Interruption.unknown.message)
    files.preview = true
    #expect(files.interruption(at: "writing", home) == .nothingChanged)
  }
}
