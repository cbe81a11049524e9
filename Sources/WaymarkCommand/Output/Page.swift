import Waymark

/// What stresses a word. The word itself always says the same.
enum Stress: String, Sendable {
  case none = ""
  case strong = "1"
  case faint = "2"
  case bad = "31"
  case good = "32"
  case careful = "33"
}

/// Lines of text as they are put together for a terminal of some width.
struct Page {
  let width: Int
  let hasColor: Bool
  /// The home that was typed, which commands of this device have to name.
  var home: String?
  private(set) var lines: [String] = []

  init(width: Int, hasColor: Bool) {
    self.width = width
    self.hasColor = hasColor
  }

  var text: String { lines.map { $0 + "\n" }.joined() }

  /// The text in the colour of the stress, if there are colours.
  func paint(_ text: String, _ stress: Stress) -> String {
    hasColor && stress != .none && !text.isEmpty ? "\u{1B}[\(stress.rawValue)m\(text)\u{1B}[0m" : text
  }

  mutating func line(_ text: String = "", _ stress: Stress = .none) { lines.append(paint(text, stress)) }

  /// Lines as they are, whatever their width.
  mutating func text(_ text: String) {
    let body = text.hasSuffix("\n") ? text.dropLast() : text[...]
    for line in body.split(separator: "\n", omittingEmptySubsequences: false) { lines.append(String(line)) }
  }

  /// Text that may be longer than a line, broken between words; lines after the first are indented.
  mutating func paragraph(_ text: String, _ stress: Stress = .none, indent: Int = 0) {
    for line in wrapped(text, width: width, indent: indent) { self.line(line, stress) }
  }

  /// A sentence with commands in it.
  mutating func paragraph(_ sentence: Step, indent: Int = 0) {
    paragraph(sentence.text(home: home), indent: indent)
  }

  /// `Next: waymark sync on`
  mutating func next(_ step: Step?) {
    if let step { paragraph("Next: \(printable(step.text(home: home)))") }
  }

  /// An empty line, unless there is one or nothing yet.
  mutating func gap() {
    if let last = lines.last, !last.isEmpty { lines.append("") }
  }

  /// `name  value` lines with the values below each other.
  mutating func pairs(_ pairs: [(name: String, value: String)]) {
    let column = (pairs.map { $0.name.displayWidth }.max() ?? 0) + 2
    for (name, value) in pairs {
      let rest = wrapped(value, width: max(20, width - column), indent: 0)
      for (index, part) in rest.enumerated() {
        let head = index == 0 ? name : ""
        line(paint(head.padded(to: column), .faint) + part)
      }
    }
  }

  mutating func table(_ table: TextTable) {
    for line in table.lines(in: self) { lines.append(line) }
  }
}

/// Breaks text between words so that no line is wider than `width`, as far as words allow. Blanks at the
/// beginning stay; lines after the first begin with `indent` more.
func wrapped(_ text: String, width: Int, indent: Int) -> [String] {
  text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { paragraph in
    let lead = String(paragraph.prefix { $0 == " " })
    let margin = lead + String(repeating: " ", count: indent)
    guard paragraph.displayWidth > width else { return [String(paragraph)] }
    var lines: [String] = []
    var line = lead
    var isEmpty = true
    for word in paragraph.split(separator: " ") {
      if !isEmpty, line.displayWidth + 1 + word.displayWidth > width {
        lines.append(line)
        line = margin + word
      } else {
        line += isEmpty ? String(word) : " " + word
      }
      isEmpty = false
    }
    return lines + [line]
  }
}
