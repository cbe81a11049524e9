import Console
import Control
import Foundation
import JSONDocument
import Platform
import Testing
import WaymarkCare
import Wire

@testable import NodeRuntime
@testable import Waymark
@testable import WaymarkCommand

/// Answers built from documents, of which a test gives only the relevant members.
enum Answers {
  /// The members of a document, completed with those of another.
  static func completed(_ document: JSON, by defaults: JSON) -> JSON {
    var whole = document
    for member in defaults.members ?? [] where whole[member.key] == nil { whole[member.key] = member.value }
    return whole
  }

  /// A key derived from a name.
  static func key(_ name: String) -> JSON {
    .string(String((hexadecimal(Array(name.utf8)) + String(repeating: "0", count: 64)).prefix(64)))
  }

  static func status(_ document: JSON) throws -> NodeStatus {
    var document = completed(document, by: statusDefaults)
    document["counts"] = completed(document["counts"] ?? [:], by: countDefaults)
    document["peers"] = .array((document["peers"]?.array ?? []).map(peer))
    document["premium"] = completed(document["premium"] ?? [:], by: ["reason": nil])
    return try AnswerCoding.decode(NodeStatus.self, from: document)
  }

  static func peers(_ documents: [JSON]) throws -> [Peer] {
    try AnswerCoding.decode([Peer].self, from: .array(documents.map(peer)))
  }

  private static func peer(_ document: JSON) -> JSON {
    var peer = document
    peer["device"] = key(document["name"]?.string ?? "")
    return completed(peer, by: peerDefaults)
  }

  private static let none = String(repeating: "0", count: 64)

  private static let statusDefaults: JSON = [
    "device": .string(none), "name": "laptop", "circle": .string(none), "incarnation": "00", "version": "0",
    "running": true, "runningSince": nil, "listen": "[::]:7433", "conflicts": 0, "notices": [], "peers": [],
    "sync": ["preference": false, "active": false, "reason": nil], "reasons": [],
    "loss": ["changeSets": 0, "newest": nil, "devices": []], "files": files,
    "storeCheck": ["checked": 0, "total": 0, "completed": nil, "damaged": 0],
    "keys": ["device": "plain", "root": nil],
  ]

  /// The totals of a device without files.
  static let files: JSON = [
    "keep": "all", "here": 0, "bytes": 0, "missing": 0, "missingBytes": 0, "lastCopies": 0,
    "lastCopyBytes": 0,
  ]

  private static let countDefaults: JSON = [
    "trips": 0, "lodging": 0, "transportation": 0, "activities": 0, "organizations": 0, "habits": 0,
    "categories": 0, "habitEntries": 0, "settings": 0,
  ]

  private static let peerDefaults: JSON = [
    "since": nil, "address": nil, "addressSource": nil, "lastSeen": nil, "roundTripMilliseconds": nil,
    "clockSkewMilliseconds": nil, "lastSync": nil, "consequenceOf": nil,
  ]
}

/// The output of a rendering, for a terminal of this many columns.
func shown(columns: Int = 100, _ body: (inout Rendering) throws -> Void) throws -> (
  data: [String], notes: [String]
) {
  var rendering = Rendering(
    width: columns, hasColor: false, notesWidth: columns, notesHaveColor: false,
    time: TimeText(now: 1_795_262_400_000, zone: .utc))
  try body(&rendering)
  for line in rendering.data.lines + rendering.notes.lines {
    #expect(line.displayWidth <= columns, "\(line)")
  }
  return (rendering.data.lines, rendering.notes.lines)
}
