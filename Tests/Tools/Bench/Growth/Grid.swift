import JSONDocument
import Wire

/// A growth table: a line for each size, a column for each figure.
struct Grid {
  private let title: String
  private let columns: [String]
  private var lines: [(name: String, values: [Double])] = []

  /// - Parameter columns: the first is the label of the sizes.
  init(_ title: String, _ columns: [String]) {
    self.title = title
    self.columns = columns
  }

  /// Adds the figures of one size, in the order of the columns.
  mutating func add(_ name: String, _ values: [Double]) {
    precondition(
      values.count == columns.count - 1, "\(values.count) figures for \(columns.count - 1) columns")
    progress(
      "  \(name): "
        + zip(columns.dropFirst(), values).map { "\($0) \(Table.text($1))" }.joined(separator: ", "))
    lines.append((name, values))
  }

  var text: String {
    ([title, ""] + Table.aligned([columns] + lines.map { [$0.name] + $0.values.map(Table.text) }))
      .joined(separator: "\n")
  }

  var json: JSON {
    [
      "title": .string(title), "columns": .array(columns.map(JSON.string)),
      "lines": .array(
        lines.map { .array([.string($0.name)] + $0.values.map { $0.isFinite ? .float($0) : .null }) }),
    ]
  }
}
