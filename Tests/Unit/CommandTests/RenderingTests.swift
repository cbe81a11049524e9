import Console
import Foundation
import JSONDocument
import Platform
import Testing
import WaymarkCare

@testable import Control
@testable import NodeOperations
@testable import NodeRuntime
@testable import Waymark
@testable import WaymarkCommand

/// Documents as a user sees them, 100 columns wide.
struct RenderingTests {
  private func text(_ words: [String], _ document: JSON) throws -> String {
    let lines = try rendered(words, document)
    return (lines.data + lines.notes).joined(separator: "\n")
  }

  private func text<Shown: TerminalCommand>(_ command: Shown, _ answer: JSON) throws -> String {
    let now = try #require(TimeText.moment("2026-11-21T12:00:00Z"))
    var rendering = Rendering(
      width: 100, hasColor: false, notesWidth: 100, notesHaveColor: false,
      time: TimeText(now: now, zone: .utc))
    command.render(try AnswerCoding.decode(Shown.Answer.self, from: answer), into: &rendering)
    let lines = rendering.data.lines + rendering.notes.lines
    for line in lines { #expect(line.displayWidth <= 100, "\(line)") }
    return lines.joined(separator: "\n")
  }

  private func rendered(_ words: [String], _ document: JSON) throws -> (data: [String], notes: [String]) {
    let now = try #require(TimeText.moment("2026-11-21T12:00:00Z"))
    var rendering = Rendering(
      width: 100, hasColor: false, notesWidth: 100, notesHaveColor: false,
      time: TimeText(now: now, zone: .utc))
    try rendering.show(
      document, of: Invocation(words: words, arguments: .object([]), options: GlobalOptions()))
    let lines = rendering.data.lines + rendering.notes.lines
    for line in lines { #expect(line.displayWidth <= 100, "\(line)") }
    return (rendering.data.lines, rendering.notes.lines)
  }

  private func text(_ status: JSON) throws -> String {
    let answer = try Answers.status(status)
    let lines = try shown { $0.status(answer) }
    return (lines.data + lines.notes).joined(separator: "\n")
  }

  @Test(arguments: [true, false])
  func `a revoked device has its state in the document, and the next step as a note`(isWanted: Bool) throws {
    let document: JSON = [
      "preference": .bool(isWanted), "active": false, "reason": "revoked",
      "text": "this device was revoked by alice",
      "next": "waymark join TICKET",
    ]
    let complete = Answers.completed(
      document, by: ["premium": ["active": true, "source": "certificate", "validUntil": nil, "reason": nil]])
    let answer = try AnswerCoding.decode(SyncState.self, from: complete)
    let lines = try shown { $0.sync(answer) }
    let state = isWanted ? "sync on" : "sync off"
    #expect(lines.data == ["\(state) · records stay on this device: this device was revoked by alice"])
    #expect(lines.notes == ["Next: waymark join TICKET"])
  }

  private func lane(_ behind: Int64?, _ ahead: Int64?, equal: Bool?) -> JSON {
    [
      "open": true, "reason": nil, "behind": behind.map { .integer($0) } ?? nil,
      "ahead": ahead.map { .integer($0) } ?? nil, "digestEqual": equal.map { .bool($0) } ?? nil,
    ]
  }

  private func peer(_ name: String, _ state: String, settings: JSON, records: JSON) -> JSON {
    [
      "device": "00", "name": .string(name), "state": .string(state), "reason": .string(state),
      "text": "sending what it lacks", "next": nil, "since": nil, "address": nil,
      "lastSync": "2026-11-21T11:59:56Z", "lanes": ["settings": settings, "records": records],
    ]
  }

  private func status(premium: JSON, sync: Bool, open: Bool, peers: [JSON], conflicts: Int64 = 0) -> JSON {
    let settings: JSON = ["open": true, "reason": nil, "digest": "00", "changeSets": 3, "parked": 0]
    let records: JSON = [
      "open": .bool(open), "reason": open ? nil : "free_tier", "digest": "00", "changeSets": 40, "parked": 0,
    ]
    return [
      "schema": "waymark.status/1", "device": .string("3fa912bc" + String(repeating: "0", count: 56)),
      "name": "laptop", "running": true,
      "runningSince": "2026-11-18T08:00:00Z", "listen": "[::]:7433", "premium": premium,
      "sync": ["preference": .bool(sync), "active": .bool(open), "reason": nil],
      "lanes": ["settings": settings, "records": records],
      "counts": ["trips": 25, "habits": 1, "habitEntries": 20_000], "conflicts": .integer(conflicts),
      "notices": [], "peers": .array(peers),
      "loss": [
        "changeSets": 0, "newest": nil,
        "devices": .array(
          peers.map { peer in
            [
              "device": Answers.key(peer["name"]?.string ?? ""), "name": peer["name"] ?? "",
              "lacking": peer["name"] == "nas" ? 0 : 2, "newestLacking": nil,
              "asOf": nil,
            ]
          }),
      ],
    ]
  }

  private func kind(_ plural: String, _ added: Int64, _ changed: Int64, _ deleted: Int64) -> JSON {
    [
      "kind": "trip", "plural": .string(plural), "added": .integer(added), "changed": .integer(changed),
      "deleted": .integer(deleted), "restored": 0,
    ]
  }

  @Test func `an override shows what changes, and how to undo it`() throws {
    var document: JSON = [
      "schema": "waymark.mirror/1", "preview": true, "turnsSyncOn": true, "unknown": 2,
      "kinds": [kind("trips", 2, 0, 1), kind("habit logs", 0, 1_200, 0)], "operation": nil, "backup": nil,
      "elsewhere": [], "notAsked": [["device": Answers.key("phone"), "name": "phone"]], "peers": [],
      "total": ["added": 2, "changed": 1_200, "deleted": 1, "restored": 0], "from": nil, "only": nil,
      "trip": nil,
    ]
    let preview = try text(Mirror(), document)
    #expect(preview.contains("trips           2        0        1         0"))
    #expect(preview.contains("1,200"))
    #expect(preview.contains("Sync of records would be turned on."))
    #expect(preview.contains("2 records unknown to this device"))
    #expect(preview.contains("Nothing was changed."))
    #expect(preview.contains("Not connected: phone."))
    document["preview"] = false
    document["operation"] = .string("120de230" + String(repeating: "a", count: 24))
    document["backup"] = "/home/a/backups/before-mirror.waymark"
    document["elsewhere"] = [["kind": "trip", "plural": "trips", "records": 3]]
    let done = try text(Mirror(), document)
    #expect(done.contains("Changed on other devices in the meantime, and merged as usual: 3 trips."))
    #expect(done.contains("To undo this: waymark undo 120de230"))
    #expect(done.contains("before-mirror.waymark"))
    document["kinds"] = []
    document["backup"] = nil
    #expect(try text(AssertRecords(), document).contains("Nothing to do"))
  }

  @Test func `test leftovers are listed with the reason why they look like leftovers`() throws {
    let trip: JSON = [
      "id": "01A1FC7C-96DB-7000-8000-000000000000", "name": "debug me", "mark": "debug", "items": 3,
    ]
    let found: JSON = ["preview": true, "deleted": 0, "operation": nil, "backup": nil, "trips": [trip]]
    let shown = try text(CleanUp(), found)
    #expect(shown.contains("00000000  debug me      3  “debug”"))
    #expect(shown.contains("Nothing was deleted."))
    #expect(
      try text(CleanUp(), Answers.completed(["preview": false, "trips": []], by: found)).contains(
        "No trip looks"))
  }

  @Test func `the status of a premium device shows what waits for which peer`() throws {
    let even = lane(0, 0, equal: true)
    let document = status(
      premium: ["active": true, "source": "certificate", "validUntil": "2027-03-01T00:00:00Z"], sync: true,
      open: true,
      peers: [
        peer("nas", "in_sync", settings: even, records: even),
        peer("phone", "sending", settings: even, records: lane(0, 2, equal: false)),
      ], conflicts: 1)
    #expect(
      try text(document) == """
        laptop  3fa912bc   running 3 d 4 h   premium until 2027-02-28 UTC   sync on
        settings  in sync with 2 of 2 peers
        records   in sync with 1 of 2 peers · 2 change sets not yet on phone · 1 conflict
        here      25 trips · 1 habit · 20,000 habit entries

        PEER   STATE    BEHIND  AHEAD  LAST SYNC  WHY
        nas    in sync       0      0  4 s ago
        phone  sending       0      2  4 s ago    sending changes to phone

        If this disk died now, nothing would be lost: nas has everything.
        1 conflict needs your decision: waymark conflicts
        """)
  }

