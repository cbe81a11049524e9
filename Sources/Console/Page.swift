package import Reasons

/// The emphasis of a word. It adds no information, because it may be invisible.
package enum Stress: String, Sendable {
  case none = ""
  case strong = "1"
  /// The headings of columns and of groups.
  case heading = "1;2"
  case faint = "2"
  case bad = "31"
  case good = "32"
  case careful = "33"
}

/// Lines of text, composed for a terminal of some width.
package struct Page {
  /// The widest line that prose fills; longer lines are hard to read. Tables use the whole width.
  package static let proseWidthMax = 100

  package let width: Int
  package let hasColor: Bool
  /// Whether a program reads the page rather than a person: lists have tabs between their values, and nothing is cut.
  package var isPiped = false
  /// The value of `--home`, which suggested commands must include; nil if it was not given.
  package var home: String?
  package private(set) var lines: [String] = []

  package init(width: Int, hasColor: Bool) {
    self.width = width
    self.hasColor = hasColor
  }

  /// The width of prose. Messages that a program reads have one line each, whatever their length.
  private var proseWidth: Int { width == .max ? width : min(width, Self.proseWidthMax) }

  package var text: String { lines.map { $0 + "\n" }.joined() }

  /// Returns the text in the colour of the emphasis, if the output has colours.
  package func paint(_ text: String, _ stress: Stress) -> String {
    hasColor && stress != .none && !text.isEmpty ? "\u{1B}[\(stress.rawValue)m\(text)\u{1B}[0m" : text
  }

  package mutating func line(_ text: String = "", _ stress: Stress = .none) {
    lines.append(paint(text, stress))
  }

  /// Appends lines unchanged, whatever their width.
  package mutating func text(_ text: String) {
    let body = text.hasSuffix("\n") ? text.dropLast() : text[...]
    for line in body.split(separator: "\n", omittingEmptySubsequences: false) { lines.append(String(line)) }
  }

  /// Appends text, wrapped between words if it is longer than a line. Lines after the first are indented.
  package mutating func paragraph(_ text: String, _ stress: Stress = .none, indent: Int = 0) {
    for line in wrapped(text, width: proseWidth, indent: indent) { self.line(line, stress) }
  }

  /// Appends a sentence that contains commands.
  package mutating func paragraph(_ sentence: Step, indent: Int = 0) {
    paragraph(sentence.text(home: home), indent: indent)
  }

  /// `Next: waymark sync on`
  package mutating func next(_ step: Step?) {
    if let step { paragraph("Next: \(printable(step.text(home: home)))") }
  }

  /// Appends an empty line, unless the page is empty or already ends with an empty line.
  package mutating func gap() {
    if let last = lines.last, !last.isEmpty { lines.append("") }
  }

  /// Appends lines of the form `name  value`, with aligned values.
  package mutating func pairs(_ pairs: [(name: String, value: String)]) {
    let column = (pairs.map { $0.name.displayWidth }.max() ?? 0) + 2
    for (name, value) in pairs {
      let rest = wrapped(value, width: max(20, proseWidth - column), indent: 0)
      for (index, part) in rest.enumerated() {
        let head = index == 0 ? name : ""
        line(paint(head.padded(to: column), .faint) + part)
      }
    }
  }

  package mutating func table(_ table: TextTable) {
    for line in table.lines(in: self) { lines.append(line) }
  }

  /// Appends help text, wrapped to the page and indented by `lead`.
  ///
  /// Line breaks in prose don't matter: unindented lines form one paragraph up to the next empty or indented line. An
  /// indented line is an example and stays on a line of its own. Text in a second column continues in the following
  /// lines that are indented to that column.
  package mutating func explain(_ text: String, lead: Int = 0) {
    for paragraph in HelpParagraph.all(in: text) {
      let head = String(repeating: " ", count: lead) + paragraph.head
      let column = head.displayWidth
      for (index, part) in wrapped(paragraph.body, width: max(20, proseWidth - column), indent: 0)
        .enumerated()
      {
        let margin = index == 0 ? head : String(repeating: " ", count: column)
        line(part.isEmpty ? "" : margin + part)
      }
    }
  }
}

/// A paragraph of help text before it is wrapped.
private struct HelpParagraph {
  /// The start of the first line: the indentation, or everything before the second column.
  let head: String
  var body: String

  static func all(in text: String) -> [HelpParagraph] {
    var paragraphs: [HelpParagraph] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let next = HelpParagraph(line)
      if let last = paragraphs.last, last.continues(in: next) {
        paragraphs[paragraphs.count - 1].body += " " + next.body
      } else {
        paragraphs.append(next)
      }
    }
    return paragraphs
  }

  private init(_ line: Substring) {
    let lead = line.prefix { $0 == " " }
    let gap = line[lead.endIndex...].firstRange(of: "  ")
    let second = gap.flatMap { gap in line[gap.upperBound...].firstIndex { $0 != " " } }
    let start = second ?? lead.endIndex
    head = String(line[..<start])
    body = String(line[start...])
  }

  private func continues(in next: HelpParagraph) -> Bool {
    guard !body.isEmpty, !next.body.isEmpty, next.head.allSatisfy({ $0 == " " }) else { return false }
    if head.isEmpty { return next.head.isEmpty }
    return head.contains { $0 != " " } && head.displayWidth == next.head.count
  }
}

/// Wraps text between words so that no line is wider than `width`, as far as words allow. Leading spaces are kept;
/// lines after the first are indented by `indent` more.
package func wrapped(_ text: String, width: Int, indent: Int) -> [String] {
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
