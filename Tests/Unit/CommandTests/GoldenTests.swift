import Console
import Foundation
import JSONDocument
import Platform
import Testing
import WaymarkCare
import Wire

@testable import Control
@testable import NodeRuntime
@testable import Waymark
@testable import WaymarkCommand

/// Whole pages as a terminal shows them, at 80 and 120 columns, with and without colour. The pages are in
/// `Tests/Fixtures/Pages/`; `WAYMARK_GOLDEN=write` records them again, to be read before they are committed.
struct GoldenTests {
  struct Sheet: Sendable, CustomTestStringConvertible {
    let columns: Int
    let hasColor: Bool

    var name: String { "\(columns)-\(hasColor ? "colour" : "plain")" }
    var testDescription: String { name }
    /// Longer lines are hard to read, however wide the terminal is.
    var width: Int { columns }
  }

  static let sheets = [80, 120].flatMap { columns in
    [true, false].map { Sheet(columns: columns, hasColor: $0) }
  }

  @Test(arguments: sheets) func `a status matches its golden page`(_ sheet: Sheet) throws {
    let status = try Self.status()
    try compare("status", sheet) { $0.status(status) }
  }

  @Test(arguments: sheets) func `a watched status matches its golden page`(_ sheet: Sheet) throws {
    var watched = Watched()
    let began = ContinuousClock.now - .seconds(2)
    watched.take(try Self.watched(behind: 20_000), [], at: began)
    watched.take(try Self.watched(behind: 8_000), try Self.operations(), at: began + .seconds(1))
    try compare("watch", sheet) { $0.watch(watched, at: began + .seconds(2)) }
  }

  @Test(arguments: sheets) func `why and doctor match their golden pages`(_ sheet: Sheet) throws {
    try compare("why-peer", sheet) {
      Explain().render(try AnswerCoding.decode(Explain.Answer.self, from: Self.whyPeer), into: &$0)
    }
    try compare("why-record", sheet) {
      Explain().render(try AnswerCoding.decode(Explain.Answer.self, from: Self.whyRecord), into: &$0)
    }
    try compare("doctor", sheet) { $0.diagnosis(Self.doctor) }
  }