  @Test func `a peer that only settings sync with is not shown as in sync`() throws {
    func row(recordsOpen: Bool) throws -> String {
      var records = lane(0, 0, equal: recordsOpen ? true : nil)
      records["open"] = .bool(recordsOpen)
      let peers = try Answers.peers([
        peer("nas", "in_sync", settings: lane(0, 0, equal: true), records: records)
      ])
      var rendering = Rendering(
        width: 100, hasColor: true, notesWidth: 100, notesHaveColor: false,
        time: TimeText(now: 0, zone: .utc))
      rendering.data.table(rendering.peerTable(peers))
      return try #require(rendering.data.lines.last)
    }
    let whole = try row(recordsOpen: true)
    #expect(whole.contains("\u{1B}[32min sync\u{1B}[0m"))
    let half = try row(recordsOpen: false)
    #expect(half.contains("settings only") && !half.contains("in sync") && !half.contains("\u{1B}[32m"))
  }

  @Test func `commands to type are not broken, whatever a peer is called`() throws {
    func row(_ name: String, _ reason: Reason) throws -> String {
      var peer = peer(
        name, "paused", settings: lane(nil, nil, equal: nil), records: lane(nil, nil, equal: nil))
      peer["reason"] = .string(reason.rawValue)
      let peers = try Answers.peers([peer])
      let lines = try shown { $0.data.table($0.peerTable(peers, showsPlaces: true)) }.data
      return lines.dropFirst().map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
    }
    #expect(try row("mark", .paused).hasSuffix("paused by you · waymark peers resume mark"))
    #expect(try row("n", .dialRefused).hasSuffix("no node is listening at its address · waymark run, there"))
    #expect(try row("device", .syncOff).contains("sync of records is off on this device"))
    #expect(try row("mark", .peerFreeTier).contains("it has no premium, so only settings sync with it"))
  }

