import Console
import JSONDocument
import NodeRuntime
import Testing

@testable import WaymarkCommand

/// `status` where there is little room.
struct NarrowStatusTests {
  private func status(_ document: JSON) throws -> NodeStatus {
    let own: JSON = ["open": true, "reason": nil, "digest": "00", "changeSets": 3, "parked": 0]
    let defaults: JSON = [
      "lanes": ["settings": own, "records": own],
      "premium": ["active": true, "source": "certificate", "validUntil": nil],
      "sync": ["preference": true, "active": true, "reason": nil],
    ]
    return try Answers.status(Answers.completed(document, by: defaults))
  }

  private static let unknown: JSON = [
    "open": true, "reason": nil, "behind": nil, "ahead": nil, "digestEqual": nil,
  ]

  private static let nas: JSON = [
    "device": Answers.key("nas"), "name": "nas", "state": "offline", "reason": "dial_refused",
    "lanes": ["settings": unknown, "records": unknown],
  ]

  @Test func `a small window shows the table of peers only if there are any`() throws {
    func lines(_ document: JSON) throws -> [String] {
      let found = try status(document)
      return try shown(columns: 80) { $0.diagnostics(found) }.data
    }
    let alone = try lines([:])
    #expect(alone.first == "laptop  00000000   running   premium   sync on")
    #expect(!alone.contains { $0.contains("PEER") }, "\(alone)")
    let paired = try lines(["peers": [Self.nas]])
    #expect(paired.contains { $0.hasPrefix("PEER") }, "\(paired)")
  }

  @Test func `a head that is too wide continues in the next line, and a long name in any line`() throws {
    let short = try status([:])
    let lines = try shown(columns: 40) { $0.status(short) }.data
    #expect(Array(lines.prefix(2)) == ["laptop  00000000   running   premium", "sync on"])
    let name = "the old desktop in the study upstairs at home"
    let long = try status(["name": .string(name)])
    // `shown` fails for a line of more than 40 columns.
    let text = oneLine(try shown(columns: 40) { $0.status(long) }.data)
    #expect(text.hasPrefix("\(name) 00000000 running premium sync on settings"), "\(text)")
  }

  @Test func `why a device can't be reached, and what to do about it, is wrapped and never cut`() throws {
    let address: JSON = [
      "address": "10.0.0.3:7433", "saved": true, "device": nil, "name": nil, "reason": "dial_refused",
    ]
    let found = try status(["peers": [Self.nas], "addresses": [address]])
    let lines = try shown(columns: 72) { $0.status(found) }.data
    #expect(!lines.contains { $0.contains("…") }, "\(lines)")
    let text = oneLine(lines)
    #expect(text.contains("never no node is listening at its address"), "\(text)")
    #expect(
      text.contains(
        "10.0.0.3:7433 no answer: no node is listening at its address · waymark peers remove 10.0.0.3:7433"),
      "\(text)")
  }
}
