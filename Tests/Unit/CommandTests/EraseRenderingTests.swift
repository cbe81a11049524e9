import Control
import Foundation
import JSONDocument
import Testing
import WaymarkCare

@testable import Console
@testable import NodeOperations
@testable import Waymark
@testable import WaymarkCommand

/// Erasing and the trash as a user types and sees them, 100 columns wide.
struct EraseRenderingTests {
  private static let trip: JSON = "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60"
  private static let lodging: JSON = "0196F0A3-7C31-7B4C-9E0F-3A5D2C8B1E60"
  private static let habit: JSON = "0196F0A4-7C31-7B4C-9E0F-3A5D2C8B1E60"
  private static let device = String(repeating: "0", count: 64)

  private func text<Shown: TerminalCommand>(_ command: Shown, _ answer: JSON) throws -> String {
    let lines = try shown {
      command.render(try AnswerCoding.decode(Shown.Answer.self, from: answer), into: &$0)
    }
    return (lines.data + lines.notes).joined(separator: "\n")
  }

  private func record(_ kind: String, _ id: JSON, _ name: JSON, with: JSON = nil) -> JSON {
    ["kind": .string(kind), "id": id, "name": name, "deleted": false, "with": with]
  }

  private func summary(_ records: [JSON], _ more: JSON = [:]) -> JSON {
    Answers.completed(
      more,
      by: [
        "preview": true, "records": .array(records), "field": nil, "operation": nil, "devices": [],
        "backups": [], "heldElsewhere": false,
      ])
  }

  private var rome: [JSON] {
    let parent: JSON = ["kind": "trip", "id": Self.trip, "name": "Rome"]
    return [
      record("trip", Self.trip, "Rome"), record("lodging", Self.lodging, "Casa", with: parent),
      record("habit", Self.habit, "Run"),
    ]
  }

  @Test func `an erase says whether the other devices keep the values for seven days`() throws {
    let sentence = "keep the values for 7 days, because this is more than a quarter"
    for isHeld in [false, true] {
      let shown = try text(EraseRecords(), summary(rome, ["heldElsewhere": .bool(isHeld)]))
      #expect(shown.replacing("\n", with: " ").contains(sentence) == isHeld, "\(shown)")
    }
  }