  private func compare(_ name: String, _ sheet: Sheet, _ body: (inout Rendering) throws -> Void) throws {
    let now = try #require(TimeText.moment("2026-11-21T12:00:00Z"))
    var rendering = Rendering(
      width: sheet.width, hasColor: sheet.hasColor, notesWidth: sheet.width, notesHaveColor: false,
      time: TimeText(now: now, zone: .utc))
    try body(&rendering)
    let page = (rendering.data.lines + rendering.notes.lines).map { $0 + "\n" }.joined()
    if !sheet.hasColor {
      for line in rendering.data.lines { #expect(line.displayWidth <= sheet.width, "\(line)") }
      #expect(!page.contains("\u{1B}"))
    }
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
      .appending(path: "Fixtures/Pages/\(name)-\(sheet.name).txt")
    if ProcessInfo.processInfo.environment["WAYMARK_GOLDEN"] == "write" {
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try page.write(to: file, atomically: true, encoding: .utf8)
    }
    #expect(page == (try String(contentsOf: file, encoding: .utf8)), "\(file.lastPathComponent)")
  }

  // MARK: Documents

  private static func lane(behind: Int64?, ahead: Int64?, equal: Bool?, open: Bool = true) -> JSON {
    [
      "open": .bool(open), "reason": open ? nil : "offline", "behind": behind.map { .integer($0) } ?? nil,
      "ahead": ahead.map { .integer($0) } ?? nil, "digestEqual": equal.map { .bool($0) } ?? nil,
    ]
  }

  private static func peer(
    _ name: String, _ state: String, _ reason: Reason, _ lane: JSON, address: String = "192.168.1.23:7433",
    consequenceOf: Reason? = nil
  ) -> JSON {
    [
      "device": .string(key(name)), "name": .string(name), "state": .string(state),
      "reason": .string(reason.rawValue), "severity": .string(reason.severity.rawValue),
      "text": .string("\(reason.sentence(peer: name))"), "next": .text(reason.next(peer: name)?.description),
      "since": nil,
      "address": .string(address), "lastSeen": "2026-11-21T10:02:00Z", "lastSync": "2026-11-21T10:02:00Z",
      "roundTripMilliseconds": nil, "clockSkewMilliseconds": -97_000,
      "addressSource": nil,
      "lanes": ["settings": lane, "records": lane], "consequenceOf": .text(consequenceOf?.rawValue),
    ]
  }

  /// A key derived from a name.
  private static func key(_ name: String) -> String {
    String((hexadecimal(Array(name.utf8)) + String(repeating: "0", count: 64)).prefix(64))
  }

  private static func cause(_ reason: Reason, _ name: String?) -> JSON {
    [
      "reason": .string(reason.rawValue), "severity": .string(reason.severity.rawValue),
      "remedy": .string(reason.remedy.rawValue), "text": .string("\(reason.sentence(peer: name))"),
      "next": .text(reason.next(peer: name)?.description), "device": nil, "name": .text(name),
      "consequences": [],
    ]
  }

  private static let closed = lane(behind: nil, ahead: nil, equal: nil, open: false)
  private static let even = lane(behind: 0, ahead: 0, equal: true)

  private static let names = (
    long: "the-old-desktop-in-the-study-upstairs", wide: "お父さんの古いノートパソコン", right: "מחשב נייד"
  )

  private static func document(_ peers: [JSON], running: Bool = true) throws -> NodeStatus {
    let own: JSON = ["open": true, "reason": nil, "digest": "00", "changeSets": 40, "parked": 2]
    let document: JSON = [
      "device": .string("3fa912bc" + String(repeating: "0", count: 56)), "name": "laptop",
      "circle": .string(String(repeating: "0", count: 64)), "incarnation": "00", "version": "0",
      "running": .bool(running), "runningSince": "2026-11-18T08:00:00Z",
      "listen": running ? "[::]:7433" : nil,
      "premium": ["active": true, "source": "certificate", "validUntil": "2027-03-01T00:00:00Z"],
      "sync": ["preference": true, "active": true, "reason": nil],
      "lanes": ["settings": own, "records": own],
      "counts": [
        "trips": 25, "lodging": 0, "transportation": 0, "activities": 0, "organizations": 0, "habits": 12,
        "categories": 0, "habitEntries": 20_000, "settings": 3,
      ],
      "files": [
        "keep": "all", "here": 41, "bytes": 212_400_000, "missing": 2, "missingBytes": 12_300_000,
        "lastCopies": 1, "lastCopyBytes": 4_100_000,
      ], "conflicts": 1,
      "notices": [
        [
          "reason": "not_seen", "severity": "warning",
          "text": "\(names.wide) was not seen for 20 days, since 2026-11-01",
          "next": "waymark run, on \(names.wide); if it is lost: waymark revoke '\(names.wide)'",
        ]
      ],
      "peers": .array(peers), "reasons": [],
      "loss": [
        "changeSets": 2,
        "newest": operation(
          "120de230", "trip.edit", at: "2026-11-21T11:58:00Z", by: "laptop", record: trip, fields: ["name"]),
        "devices": .array(
          peers.enumerated().map { index, peer in
            [
              "device": peer["device"] ?? nil, "name": peer["name"] ?? nil, "lacking": index == 3 ? nil : 2,
              "asOf": "2026-11-21T10:02:00Z",
            ]
          }),
      ],
      "storeCheck": ["checked": 0, "total": 80, "completed": nil, "damaged": 0],
      "keys": ["device": "plain", "root": nil],
    ]
    return try AnswerCoding.decode(NodeStatus.self, from: document)
  }

  private static let trip: JSON = [
    "kind": "trip", "id": "0196f0a2-7c31-7b4c-9e0f-3a5d2c8b1e60", "name": "Ελλάδα",
  ]

  private static func operation(
    _ id: String, _ verb: String, at time: String, by name: String, record: JSON = nil, fields: [String] = [],
    counts: JSON = []
  ) -> JSON {
    [
      "id": .string(id + String(repeating: "0", count: 24)), "verb": .string(verb), "time": .string(time),
      "device": .string(key(name)), "deviceName": .string(name), "own": .bool(name == "laptop"),
      "undoes": nil, "undoneBy": nil, "counts": counts, "record": record,
      "fields": .array(fields.map(JSON.string)),
    ]
  }

  private static func status() throws -> NodeStatus {
    try document([
      peer("nas", "in_sync", .inSync, even),
      peer(names.long, "offline", .dialRefused, closed),
      peer(names.wide, "offline", .offline, closed, address: "[2001:db8::1:2:3:4]:7433"),
      peer(names.right, "paused", .paused, closed),
      peer("phone", "refused", .peerFreeTier, even),
    ])
  }

  private static func watched(behind: Int64) throws -> NodeStatus {
    try document([
      peer("nas", "in_sync", .inSync, even),
      peer(names.long, "receiving", .receiving, lane(behind: behind, ahead: 0, equal: nil)),
    ])
  }

  private static func operations() throws -> [History.Operation] {
    let documents: JSON = [
      operation(
        "120de230", "trip.edit", at: "2026-11-21T11:58:00Z", by: "laptop", record: trip,
        fields: ["name", "notes"]),
      operation(
        "220de230", "import", at: "2026-11-21T09:58:00Z", by: names.wide,
        counts: [["kind": "entry", "added": 20_000, "changed": 0, "deleted": 0, "restored": 0]]),
    ]
    return try AnswerCoding.decode([History.Operation].self, from: documents)
  }

  private static let whyPeer: JSON = [
    "subject": "peer", "peer": peer(names.long, "offline", .dialRefused, closed),
    "causes": [cause(.dialRefused, names.long)], "lacking": 3, "newestLacking": "2026-11-21T11:58:00Z",
    "asOf": "2026-11-21T10:02:00Z", "record": nil, "values": [],
  ]

  private static func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }

