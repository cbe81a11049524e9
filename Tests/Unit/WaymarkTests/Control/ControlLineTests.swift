import Foundation
import Home
import JSONDocument
import Reasons
import Testing
import Waymark
import WaymarkCare

@testable import Control

/// The lines of the control socket, and the documents that are made of answers.
struct ControlLineTests {
  /// With a fraction of a second.
  private static let moment = Date(timeIntervalSince1970: 1_777_820_400.25)

  private static let events: [CommandEvent] = [
    .progress(WorkProgress(stage: "reading", done: 1, total: 20), file: "/a b.json"),
    .progress(WorkProgress(stage: "writing", done: 0, total: 0)),
    .skipped(file: "a.json", place: "trips[3]", reason: "no\nname"),
    .warning(file: "a.json", text: "“é”\u{2028}"),
    .ticket("wm1qq", expires: moment), .code("123456", expires: moment, address: "192.168.1.4:7433"),
    .code("123456", expires: moment, address: nil), .singleAdmin,
  ]

  @Test(arguments: events.indices) func `an event arrives as it was sent, on one line`(index: Int) throws {
    let line = ControlReply.event(Self.events[index]).line
    #expect(!line.contains(UInt8(ascii: "\n")))
    guard case .event(let received) = try ControlReply(line: line) else {
      Issue.record("no event: \(String(decoding: line, as: UTF8.self))")
      return
    }
    #expect(received == Self.events[index])
  }

  @Test func `a failure arrives with all that its client needs`() throws {
    let failures = [
      WaymarkError(
        exitCode: 7, code: .largeUndo, message: "“a\nb” is 100% new.",
        next: "\(waymark: "undo 1 --preview"), or \(waymark: "run", on: "phone")", field: "name",
        candidates: ["Rome", "Ravenna"]),
      WaymarkError(exitCode: 1, code: .late, message: "Late."),
    ]
    for sent in failures {
      guard case .failure(let received) = try ControlReply(line: ControlReply.failure(sent).line) else {
        Issue.record("no failure")
        continue
      }
      #expect(received == sent)
      // Only the client knows the home that the person typed.
      #expect(received.next?.text(home: "/a b") == sent.next?.text(home: "/a b"))
    }
  }

  @Test func `an answer and a sign of life arrive as what they are`() throws {
    for sent: JSON in [.null, ["b": .number("1.50"), "a": nil], [1, "x"], ["type": "error"]] {
      guard case .result(let received) = try ControlReply(line: ControlReply.result(sent).line) else {
        Issue.record("no answer: \(sent.text())")
        continue
      }
      #expect(received == sent)
    }
    guard case .alive = try ControlReply(line: ControlReply.alive.line) else {
      Issue.record("no sign of life")
      return
    }
  }

  @Test func `a request may leave its arguments out, and keeps those that it has`() {
    let bare = ControlRequest(command: "status", arguments: [:])
    for line in [#"{"command":"status"}"#, #"{"command":"status","arguments":null}"#] {
      #expect(ControlRequest(line: Array(line.utf8)) == bare)
    }
    let request = ControlRequest(
      command: "trip.add", arguments: ["fields": [["name", "Zoë\n“1”"]], "n": .number("1.50"), "a": nil])
    #expect(!request.line().contains(UInt8(ascii: "\n")))
    #expect(ControlRequest(line: request.line()) == request)
  }

  @Test func `the name of a command decides about the kind, whatever the arguments say`() throws {
    let request = ControlRequest(command: "trip.show", arguments: ["kind": "habit", "id": "Rome"])
    let command = try request.command(as: ShowRecord.self)
    #expect(command.kind == "trip" && command.id == "Rome" && command.documentName == "trip.show")
    for name in ["trip.fly", ".show", "a.b.show", "show", "", "trip."] {
      #expect(Commands.named(name) == nil, "\(name)")
    }
  }

  @Test(arguments: [[:], ["peer": 7], ["peer": nil], ["peer": ["bob"]]] as [JSON])
  func `arguments that do not fit are a usage error without the names of types`(arguments: JSON) {
    let request = ControlRequest(command: "peers.pause", arguments: arguments)
    let failure = #expect(throws: WaymarkError.self) { try request.command(as: PausePeer.self) }
    #expect(failure?.code == .usage && failure?.exitCode == ExitCode.usage)
    let message = failure?.message.description ?? ""
    #expect(message.contains("`peers.pause`"))
    for word in ["Swift", "String", "Key", "Error"] { #expect(!message.contains(word), "\(message)") }
  }

  @Test func `each time of a document also has its form in UTC, and nothing else has`() {
    let document: JSON = [
      "start": "2026-05-03T15:00:00.250+02:00", "count": 3, "end": nil, "address": nil,
      "items": [["time": "1969-12-31T23:59:59.500Z"], "2026-05-03T15:00:00Z"],
      "notes": "2026-05-03T15:00:00Z", "odd": "2026-13-03T15:00:00Z", "day": "2026-05-03",
    ]
    let expected: JSON = [
      "start": "2026-05-03T15:00:00.250+02:00", "startUTC": "2026-05-03T13:00:00Z", "count": 3, "end": nil,
      "endUTC": nil, "address": nil,
      "items": [
        ["time": "1969-12-31T23:59:59.500Z", "timeUTC": "1969-12-31T23:59:59Z"], "2026-05-03T15:00:00Z",
      ],
      "notes": "2026-05-03T15:00:00Z", "odd": "2026-13-03T15:00:00Z", "day": "2026-05-03",
    ]
    #expect(UTCTimes.added(to: document) == expected)
  }
}
