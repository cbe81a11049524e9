import Platform
import Console
import Foundation
import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import Control
@testable import WaymarkCommand

/// History, undo and the trash as a user sees them, 100 columns wide.
struct HistoryRenderingTests {
  private func rendering() throws -> Rendering {
    let now = try #require(TimeText.moment("2026-11-21T12:00:00Z"))
    return Rendering(
      width: 100, hasColor: false, notesWidth: 100, notesHaveColor: false,
      time: TimeText(now: now, zone: .utc))
  }

  private func text(_ words: [String], _ document: JSON, _ arguments: JSON = [:]) throws -> String {
    var rendering = try rendering()
    try rendering.show(
      document, of: Invocation(words: words, arguments: arguments, options: GlobalOptions()))
    return lines(rendering)
  }

  private func text<Shown: TerminalCommand>(_ command: Shown, _ answer: JSON) throws -> String {
    var rendering = try rendering()
    command.render(try AnswerCoding.decode(Shown.Answer.self, from: answer), into: &rendering)
    return lines(rendering)
  }

  private func lines(_ rendering: Rendering) -> String {
    let lines = rendering.data.lines + rendering.notes.lines
    // A line of JSON is for a program, and is never wrapped.
    for line in lines where !line.hasPrefix("{") { #expect(line.displayWidth <= 100, "\(line)") }
    return lines.joined(separator: "\n")
  }

  /// The document of an operation or a write, with its additional members.
  private func operation(_ id: String, _ verb: String, _ more: [JSON.Member] = []) -> JSON {
    var document: JSON = [
      "id": .string(Self.operationID(id)), "verb": .string(verb), "time": "2026-11-21T11:00:00Z",
      "device": .string(Self.device), "deviceName": "phone", "own": false, "undoes": nil, "undoneBy": nil,
      "counts": [], "record": nil, "fields": [], "hidden": false,
    ]
    for member in more { document[member.key] = member.value }
    return document
  }

  private static func operationID(_ start: String) -> String {
    start.padding(toLength: 32, withPad: "0", startingAt: 0)
  }

  private static let device = String(repeating: "0", count: 64)
  private static let id: JSON = "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60"

  private func count(_ kind: String, _ action: String, _ number: Int64) -> JSON {
    var count: JSON = ["kind": .string(kind), "added": 0, "changed": 0, "deleted": 0, "restored": 0]
    count[action] = .integer(number)
    return count
  }

  @Test func `operations are one line each, newest first`() throws {
    let document: JSON = [
      "record": nil, "more": true, "writes": [],
      "operations": [
        operation(
          "3fa91c2200", "undo",
          [
            .init("undoes", .string(Self.operationID("77ab01cd"))),
            .init("counts", [count("entry", "deleted", 20_000)]),
          ]),
        operation(
          "77ab01cd00", "import",
          [
            .init("undoneBy", .string(Self.operationID("3fa91c22"))),
            .init("counts", [count("habit", "added", 1), count("entry", "added", 20_000)]),
          ]),
        operation(
          "0123456700", "trip.edit",
          [
            .init("record", ["kind": "trip", "id": Self.id, "name": "Rome"]),
            .init("fields", ["name", "notes"]),
          ]),
      ],
    ]
    #expect(
      try text(ShowHistory(), document) == """
        OPERATION  WHEN              DEVICE  WHAT
        3fa91c22   2026-11-21 11:00  phone   undo of 77ab01cd · 20,000 entries deleted
        77ab01cd   2026-11-21 11:00  phone   import · 1 habit, 20,000 entries added · undone by 3fa91c22
        01234567   2026-11-21 11:00  phone   trip edit · Rome: name, notes
        There are more: waymark history --limit N
        """)
  }

