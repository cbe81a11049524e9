import Foundation

/// The output of the demo: numbered chapters, checked statements, and quoted messages.
struct Story {
  private(set) var chapter = 0
  private let began = ContinuousClock.now
  private let hasColor: Bool

  init() {
    let environment = ProcessInfo.processInfo.environment
    hasColor = isatty(STDOUT_FILENO) == 1 && environment["NO_COLOR", default: ""].isEmpty
  }

  var seconds: Double { Double((ContinuousClock.now - began) / .milliseconds(1)) / 1_000 }

  private func paint(_ text: String, _ code: String) -> String {
    hasColor ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }

  /// Prints a line without buffering, even if the output is not a terminal.
  private func print(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

  func title(_ text: String, _ subtitle: String) {
    print("\n\(paint(text, "1"))\n\(paint(subtitle, "2"))")
  }

  mutating func chapter(_ title: String) {
    chapter += 1
    print("\n\(paint("\(chapter)  \(title)", "1"))")
  }

  /// Prints a statement that has been checked: the device, what it did, and figures.
  func tick(_ who: String, _ what: String, _ figures: String = "") {
    let head = who.padding(toLength: max(8, who.count), withPad: " ", startingAt: 0)
    let tail = figures.isEmpty ? "" : "  " + paint(figures, "2")
    print("   \(paint("✓", "32")) \(head) \(what)\(tail)")
  }

  /// Prints a line of details below a tick.
  func detail(_ text: String) { print("              \(text)") }

  /// Prints a command's message, wrapped to the width of the page.
  func quote(_ text: String) {
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, line.count + word.count > 80 {
        detail("│ " + line)
        line = "  "
      } else if !line.isEmpty {
        line += " "
      }
      line += word
    }
    detail("│ " + line)
  }

  func say(_ text: String) { print("     \(paint(text, "2"))") }

  func end() {
    print("\n\(paint("All checks passed", "1;32")) in \(String(format: "%.0f", seconds)) seconds.\n")
  }

  func failed(_ error: any Error) {
    let step = chapter == 0 ? "before the first step" : "in step \(chapter)"
    let line = "\n   \(hasColor ? "\u{1B}[31m✗\u{1B}[0m" : "✗") demo failed \(step): \(error)\n"
    FileHandle.standardError.write(Data(line.utf8))
  }
}

/// The error of a step of the demo that failed.
struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Throws a failure with the given description unless a condition is true.
func expect(_ holds: Bool, _ what: @autoclosure () -> String) throws {
  if !holds { throw Failure(what()) }
}

/// Returns a number with a comma after every three digits: `12,345`.
func grouped(_ number: Int64) -> String {
  var text = ""
  for (index, digit) in String(number).reversed().enumerated() {
    if index > 0, index.isMultiple(of: 3) { text.append(",") }
    text.append(digit)
  }
  return String(text.reversed())
}

func short(_ digest: String) -> String { String(digest.prefix(8)) + "…" }
