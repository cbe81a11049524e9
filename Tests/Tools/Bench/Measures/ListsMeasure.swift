import Control
import Dispatch
import Foundation
import JSONDocument
import Synchronization
import Waymark
import Wire

/// Lists as an application shows them, queried from a running node.
struct ListsMeasure {
  private let stage: Stage
  private let trips = 2_000
  private let items = 60_000

  init(_ stage: Stage) { self.stage = stage }

  func run() throws -> [Row] {
    let node = try stage.founder("lists")
    try node.importing([
      try tripsFile(), try stage.workload(.logs, min(stage.options.rows, 10_000)).parts[0][0],
    ])
    try node.start()
    defer { stage.forget(node) }
    let asked = try median { try node.ask("trip.list") }
    try node.stop()
    let plain = try PlainList(node.store, rounds: 20, in: stage.folder)?.milliseconds
    let opened = try Node(home: Home(path: node.home.path))
    let list = try median { try perform(ControlRequest(command: "trip.list", arguments: [:]), opened) }
    let year = try median {
      try perform(
        ControlRequest(
          command: "entry.list", arguments: ["habit": "Habit 3", "from": "2024-01-01", "to": "2024-12-31"]),
        opened)
    }
    return [
      Row(
        "`trip list` of \(Table.text(Double(trips))) trips, \(Table.text(Double(items))) items", list, "ms",
        sqlite: plain, goal: "≤ 3 × SQL in C", isMet: plain.map { list <= 3 * $0 }),
      Row("  over the control socket, as text", asked, "ms"),
      Row("a habit's year", year, "ms", goal: "≤ 10 in the node", isMet: year <= 10),
    ]
  }

  /// Inside the node, in this process.
  private func perform(_ request: ControlRequest, _ node: Node) throws {
    let done = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    Task {
      do { _ = try await node.answer(to: request).get() } catch { failure.withLock { $0 = error } }
      done.signal()
    }
    done.wait()
    if let failure = failure.withLock({ $0 }) { throw failure }
  }

  private func median(_ body: () throws -> Void) throws -> Double {
    var times: [Double] = []
    for _ in 0..<20 {
      let begun = now()
      try body()
      times.append((now() - begun) * 1e3)
    }
    return times.median
  }

  private func tripsFile() throws -> String {
    let each = items / trips
    let list = (0..<trips).map { trip in
      let activities = (0..<each).map { item in
        """
        {"id":"\(UUID().uuidString)","name":"Activity \(item)","start":"2025-03-01T10:00:00Z","startTZId":"Europe/Rome",\
        "end":"2025-03-01T12:00:00Z","endTZId":"Europe/Rome","cost":\(item).5,"paid":"none","notes":"","confirmation":""}
        """
      }
      return """
        {"id":"\(UUID().uuidString)","name":"Trip \(trip)","notes":"","createdDate":"2026-01-01T00:00:00Z",\
        "startDate":"2025-03-01T00:00:00Z","hasStartDate":true,"endDate":"2025-03-09T00:00:00Z","hasEndDate":true,"totalCost":0,\
        "isProtected":false,"transportation":[],"embeddedTransportation":[],"lodging":[],"embeddedLodging":[],\
        "activities":[],"embeddedActivities":[\(activities.joined(separator: ","))]}
        """
    }
    let text = """
      {"exportInfo":{"version":"1.0","timestamp":"2026-01-01T00:00:00Z","format":"json","includesAttachments":true},
      "trips":[\(list.joined(separator: ","))],"organizations":[],"addresses":[],"attachments":[]}
      """
    let file = stage.folder.appending(path: "lists.json")
    try Data(text.utf8).write(to: file)
    return file.path
  }
}