  @Test func `a record's writes say what they replaced, and which write they lost to`() throws {
    let document: JSON = [
      "record": ["kind": "trip", "id": Self.id, "name": "Roma", "state": "deleted"], "operations": [],
      "more": false,
      "writes": [
        operation(
          "77ab01cd00", "trip.edit",
          [
            .init(
              "fields",
              [
                ["field": "name", "value": "Roma", "before": "Rome", "state": "shows", "lostTo": nil],
                ["field": "notes", "value": "hot", "before": nil, "state": "replaced", "lostTo": nil],
              ])
          ]),
        operation(
          "0123456700", "trip.edit",
          [
            .init("hidden", true),
            .init(
              "fields",
              [
                [
                  "field": "name", "value": "Rom", "before": "Rome", "state": "lost",
                  "lostTo": [
                    "id": .string(Self.operationID("77ab01cd")), "verb": "trip.edit",
                    "time": "2026-11-21T11:00:00Z", "device": .string(Self.device), "deviceName": "laptop",
                    "own": true,
                  ],
                ]
              ]),
          ]),
      ],
    ]
    #expect(
      try text(ShowHistory(), document) == """
        trip Roma  0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60  deleted

        2026-11-21 11:00  phone  trip edit  77ab01cd
          name   Rome → Roma
          notes  hot

        2026-11-21 11:00  phone  trip edit  01234567  made without knowing of the deletion
          name  Rome → Rom  (superseded by a concurrent change on laptop; kept)
        """)
  }

  @Test func `each operation, or each change of a record, is a line of JSON on request`() throws {
    var answer: JSON = [
      "record": nil, "more": true, "writes": [],
      "operations": [operation("3fa91c22", "trip.add"), operation("77ab01cd", "trip.edit")],
    ]
    var command = ShowHistory()
    command.ndjson = true
    var lines = try text(command, answer).split(separator: "\n").map(String.init)
    #expect(lines.count == 3 && lines[2].hasPrefix("There are more:"))
    #expect(try lines.prefix(2).map { try JSON.parse($0)["verb"] } == ["trip.add", "trip.edit"])
    answer["operations"] = []
    answer["more"] = false
    answer["writes"] = [operation("3fa91c22", "trip.edit")]
    answer["record"] = ["kind": "trip", "id": Self.id, "name": "Rome", "state": "visible", "erasure": nil]
    lines = try text(command, answer).split(separator: "\n").map(String.init)
    #expect(try lines.map { try JSON.parse($0)["id"] } == [.string(Self.operationID("3fa91c22"))])
  }

  @Test func `an undo lists what it changed and what it left alone`() throws {
    let document: JSON = [
      "undo": .string(Self.operationID("3fa91c22")), "preview": false,
      "operation": operation("77ab01cd00", "import"),
      "changes": [count("entry", "deleted", 2), count("trip", "changed", 1)],
      "left": [
        [
          "kind": "habit", "id": Self.id, "name": "Water", "reason": "in_use", "fields": [],
          "users": [["kind": "entry", "id": Self.id, "name": "Water 2026-05-03"]], "by": nil, "byName": nil,
          "time": nil,
        ],
        [
          "kind": "trip", "id": Self.id, "name": "Rome", "reason": "changed_since", "fields": ["name"],
          "by": .string(Self.device), "byName": "phone", "time": "2026-11-21T11:30:00Z", "users": [],
        ],
      ],
      "resolvedConflicts": [],
    ]
    #expect(
      try text(Undo(), document) == """
        Undid 77ab01cd (import, by phone, 2026-11-21 11:00): 1 trip changed; 2 entries deleted.
        Left unchanged, unless you add --yes:
          habit Water  used by entry Water 2026-05-03
          trip Rome    name changed since by phone, 2026-11-21 11:30
        To reverse that: waymark undo 3fa91c22
        """)
  }

  @Test func `an undo of a resolution names the displayed value, the other one, and the command for it`()
    throws
  {
    func document(isPreview: Bool) -> JSON {
      [
        "undo": isPreview ? nil : .string(Self.operationID("3fa91c22")), "preview": .bool(isPreview),
        "operation": operation("77ab01cd00", "resolve"), "changes": [count("trip", "changed", 1)], "left": [],
        "resolvedConflicts": [
          [
            "kind": "trip", "id": Self.id, "name": "Rom", "field": "name", "current": "Rom",
            "others": [
              [
                "value": "Roma", "device": .string(Self.device), "deviceName": "phone",
                "next": "waymark trip edit 01A20E3A name=Roma",
              ]
            ],
          ],
          [
            "kind": "trip", "id": Self.id, "name": "Oslo", "field": "life", "current": "deleted",
            "others": [
              ["value": "alive", "device": nil, "deviceName": nil, "next": "waymark trip restore 01A20E3A"]
            ],
          ],
        ],
      ]
    }
    #expect(
      try text(Undo(), document(isPreview: false)) == """
        Undid 77ab01cd (resolve, by phone, 2026-11-21 11:00): 1 trip changed.
        The conflicts stay resolved:
          trip · Rom · name is now Rom; phone wrote Roma
            To take the value from phone: waymark trip edit 01A20E3A name=Roma
          trip · Oslo is now deleted
            To restore it: waymark trip restore 01A20E3A
        To reverse that: waymark undo 3fa91c22
        """)
    #expect(
      try text(Undo(), document(isPreview: true)).contains(
        "The conflicts would stay resolved:\n  trip · Rom · name would be Rom; phone wrote Roma\n"))
  }

  @Test func `the trash shows when and by which device a record was deleted, and what was hidden with it`()
    throws
  {
    let document: JSON = [
      "lodgings": [
        [
          "id": "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60", "name": "Casa", "deleted": false,
          "deletedAt": "2026-11-21T11:00:00Z",
          "deletedBy": .string(String(repeating: "00", count: 32)), "deletedByName": "phone",
          "hiddenBy": ["kind": "trip", "id": "0196F0A2-7C30", "name": "Rome"],
        ]
      ]
    ]
    #expect(
      try text(["lodging", "list"], document, ["deleted": true]) == """
        ID        NAME  DELETED           BY     WITH
        2C8B1E60  Casa  2026-11-21 11:00  phone  trip Rome
        To restore one: waymark lodging restore ID
        """)
    #expect(try text(["trip", "list"], ["trips": []], ["deleted": true]) == "No trips in the trash.")
  }
}