  @Test func `control sequences are removed from the names within a value too`() {
    let value: JSON = ["weights": ["a\u{1B}[2J": 1]]
    #expect(!TimeText(now: 0).text(ShownValue(value)).contains("\u{1B}"))
  }

  @Test func `free is a state and not an error`() throws {
    let document = status(
      premium: ["active": false, "source": "none", "validUntil": nil], sync: false, open: false, peers: [])
    #expect(
      try text(document) == """
        laptop  3fa912bc   running 3 d 4 h
        free · settings sync, records stay on this device (waymark help premium)
        settings  no other device yet
        records   stay on this device
        here      25 trips · 1 habit · 20,000 habit entries
        """)
  }

  @Test func `trips are listed with their totals, one per currency`() throws {
    let document: JSON = [
      "schema": "waymark.trip.list/1",
      "trips": [
        [
          "id": "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60",
          "name": "東京 and a name that is far too long for the column it is in, is it not",
          "startDate": "2026-05-02T00:00:00Z", "endDate": nil, "activities": 12,
          "totals": [["amount": "410.56", "currency": "USD"], ["amount": "12", "currency": nil]],
        ]
      ],
    ]
    #expect(
      try text(["trip", "list"], document) == """
        ID        NAME                                                FROM        TO  ITEMS  TOTAL
        2C8B1E60  東京 and a name that is far too long for the colu…  2026-05-02  –      12  410.56 USD + 12
        """)
  }

  private static let device: JSON = .string(String(repeating: "0", count: 64))

  @Test func `a conflict shows the winner and what is kept of the others`() throws {
    let document: JSON = [
      "conflicts": [
        [
          "id": "c0ffee0011", "kind": "habit", "record": "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60",
          "name": "Run", "field": "notes", "reason": "field", "visible": true, "hiddenBy": nil,
          "winner": [
            "value": "by the river", "deviceName": "phone", "device": Self.device,
            "time": "2026-11-21T11:00:00Z",
          ],
          "losers": [
            [
              "value": "in the park", "deviceName": "laptop", "device": Self.device,
              "time": "2026-11-21T10:59:00Z",
            ]
          ],
        ]
      ]
    ]
    #expect(
      try text(ListConflicts(), document) == """
        c0ffee00  habit · Run · notes  (field)
          won   by phone   2026-11-21 11:00  by the river
          kept  by laptop  2026-11-21 10:59  in the park

        To resolve one: waymark conflicts show ID, waymark conflicts resolve ID --take winner|loser|DEVICE
        """)
  }

  @Test func `long values are shown in full where the user has to decide`() throws {
    let words = (1...40).map { "word\($0)" }.joined(separator: " ")
    let document: JSON = [
      "id": "c0ffee0011", "kind": "habit", "record": "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60",
      "name": "Run", "field": "notes", "reason": "field", "visible": true, "hiddenBy": nil,
      "winner": [
        "value": .string(words), "device": Self.device, "deviceName": "phone", "time": "2026-11-21T11:00:00Z",
      ],
      "losers": [
        [
          "value": "short", "device": Self.device, "deviceName": "laptop", "time": "2026-11-21T10:59:00Z",
        ]
      ],
      "choices": [],
    ]
    let shown = try text(ShowConflict(), document)
    #expect(
      shown.split(whereSeparator: \.isWhitespace).map(String.init).filter { $0.hasPrefix("word") }.count == 40
    )
    #expect(!shown.contains("…"))
  }

  @Test func `warnings that differ only in numbers and names are shown as one, with an example`() {
    func lines(_ count: Int) -> [String] {
      var groups = MessageGroups("warning")
      for index in 1...count {
        groups.add("trips[\(index)]: totalCost is \(index).5, but \"item \(index)\" costs \(index)")
      }
      groups.add("trips: the key \"budget\" is unknown and is left out")
      return groups.lines
    }
    #expect(
      lines(2_000) == [
        "trips[1]: totalCost is 1.5, but \"item 1\" costs 1 (and 1,999 more like this)",
        "trips: the key \"budget\" is unknown and is left out",
      ])
    #expect(lines(3).count == 4 && !lines(3).contains { $0.contains("more like this") })
    var groups = MessageGroups("warning")
    for index in 0..<25 { groups.add("\(Character(Unicode.Scalar(UInt8(97 + index)))) is left out") }
    #expect(groups.lines.count == 21 && groups.lines.last == "5 more warnings; --json lists all")
  }

  @Test func `the totals of an import are all that its answer shows, after the warnings`() throws {
    let document: JSON = [
      "preview": false, "added": 1, "updated": 0, "unchanged": 0, "skipped": 2, "warnings": ["a", "b"],
    ]
    #expect(try text(ImportFiles(), document) == "1 added · 0 updated · 0 unchanged · 2 skipped")
  }

  @Test func `structured values of a habit are shown in words`() throws {
    let document: JSON = [
      "schema": "waymark.habit.show/1", "name": "Gym", "schedule": ["daysOfWeek": ["_0": [1, 3, 5]]],
      "reminders": [["hour": 8, "minute": 0], ["hour": 18, "minute": 30]],
      "frequency": ["everyEntry": ["cooldownMinutes": 30]],
    ]
    #expect(
      try text(["habit", "show"], document) == """
        name       Gym
        schedule   mon,wed,fri
        reminders  08:00,18:30
        frequency  everyEntry:30
        """)
  }

}

extension Rendering {
  /// Shows the document of a command, decoded.
  mutating func show(_ document: JSON, of invocation: Invocation) throws {
    guard let type = CommandTable.typed(invocation.requestName) else {
      preconditionFailure("no command \(invocation.requestName)")
    }
    try show(document, type, invocation)
  }

  private mutating func show<Asked: TerminalCommand>(
    _ document: JSON, _ type: Asked.Type, _ invocation: Invocation
  ) throws {
    // Members that a document does not need may be omitted.
    var arguments = invocation.arguments
    arguments["id"] = arguments["id"] ?? ""
    let request = ControlRequest(command: invocation.requestName, arguments: arguments)
    var content = document
    content["schema"] = nil
    let answer = try AnswerCoding.decode(Asked.Answer.self, from: content)
    try request.command(as: type).render(answer, into: &self)
  }
}