  @Test func `a preview shows what goes, and which devices and backups hold it`() throws {
    let answer = summary(
      rome,
      [
        "devices": [
          ["device": .string(Self.device), "name": "nas", "erased": false],
          ["device": .string(Self.device), "name": "phone", "erased": false],
        ],
        "backups": [["path": "/b/before-mirror.waymark", "created": "2026-11-20T08:00:00Z"]],
      ])
    #expect(
      try text(EraseRecords(), answer) == """
        ID        KIND   NAME  STATE    WITH IT
        2C8B1E60  trip   Rome  visible  1 lodging
        2C8B1E60  habit  Run   visible
        Also held by: nas, phone.
        This backup holds it and is not changed:
          /b/before-mirror.waymark, made 2026-11-20 08:00
        Nothing was erased.
        """)
  }

  @Test func `an erase says what it erased, and where to see who has not erased it yet`() throws {
    let answer = summary(
      [record("trip", Self.trip, "Rome")],
      [
        "preview": false, "field": "notes", "operation": "00000000000000000000000000000001",
        "devices": [["device": .string(Self.device), "name": "nas", "erased": false]],
      ])
    let shown = try text(EraseRecords(), answer)
    #expect(shown.contains("Erases notes, and the earlier values of the other fields."))
    #expect(shown.contains("Erased notes of trip “Rome”, and all earlier values of it."))
    #expect(shown.hasSuffix("waymark status shows which devices have not erased it yet."))
    #expect(try text(EmptyTrash(), summary([])) == "The trash is empty.")
  }

  @Test func `a long list of records is cut, and says how many follow`() throws {
    let many = (0..<53).map { number in
      record("habit", .string(UUID().uuidString), .string("habit \(number)"))
    }
    let lines = try text(EmptyTrash(), summary(many)).split(separator: "\n")
    #expect(lines.count { $0.contains("  habit ") } == 50)
    #expect(lines.contains("and 3 more records"))
  }

  @Test func `the trash is one table of all kinds`() throws {
    func item(_ kind: String, _ id: JSON, _ name: String, hiddenBy: JSON) -> JSON {
      [
        "kind": .string(kind), "id": id, "name": .string(name), "deleted": .bool(hiddenBy.isNull),
        "deletedAt": "2026-11-20T08:00:00Z", "deletedBy": .string(Self.device), "deletedByName": "phone",
        "hiddenBy": hiddenBy,
      ]
    }
    let answer: JSON = [
      "items": [
        item("trip", Self.trip, "Rome", hiddenBy: nil),
        item(
          "lodging", Self.lodging, "Casa", hiddenBy: ["kind": "trip", "id": Self.trip, "name": "Rome"]),
      ]
    ]
    #expect(
      try text(ListTrash(), answer) == """
        ID        KIND     NAME  DELETED           BY     WITH
        2C8B1E60  trip     Rome  2026-11-20 08:00  phone
        2C8B1E60  lodging  Casa  2026-11-20 08:00  phone  trip Rome
        To restore one: waymark KIND restore ID. To erase all of them: waymark trash empty
        """)
    #expect(try text(ListTrash(), ["items": []]) == "The trash is empty.")
  }

  // MARK: Asking

  @Test func `one record is confirmed by its name, several by their number`() throws {
    func word(_ records: [JSON]) throws -> String? {
      let answer = try AnswerCoding.decode(EraseSummary.self, from: summary(records))
      return EraseRecords.confirmation(of: answer)?.word
    }
    #expect(try word([record("trip", Self.trip, "Rome")]) == "Rome")
    #expect(try word(Array(rome.prefix(2))) == "Rome", "the lodging only goes with the trip")
    #expect(try word(rome) == "3")
    #expect(try word([record("entry", Self.trip, nil)]) == "0196F0A2")
    let answer = try AnswerCoding.decode(EraseSummary.self, from: summary(Array(rome.prefix(2))))
    #expect(
      EmptyTrash.confirmation(of: answer)?.question
        == "Erase trip “Rome” and 1 record that belongs to it, on all devices? This can't be undone.")
  }

  @Test func `only the word itself confirms, as it is shown`() {
    #expect(Terminal.isWord("Rome", "Rome") && Terminal.isWord("Rome", "  Rome "))
    for line in ["", "y", "yes", "rome", "Rome 2", "Rom"] {
      #expect(!Terminal.isWord("Rome", line), "\(line)")
    }
    // Control characters of a name are shown as replacements.
    #expect(Terminal.isWord("Ro\u{7}me", "Ro\u{FFFD}me"))
  }

  @Test func `erase and the trash parse with their options`() throws {
    func arguments(_ words: String...) throws -> JSON {
      try CommandParser(directory: "/").parse(words).arguments
    }
    #expect(try arguments("erase", "Rome", "Casa") == ["records": ["Rome", "Casa"]])
    #expect(
      try arguments("erase", "--field", "notes", "Rome", "--yes")
        == ["field": "notes", "records": ["Rome"], "yes": true])
    #expect(
      try arguments("erase", "--trash", "--older-than", "30d", "--preview")
        == ["trash": true, "olderThanMilliseconds": 2_592_000_000, "preview": true])
    #expect(try arguments("erase", "Alpha", "--force") == ["force": true, "records": ["Alpha"]])
    #expect(
      try arguments("trash", "empty", "--older-than=12h") == ["olderThanMilliseconds": 43_200_000])
    #expect(try CommandParser(directory: "/").parse(["trash"]).words == ["trash", "list"])
    #expect(throws: WaymarkError.self) { try arguments("trash", "empty", "--older-than", "soon") }
    #expect(throws: WaymarkError.self) { try arguments("trash", "empty", "Rome") }
  }

  // MARK: History, why and undo

  private func write(_ fields: [JSON]) -> JSON {
    [
      "id": "01234567000000000000000000000000", "verb": "trip.add", "time": "2026-11-21T11:00:00Z",
      "device": .string(Self.device), "deviceName": "phone", "own": false, "undoes": nil, "undoneBy": nil,
      "hidden": false, "fields": .array(fields),
    ]
  }

  private var erasure: JSON {
    ["time": "2026-11-21T11:30:00Z", "device": .string(Self.device), "deviceName": "laptop"]
  }

  @Test func `a history says which values were erased, when and by whom`() throws {
    let answer: JSON = [
      "record": ["kind": "trip", "id": Self.trip, "name": "Rome", "state": "visible", "erasure": erasure],
      "operations": [], "more": false,
      "writes": [
        write([
          [
            "field": "name", "value": "Rome", "before": nil, "beforeErased": true, "state": "shows",
            "lostTo": nil,
          ],
          [
            "field": "notes", "value": nil, "erased": true, "before": nil, "state": "replaced", "lostTo": nil,
          ],
        ])
      ],
    ]
    #expect(
      try text(ShowHistory(), answer) == """
        trip Rome  0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60
        Erased on 2026-11-21 11:30 by laptop

        2026-11-21 11:00  phone  trip add  01234567
          name   erased → Rome
          notes  erased
        """)
    // Documents mention erased values only where they apply.
    let document = try AnswerCoding.document(AnswerCoding.decode(ShowHistory.Answer.self, from: answer))
    let fields = document["writes"]?[0]?["fields"]
    #expect(fields?[0]?["beforeErased"] == true && fields?[0]?["erased"] == nil)
    #expect(fields?[1]?["erased"] == true && fields?[1]?["beforeErased"] == nil)
    #expect(document["record"]?["erasure"]?["deviceName"] == "laptop")
  }

  @Test func `an undo says which former values were erased, and does not offer to force them`() throws {
    let operation: JSON = [
      "id": "77ab01cd000000000000000000000000", "verb": "trip.edit", "time": "2026-11-21T11:00:00Z",
      "device": .string(Self.device), "deviceName": "phone", "own": false, "undoes": nil, "undoneBy": nil,
      "counts": [], "record": nil, "fields": [],
    ]
    let answer: JSON = [
      "undo": nil, "preview": true, "operation": operation, "changes": [],
      "left": [
        [
          "kind": "trip", "id": Self.trip, "name": "Rome", "reason": "erased", "fields": ["notes"],
          "users": [], "by": .string(Self.device), "byName": "laptop", "time": "2026-11-21T11:30:00Z",
        ]
      ],
      "resolvedConflicts": [],
    ]
    let shown = try text(Undo(), answer)
    #expect(shown.contains("Left unchanged:\n"))
    #expect(shown.contains("trip Rome  former values of notes erased by laptop, 2026-11-21 11:30"))
  }
}
