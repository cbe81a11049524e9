import Foundation
import JSONDocument
import Testing
import Waymark

@testable import WaymarkCommand

/// History, undo and the trash as a person sees them, 100 columns wide.
struct HistoryRenderingTests {
  private func text(_ words: [String], _ document: JSON, _ arguments: JSON = [:]) throws -> String {
    let now = try #require(TimeText.moment("2026-11-21T12:00:00Z"))
    var rendering = Rendering(
      width: 100, hasColor: false, notesWidth: 100, notesHaveColor: false,
      time: TimeText(now: now, zone: try #require(TimeZone(identifier: "UTC"))))
    try rendering.show(
      document, of: Invocation(words: words, arguments: arguments, options: GlobalOptions()))
    let lines = rendering.data.lines + rendering.notes.lines
    for line in lines { #expect(line.displayWidth <= 100, "\(line)") }
    return lines.joined(separator: "\n")
  }

  private func operation(_ id: String, _ verb: String, _ more: [JSON.Member] = []) -> JSON {
    .object(
      [
        .init("id", .string(id)), .init("verb", .string(verb)), .init("time", "2026-11-21T11:00:00Z"),
        .init("device", "00"), .init("deviceName", "phone"),
      ] + more)
  }

  @Test func `operations are one line each, newest first`() throws {
    let document: JSON = [
      "record": nil, "more": true, "writes": [],
      "operations": [
        operation(
          "3fa91c2200", "undo",
          [.init("undoes", "77ab01cd00"), .init("counts", [["kind": "log", "deleted": 20_000]])]),
        operation(
          "77ab01cd00", "import",
          [
            .init("undoneBy", "3fa91c2200"),
            .init("counts", [["kind": "habit", "added": 1], ["kind": "log", "added": 20_000]]),
          ]),
        operation(
          "0123456700", "trip.edit",
          [.init("record", ["kind": "trip", "name": "Rome"]), .init("fields", ["name", "notes"])]),
      ],
    ]
    #expect(
      try text(["history"], document) == """
        OPERATION  WHEN              DEVICE  WHAT
        3fa91c22   2026-11-21 11:00  phone   undo of 77ab01cd · 20,000 logs deleted
        77ab01cd   2026-11-21 11:00  phone   import · 1 habit, 20,000 logs added · undone by 3fa91c22
        01234567   2026-11-21 11:00  phone   trip edit · Rome: name, notes
        There is more: waymark history --limit N
        """)
  }

  @Test func `a record's writes say what they replaced, and to whom they lost`() throws {
    let document: JSON = [
      "record": ["kind": "trip", "id": "AB-12", "name": "Roma", "state": "deleted"], "operations": [],
      "writes": [
        operation(
          "77ab01cd00", "trip.edit",
          [
            .init(
              "fields",
              [
                ["field": "name", "value": "Roma", "before": "Rome", "state": "shows"],
                ["field": "notes", "value": "hot", "before": nil, "state": "replaced"],
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
                  "lostTo": ["deviceName": "laptop"],
                ]
              ]),
          ]),
      ],
    ]
    #expect(
      try text(["history"], document) == """
        trip Roma  AB-12  deleted

        2026-11-21 11:00  phone  trip edit  77ab01cd
          name   Rome → Roma
          notes  hot

        2026-11-21 11:00  phone  trip edit  01234567  did not know of the deletion
          name  Rome → Rom  (lost to laptop, at the same time; kept)
        """)
  }

  @Test func `an undo says what it did and what it left alone`() throws {
    let document: JSON = [
      "undo": "3fa91c2200", "preview": false, "operation": operation("77ab01cd00", "import"),
      "changes": [["kind": "log", "deleted": 2], ["kind": "trip", "changed": 1]],
      "left": [
        [
          "kind": "habit", "name": "Water", "reason": "in_use", "fields": [],
          "users": [["kind": "log", "name": "Water 2026-05-03"]],
        ],
        [
          "kind": "trip", "name": "Rome", "reason": "changed_since", "fields": ["name"], "byName": "phone",
          "time": "2026-11-21T11:30:00Z", "users": [],
        ],
      ],
    ]
    #expect(
      try text(["undo"], document) == """
        Undid 77ab01cd (import, by phone, 2026-11-21 11:00): 1 trip changed; 2 logs deleted.
        Left alone, unless you say --yes:
          habit Water  used by log Water 2026-05-03
          trip Rome    name changed since, by phone 2026-11-21 11:30
        To take that back: waymark undo 3fa91c22
        """)
  }

  @Test func `the trash says when, by whom, and with what`() throws {
    let document: JSON = [
      "lodgings": [
        [
          "id": "0196F0A2-7C31", "name": "Casa", "deleted": false, "deletedAt": "2026-11-21T11:00:00Z",
          "deletedBy": .string(String(repeating: "00", count: 32)), "deletedByName": "phone",
          "hiddenBy": ["kind": "trip", "id": "0196F0A2-7C30", "name": "Rome"],
        ]
      ]
    ]
    #expect(
      try text(["lodging", "list"], document, ["deleted": true]) == """
        ID        NAME  DELETED           BY     WITH
        0196F0A2  Casa  2026-11-21 11:00  phone  trip Rome
        To bring one back: waymark lodging restore ID
        """)
    #expect(try text(["trip", "list"], ["trips": []], ["deleted": true]) == "No trips in the trash.")
  }
}
