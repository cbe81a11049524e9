import Platform

/// A line on the terminal that shows what a command is waiting for. It appears after a second and disappears before
/// anything else is written; a pipe or a file never receives it.
package struct ProgressLine {
  private let terminal: Terminal
  private let began: ContinuousClock.Instant
  private var drawn: ContinuousClock.Instant?

  /// How long a command may take before the line appears.
  package static let appears = Duration.seconds(1)
  private static let redrawn = Duration.milliseconds(100)

  package init(_ terminal: Terminal, began: ContinuousClock.Instant = .now) {
    self.terminal = terminal
    self.began = began
  }

  /// Draws a bar with the amount done, the speed and the remaining time.
  package mutating func show(_ what: String, done: Int64, total: Int64) {
    draw { seconds, width in Self.text(what, done: done, total: total, seconds: seconds, width: width) }
  }

  /// Draws how long the command has been waiting.
  package mutating func show(waitingFor what: String) {
    draw { seconds, width in Self.text(waitingFor: what, seconds: seconds, width: width) }
  }

  private mutating func draw(_ text: (_ seconds: Double, _ width: Int) -> String) {
    let now = ContinuousClock.now
    guard terminal.error.isTerminal, now - began >= Self.appears else { return }
    if let drawn, now - drawn < Self.redrawn { return }
    drawn = now
    let seconds = Double((now - began) / .milliseconds(1)) / 1_000
    TransientLine.draw(text(seconds, terminal.error.width), on: terminal.error.descriptor)
  }

  /// `Waiting for the inviting device  12 s`
  package static func text(waitingFor what: String, seconds: Double, width: Int) -> String {
    "\(printable(what))  \(TimeText.span(Int64(seconds) * 1_000))".cut(to: width - 1)
  }

  /// `habit entries  ████████░░░░  12,000 of 20,000  8,100/s  1 s left`
  package static func text(_ what: String, done: Int64, total: Int64, seconds: Double, width: Int) -> String {
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