  private static let whyRecord: JSON = [
    "subject": "record", "peer": nil, "causes": [], "lacking": nil, "newestLacking": nil, "asOf": nil,
    "record": [
      "kind": "trip", "id": "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60", "name": "Ελλάδα", "state": "visible",
    ],
    "values": [
      [
        "field": "name",
        "written": [
          "value": "Ελλάδα", "verb": "trip.edit", "time": "2026-11-21T11:58:00Z", "deviceName": "laptop",
          "id": .string(zeros(32)), "device": .string(zeros(64)), "own": true,
        ],
        "wonAgainst": [
          [
            "value": "Greece in spring, with everybody who wants to come along and all of their children",
            "verb": "trip.edit", "time": "2026-11-21T11:57:00Z", "deviceName": .string(names.wide),
            "id": .string(zeros(32)), "device": .string(zeros(64)), "own": false, "how": "concurrent",
          ],
          [
            "value": "Greece", "verb": "trip.add", "time": "2026-11-01T11:57:00Z", "deviceName": "laptop",
            "id": .string(zeros(32)), "device": .string(zeros(64)), "own": true, "how": "earlier",
          ],
        ],
      ]
    ],
  ]

  private static let doctor = Diagnosis(
    isSound: false,
    findings: [
      .init(
        .permissions, .ok, .ok, "Only this user has access to /home/anna/.local/share/waymark and the keys."),
      .init(
        .keys, .info, .rootKeyHere, "The root key of the circle is on this device.",
        next: "keep a copy elsewhere: waymark help revoking"),
      .init(
        .clock, .error, .clockSkew,
        "The clock of this machine is 97 minutes behind that of other devices: one of them is wrong.",
        next: Reason.clockSkew.next()),
      .init(
        .peers, .warning, .dialRefused, "\(Reason.dialRefused.sentence(peer: names.wide)).",
        next: Reason.dialRefused.next(peer: names.wide)),
    ], report: "/tmp/report.json")
}
