/// A table of text that is made to fit its page: columns that may shrink are cut, the widest first.
package struct TextTable {
  package struct Column {
    package var title: String
    package var isRight = false
    /// The minimum width when the column is cut because the page is too narrow; nil for a column that is never cut.
    package var widthMin: Int?

    package init(_ title: String, isRight: Bool = false, widthMin: Int? = nil) {
      self.title = title
      self.isRight = isRight
      self.widthMin = widthMin
    }
  }

  package struct Cell: ExpressibleByStringInterpolation {
    package var text: String
    package var stress: Stress

    package init(_ text: String, _ stress: Stress = .none) {
      self.text = printable(text)
      self.stress = stress
    }

    package init(stringLiteral text: String) { self.init(text) }
  }

  package var columns: [Column]
  package var rows: [[Cell]] = []
  package var hasHead = true
  /// Whether the last column is wrapped instead of cut.
  package var wrapsLast = false
  /// Whether the table is a list of records, which programs read as values with tabs between them.
  package var isList = false

  static let gap = 2

  package init(_ columns: [Column]) { self.columns = columns }

  package func lines(in page: Page) -> [String] {
    guard !(page.isPiped && isList) else { return rows.map(tabbed) }
    // Without a terminal, nothing is cut. A last column that wraps loses nothing.
    let widths = fittedWidths(page.isPiped && !wrapsLast ? .max : page.width)
    let head = hasHead ? [line(columns.map { Cell($0.title, .heading) }, widths, page)] : []
    return head + rows.flatMap { lines($0, widths, page) }
  }

  /// Returns the values of a row with tabs between them, without padding.
  private func tabbed(_ cells: [Cell]) -> String {
    cells.map { $0.text.replacing("\t", with: " ").replacing("\u{A0}", with: " ") }.joined(separator: "\t")
  }

  private func lines(_ cells: [Cell], _ widths: [Int], _ page: Page) -> [String] {
    guard wrapsLast, cells.count == columns.count, let last = cells.last, let width = widths.last else {
      return [line(cells, widths, page)]
    }
    return wrapped(last.text, width: width, indent: 0).enumerated().map { index, part in
      let others = index == 0 ? Array(cells.dropLast()) : columns.dropLast().map { _ in Cell("") }
      return line(others + [Cell(part, last.stress)], widths, page)
    }
  }

  private func line(_ cells: [Cell], _ widths: [Int], _ page: Page) -> String {
    var line = ""
    var blanks = ""
    for (index, column) in columns.enumerated() {
      let cell = index < cells.count ? cells[index] : Cell("")
      let text = cell.text.cut(to: widths[index])
      let missing = String(repeating: " ", count: max(0, widths[index] - text.displayWidth))
      // Spaces are held back until text follows them, so that no line ends in spaces.
      if column.isRight { blanks += missing }
      if !text.isEmpty {
        // A no-break space has kept an amount and its currency together until here.
        line += blanks + page.paint(text.replacing("\u{A0}", with: " "), cell.stress)
        blanks = ""
      }
      if !column.isRight { blanks += missing }
      blanks += String(repeating: " ", count: Self.gap)
    }
    return line
  }

  private func fittedWidths(_ width: Int) -> [Int] {
    var widths = columns.indices.map { index in
      rows.reduce(columns[index].title.displayWidth) {
        max($0, index < $1.count ? $1[index].text.displayWidth : 0)
      }
    }
    var excess = widths.reduce(0, +) + Self.gap * (columns.count - 1) - width
    while excess > 0 {
      let wide = columns.indices.filter { widths[$0] > columns[$0].widthMin ?? Int.max }
      guard let widest = wide.max(by: { widths[$0] < widths[$1] }) else { break }
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }
}

/// Returns the shortest prefix of each id in a column that tells it apart from the others, with at least eight
/// characters.
package func distinctPrefixes(_ ids: [String]) -> [String: String] {
  let sorted = Set(ids).sorted()
  var prefixes: [String: String] = [:]
  for (index, id) in sorted.enumerated() {
    let neighbours = [index - 1, index + 1].filter(sorted.indices.contains).map { sorted[$0] }
    let shared = neighbours.map { zip(id, $0).prefix { $0 == $1 }.count }.max() ?? 0
    var count = max(8, shared + 1)
    if id.dropFirst(count - 1).first == "-" { count += 1 }
    prefixes[id] = String(id.prefix(count))
  }
  return prefixes
}
