import JSONDocument
import Wire

/// One line of the table.
struct Row {
  let name: String
  /// The quantity, with its unit.
  let value: Double
  let unit: String
  /// The cost of the same work on a bare SQLite, and on the bare pipeline in C, in the same unit.
  var sqlite: Double?
  var pipeline: Double?
  /// The target: as text, and whether it is met.
  let goal: String
  let isMet: Bool?

  init(
    _ name: String, _ value: Double, _ unit: String, sqlite: Double? = nil, pipeline: Double? = nil,
    goal: String = "", isMet: Bool? = nil
  ) {
    self.name = name
    self.value = value
    self.unit = unit
    self.sqlite = sqlite
    self.pipeline = pipeline
    self.goal = goal
    self.isMet = isMet
  }
}

/// The results, for people and for programs.
struct Table {
  private let machine: String
  private(set) var rows: [Row] = []

  init(_ machine: String) { self.machine = machine }

  mutating func add(_ rows: [Row]) {
    for row in rows { progress("  \(row.name): \(Self.text(row.value)) \(row.unit)") }
    self.rows += rows
  }

  var text: String {
    var lines = [["work", "measured", "× SQLite", "× pipeline", "goal", ""]]
    for row in rows {
      lines.append([
        row.name, "\(Self.text(row.value)) \(row.unit)", Self.ratio(row.value, row.sqlite),
        Self.ratio(row.value, row.pipeline), row.goal, row.isMet.map { $0 ? "met" : "not met" } ?? "",
      ])
    }
    return ([machine, ""] + Self.aligned(lines)).joined(separator: "\n")
  }

  /// Lines with equal numbers of cells; the first is the header.
  static func aligned(_ lines: [[String]]) -> [String] {
    let widths = (lines.first ?? []).indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    let table = lines.map { line in
      "| "
        + zip(line, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: " | ")
        + " |"
    }
    let rule = "|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|"
    return [table[0], rule] + table.dropFirst()
  }

  var json: JSON {
    [
      "machine": .string(machine),
      "rows": .array(
        rows.map { row in
          [
            "name": .string(row.name), "value": Self.number(row.value), "unit": .string(row.unit),
            "sqlite": row.sqlite.map(Self.number) ?? .null,
            "pipeline": row.pipeline.map(Self.number) ?? .null,
            "goal": .string(row.goal), "met": row.isMet.map(JSON.bool) ?? .null,
          ]
        }),
    ]
  }

  private static func number(_ value: Double) -> JSON { value.isFinite ? .float(value) : .null }

  private static func ratio(_ value: Double, _ base: Double?) -> String {
    guard let base, base > 0, value.isFinite else { return "" }
    return text(value / base)
  }

  /// Three significant digits, with thousands separators.
  static func text(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    if value >= 1_000 {
      var digits = String(Int(value.rounded()))
      var parts: [String] = []
      while digits.count > 3 {
        parts.insert(String(digits.suffix(3)), at: 0)
        digits.removeLast(3)
      }
      return ([digits] + parts).joined(separator: ",")
    }
    let decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2
    var scale = 1.0
    for _ in 0..<decimals { scale *= 10 }
    let rounded = (value * scale).rounded() / scale
    return decimals == 0 ? String(Int(rounded)) : String(rounded)
  }
}
