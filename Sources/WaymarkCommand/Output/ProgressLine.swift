import Foundation

/// A progress bar on the terminal, with the amount done, the speed and the remaining time.
struct ProgressLine {
  private let terminal: Terminal
  private let began: ContinuousClock.Instant
  private var drawn: ContinuousClock.Instant?

  init(_ terminal: Terminal) {
    self.terminal = terminal
    began = .now
  }

  /// Draws the bar, on a terminal only.
  mutating func show(_ what: String, done: Int64, total: Int64) {
    guard terminal.error.isTerminal else { return }
    let now = ContinuousClock.now
    if let drawn, now - drawn < .milliseconds(100), done < total { return }
    drawn = now
    let seconds = Double((now - began) / .milliseconds(1)) / 1_000
    let text = Self.text(what, done: done, total: total, seconds: seconds, width: terminal.error.width)
    terminal.transient("\r\u{1B}[K" + text)
  }

  /// Removes the bar.
  mutating func clear() {
    guard drawn != nil else { return }
    terminal.transient("\r\u{1B}[K")
    drawn = nil
  }

  /// `habit entries  ████████░░░░  12,000 of 20,000  8,100/s  1 s left`
  static func text(_ what: String, done: Int64, total: Int64, seconds: Double, width: Int) -> String {
    let share = total > 0 ? min(1, max(0, Double(done) / Double(total))) : 0
    let rate = seconds > 0.5 ? Double(done) / seconds : 0
    var tail = "  \(grouped(done)) of \(grouped(total))"
    if rate >= 1 {
      tail += "  \(grouped(Int64(rate)))/s"
      if done < total { tail += "  \(TimeText.span(Int64(Double(total - done) / rate * 1_000))) left" }
    }
    let head = printable(what) + "  "
    let room = min(30, width - 1 - head.displayWidth - tail.displayWidth)
    guard room >= 5 else { return (head + tail).cut(to: width - 1) }
    let full = Int(share * Double(room))
    return head + String(repeating: "█", count: full) + String(repeating: "░", count: room - full) + tail
  }
}

/// Returns a number with separators: `12,345`.
func grouped(_ number: Int64) -> String {
  let digits = String(number.magnitude)
  var text = ""
  for (index, digit) in digits.enumerated() {
    if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
    text.append(digit)
  }
  return number < 0 ? "-" + text : text
}

/// Returns a count with its noun: `1 trip`, `12 trips`.
func counted(_ number: Int64, _ one: String, _ many: String? = nil) -> String {
  "\(grouped(number)) \(number == 1 ? one : many ?? one + "s")"
}
