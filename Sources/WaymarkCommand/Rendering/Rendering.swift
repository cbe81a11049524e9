import Console
import JSONDocument
import Waymark
import WaymarkCare

/// An answer rendered as text: data for standard output, and notes for standard error.
struct Rendering {
  var data: Page
  var notes: Page
  let time: TimeText
  /// The value of `--home`, which suggested commands must include; nil if it was not given.
  private let home: String?

  init(
    width: Int, hasColor: Bool, isPiped: Bool = false, notesWidth: Int, notesHaveColor: Bool, time: TimeText,
    home: String? = nil
  ) {
    data = Page(width: width, hasColor: hasColor)
    data.isPiped = isPiped
    notes = Page(width: notesWidth, hasColor: notesHaveColor)
    self.time = time
    self.home = home
    data.home = home
    notes.home = home
  }

  /// Returns a step as text within a line.
  func words(_ step: Step, inRowOf row: String? = nil) -> String {
    printable(step.text(home: home, inRowOf: row))
  }

  /// Writes a sentence, and what to do next.
  mutating func said(_ text: String?, next: Step?) {
    if let text { notes.paragraph(printable(text)) }
    notes.next(next)
  }
}

// MARK: Values

/// Returns the last eight digits of the id of a record, which are usually enough to identify it. The first digits are
/// the same for all records that were created within one minute.
func shortRecordID(_ id: String?) -> String { id.map { printable(String($0.suffix(8))) } ?? "–" }

/// Returns the first eight characters of a random id, of an operation or a device, which are usually enough to identify
/// it.
func shortID(_ id: String?) -> String { id.map { printable(String($0.prefix(8))) } ?? "–" }

extension TimeText {
  /// The value on one line. Times are in the reader's zone, unless they have a zone of their own.
  func text(_ value: ShownValue) -> String {
    switch value {
    case .absent: "–"
    case .flag(let flag): flag ? "yes" : "no"
    case .integer, .number: value.json.number ?? "–"
    case .text(let text): Self.moment(text) == nil ? printable(text) : written(text)
    case .list(let values): values.isEmpty ? "–" : values.map(self.text).joined(separator: ", ")
    case .parts(let parts):
      value.money?.description
        ?? parts.filter { $0.value != .absent }.map { "\(printable($0.name)) \(self.text($0.value))" }
        .joined(separator: " ")
    }
  }
}
