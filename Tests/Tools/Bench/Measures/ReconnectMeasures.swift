import Foundation
import JSONDocument
import Processes
import Wire

/// Two equal devices reconnect: the cost until they find that they are equal.
struct EqualMeasure {
  private let stage: Stage

  init(_ stage: Stage) { self.stage = stage }

  func run() throws -> [Row] {
    let meeting = try Meeting(stage, "equal")
    defer { meeting.remove(from: stage) }
    var times: [Double] = []
    var bytes: [Double] = []
    for _ in 0..<max(5, stage.options.rounds) {
      try meeting.part()
      let met = try meeting.meet()
      times.append(met.seconds * 1e3)
      bytes.append(met.bytes)
    }
    return [
      Row("reconnect of equal devices, with \(Table.text(Double(meeting.rows))) logs", times.median, "ms"),
      Row(
        "  on the wire, handshake included", bytes.median, "B", goal: "≤ 2,000", isMet: bytes.median <= 2_000),
    ]
  }
}

/// Two devices that are equal except for a hundred changes on each side.
struct DifferenceMeasure {
  private let stage: Stage

  init(_ stage: Stage) { self.stage = stage }

  func run() throws -> [Row] {
    let meeting = try Meeting(stage, "difference")
    defer { meeting.remove(from: stage) }
    var (single, joint) = ([(seconds: Double, bytes: Double)](), [(seconds: Double, bytes: Double)]())
    var (count, equal) = (0, [Double]())
    for _ in 0..<stage.options.rounds {
      try meeting.part()
      equal.append(try meeting.meet().seconds * 1e3)
      try meeting.part()
      for node in [meeting.full, meeting.other] {
        for _ in 0..<100 {
          count += 1
          try node.ask(
            "trip.add", ["fields": [["name", .string("Trip \(count)")], ["notes", "of one of the two"]]])
        }
      }
      single.append(try meeting.meet())
      try meeting.part()
      for (index, node) in [meeting.full, meeting.other].enumerated() {
        let file = try trips(count, index)
        count += 100
        try node.ask("import", ["files": .array([.string(file)])])
      }
      joint.append(try meeting.meet())
    }
    func rows(_ name: String, _ met: [(seconds: Double, bytes: Double)], _ kilobytes: Double) -> [Row] {
      let (time, bytes) = (met.map { $0.seconds * 1e3 }.median, met.map(\.bytes).median)
      return [
        // Equal devices need the handshake and one round trip.
        Row(
          name, time, "ms", goal: "≤ 15 beyond \(Table.text(equal.median)) of equals",
          isMet: time - equal.median <= 15),
        Row(
          "  on the wire", bytes, "B", goal: "≤ \(Table.text(kilobytes * 1e3))",
          isMet: bytes <= kilobytes * 1e3),
      ]
    }
    return rows("100 changes on each side, each a set", single, 90)
      + rows("100 changes on each side, one set each", joint, 25)
  }

  private func trips(_ first: Int, _ side: Int) throws -> String {
    let list = (first..<first + 100).map { number in
      """
      {"id":"\(UUID().uuidString)","name":"Trip \(number)","notes":"of side \(side)","createdDate":"2026-01-01T00:00:00Z",\
      "startDate":"2026-01-01T00:00:00Z","hasStartDate":false,"endDate":"2026-01-01T00:00:00Z","hasEndDate":false,\
      "totalCost":0,"isProtected":false,"transportation":[],"embeddedTransportation":[],"lodging":[],"embeddedLodging":[],\
      "activities":[],"embeddedActivities":[]}
      """
    }
    let text = """
      {"exportInfo":{"version":"1.0","timestamp":"2026-01-01T00:00:00Z","format":"json","includesAttachments":true},
      "trips":[\(list.joined(separator: ","))],"organizations":[],"addresses":[],"attachments":[]}
      """
    let file = stage.folder.appending(path: "changes-\(first).json")
    try Data(text.utf8).write(to: file)
    return file.path
  }
}

/// Two devices with many logs in common, which disconnect and reconnect.
final class Meeting {
  let full: BenchNode
  let other: BenchNode
  let rows: Int

  /// Two running, connected devices with equal content.
  init(_ full: BenchNode, _ other: BenchNode, rows: Int) {
    self.full = full
    self.other = other
    self.rows = rows
  }

  convenience init(_ stage: Stage, _ name: String) throws {
    let workload = try stage.workload(.logs, stage.options.rows)
    let full = try stage.founder("\(name)-full")
    for part in workload.parts { try full.importing(part) }
    try full.start()
    let other = try stage.member("\(name)-other", of: full)
    try other.start("--peer", full.address)
    try other.wait()
    self.init(full, other, rows: workload.rows)
  }

  func part() throws {
    try other.ask("peers.pause", ["peer": .string(full.name)])
    let deadline = now() + 30
    while try full.isConnected(to: other.name) {
      guard now() < deadline else { throw Failure("waited 30 seconds for the end of a connection") }
      usleep(1_000)
    }
  }

  /// From the command to connect until both report that they hold the same; all bytes on the wire, including the
  /// handshake.
  func meet() throws -> (seconds: Double, bytes: Double) {
    let before = try other.wire()
    let begun = now()
    try other.ask("peers.resume", ["peer": .string(full.name)])
    try other.wait()
    let seconds = now() - begun
    // Messages sent afterwards count too.
    usleep(100_000)
    let after = try other.wire()
    return (seconds, after.sent - before.sent + after.received - before.received)
  }

  func remove(from stage: Stage) {
    stage.forget(other)
    stage.forget(full)
  }
}

extension BenchNode {
  func isConnected(to name: String) throws -> Bool {
    let peers = try ask("peers.list")["peers"]?.array ?? []
    return peers.contains {
      $0["name"]?.string == name && ["in_sync", "sending", "receiving"].contains($0["state"]?.string)
    }
  }
}
