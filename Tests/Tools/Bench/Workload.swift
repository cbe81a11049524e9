import Foundation
import Wire

/// The rows of all measures: generated from a seed, as an export of one of the applications and as a tab-separated
/// table for the pipeline in C.
struct Workload {
  /// The kinds of rows: only habit logs, or with one trip in ten; `ordered` gives ascending ids.
  enum Shape: String { case logs, mixed, ordered }

  let rows: Int
  /// Files that `waymark import` reads, each within the limits of one import.
  let parts: [[String]]
  /// The file that the pipeline reads.
  let tabs: String

  static let rowsInPart = 100_000

  init(_ shape: Shape, rows: Int, in folder: URL) throws {
    self.rows = rows
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var source = RowSource(shape, of: rows)
    var parts: [[String]] = []
    var tabs = ""
    for first in stride(from: 0, to: rows, by: Self.rowsInPart) {
      var logs: [String] = []
      var trips: [String] = []
      for index in first..<min(rows, first + Self.rowsInPart) {
        let row = source.next(index)
        tabs += row.tabs
        if row.isTrip { trips.append(row.json) } else { logs.append(row.json) }
      }
      var files = [folder.appending(path: "logs-\(first).json")]
      try Data(Self.habitsFile(logs, source.habits).utf8).write(to: files[0])
      if !trips.isEmpty {
        files.append(folder.appending(path: "trips-\(first).json"))
        try Data(Self.tripsFile(trips).utf8).write(to: files[1])
      }
      parts.append(files.map(\.path))
    }
    let table = folder.appending(path: "rows.tsv")
    try Data(tabs.utf8).write(to: table)
    self.parts = parts
    self.tabs = table.path
  }

  private static func habitsFile(_ logs: [String], _ habits: [String]) -> String {
    let list = habits.enumerated().map { index, id in
      """
      {"id":"\(id)","name":"Habit \(index)","colorHex":"#2DA9E3","dailyTarget":8,"displayOrder":\(index),"isActive":true,\
      "isPinned":false,"kind":{"numeric":{}},"reminders":[],"schedule":{"daily":{}},"startDate":"2020-01-01T00:00:00Z",\
      "unitLabel":"glasses"}
      """
    }
    return """
      {"categories":[],"exportedAt":"2026-01-01T00:00:00Z","habitLogs":[\(logs.joined(separator: ",\n"))],
      "habits":[\(list.joined(separator: ",\n"))],
      "syncMetadata":{"profileId":"7761796D-6172-6B00-0000-000000000002"}}
      """
  }

  private static func tripsFile(_ trips: [String]) -> String {
    """
    {"exportInfo":{"version":"1.0","timestamp":"2026-01-01T00:00:00Z","format":"json","includesAttachments":true},
    "trips":[\(trips.joined(separator: ",\n"))],"organizations":[],"addresses":[],"attachments":[]}
    """
  }
}

/// Generates rows one by one, the same ones from the same seed.
private struct RowSource {
  private var random = SplitMix(seed: 42)
  private let shape: Workload.Shape
  private let count: Int
  private(set) var habits: [String] = []

  struct Line {
    let isTrip: Bool
    let json: String
    let tabs: String
  }

  init(_ shape: Workload.Shape, of count: Int) {
    self.shape = shape
    self.count = count
    for _ in 0..<24 { habits.append(uuid(random.next(), random.next())) }
  }

  mutating func next(_ index: Int) -> Line {
    let id = id(index)
    let time = 1_700_000_000_000 + index * 137
    return shape == .mixed && index % 10 == 9 ? trip(id, time) : log(id, time)
  }

  private mutating func id(_ index: Int) -> String {
    var high = random.next()
    if shape == .ordered {
      // The highest bits encode the position; the rest is random.
      let step = UInt64.max / UInt64(count + 1)
      high = UInt64(index) * step + high % step
    }
    return uuid(high, random.next())
  }

  private mutating func log(_ id: String, _ time: Int) -> Line {
    let habit = habits[below(habits.count)]
    let (day, hour, minute) = (day(), below(24), below(60))
    let value = Double(below(100_000)) / 1_000
    return Line(
      isTrip: false,
      json: """
        {"id":"\(id)","habitID":"\(habit)","date":"\(day)T\(two(hour)):\(two(minute)):00Z",\
        "timezone":"Europe/Rome","value":\(value)}
        """,
      // Where our row has a zone and a day, the pipeline's has a note.
      tabs: "L\t\(hex(id))\t\(hex(habit))\t\(day)\t\(value)\t\(words(32 + below(17)))\t\(time)\n")
  }

  private mutating func trip(_ id: String, _ time: Int) -> Line {
    let (start, end) = (day(), day())
    let (first, last) = (min(start, end), max(start, end))
    let (name, notes) = (words(20), words(32 + below(28)))
    return Line(
      isTrip: true,
      json: """
        {"id":"\(id)","name":"\(name)","notes":"\(notes)","createdDate":"\(first)T00:00:00Z","startDate":"\(first)T00:00:00Z",\
        "hasStartDate":true,"endDate":"\(last)T00:00:00Z","hasEndDate":true,"totalCost":0,"isProtected":false,\
        "transportation":[],"embeddedTransportation":[],"lodging":[],"embeddedLodging":[],"activities":[],\
        "embeddedActivities":[]}
        """,
      tabs:
        "T\t\(hex(id))\t\(name)\t\(first)\t\(last)\t\(Double(below(90_000)) / 1_000)\t1.5\t\(notes)\t\(time)\n"
    )
  }

  private mutating func below(_ end: Int) -> Int { Int(random.next() % UInt64(end)) }

  private mutating func day() -> String {
    "20\(two(20 + below(6)))-\(two(1 + below(12)))-\(two(1 + below(28)))"
  }

  private mutating func words(_ length: Int) -> String {
    var text = ""
    while text.utf8.count < length {
      text += (text.isEmpty ? "" : " ") + Self.vocabulary[below(Self.vocabulary.count)]
    }
    return String(text.prefix(length)).trimmingCharacters(in: .whitespaces)
  }

  private static let vocabulary =
    "ran walk slept early late felt good tired river hill coffee rain sunny with quick long easy hard tempo stretch water book train bus ferry lake museum dinner budget hotel"
    .split(separator: " ").map(String.init)

  private func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private func hex(_ id: String) -> String { id.replacing("-", with: "").lowercased() }

  private func uuid(_ high: UInt64, _ low: UInt64) -> String {
    UUID(uuid: withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { $0.load(as: uuid_t.self) }).uuidString
  }
}
