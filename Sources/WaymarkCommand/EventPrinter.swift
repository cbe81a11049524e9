import Console
import Control
import Platform
import JSONDocument
import Synchronization
import Waymark

/// Shows the events of a long command: as JSON lines, or as a progress line and notes.
final class EventPrinter: Sendable {
  private let terminal: Terminal
  private let printsJSON: Bool
  private let state: Mutex<State>

  private struct State {
    var progress: ProgressLine
    /// What the command is doing, as far as its events say.
    var activity: String?
    /// The last event that says how much is done.
    var bar: (what: String, done: Int64, total: Int64)?
    /// The stage of the last progress event.
    var stage: String?
    var skipped = MessageGroups("skipped row")
    var warnings = MessageGroups("warning")
    var isOver = false
  }

  /// - Parameter activity: what the command is doing until an event says more; nil to show no line until then.
  init(_ terminal: Terminal, printsJSON: Bool, activity: String? = nil) {
    self.terminal = terminal
    self.printsJSON = printsJSON
    state = Mutex(State(progress: ProgressLine(terminal), activity: activity))
    guard activity != nil, terminal.error.isTerminal else { return }
    startThread { [weak self] in
      sleepThread(seconds: Double(ProgressLine.appears / .milliseconds(1)) / 1_000)
      while self?.redraw() == true { sleepThread(seconds: 0.5) }
    }
  }

  /// The stage that the command has reached, as its events name it.
  var stage: String? { state.withLock { $0.stage } }

  func handle(_ event: CommandEvent) {
    state.withLock { note(event, &$0) }
    guard printsJSON, let json = try? AnswerCoding.document(event) else { return }
    terminal.data(json.text(.line))
  }

  private func note(_ event: CommandEvent, _ state: inout State) {
    switch event {
    case .progress(let progress, let file):
      state.stage = progress.stage
      let what = [progress.stage, file.map(fileName)].compactMap(\.self).joined(separator: " ")
      let (done, total) = (Int64(progress.done), Int64(progress.total))
      // A stage that does not say how far it is would show an empty bar until its end.
      state.bar = done > 0 ? (what, done, total) : nil
      state.activity = total > 1 ? "\(what): \(grouped(total))" : what
      if !printsJSON { draw(&state) }
    case .skipped(let file, let place, let reason):
      state.skipped.add("skipped: " + [file, place, reason].map(fileName).joined(separator: ": "))
    case .warning(_, let text): state.warnings.add("warning: " + text)
    case .ticket, .code, .singleAdmin: break
    }
  }

  /// Draws the line again. False once the command is over.
  private func redraw() -> Bool {
    state.withLock { state in
      guard !state.isOver else { return false }
      draw(&state)
      return true
    }
  }

  private func draw(_ state: inout State) {
    if let bar = state.bar {
      state.progress.show(bar.what, done: bar.done, total: bar.total)
    } else if let activity = state.activity {
      state.progress.show(waitingFor: activity)
    }
  }

  /// Removes the progress line and lists what was skipped and the warnings, before the answer is shown.
  func finish() {
    let lines = state.withLock { state in
      guard !state.isOver else { return [String]() }
      state.isOver = true
      return printsJSON ? [] : state.skipped.lines + state.warnings.lines
    }
    TransientLine.clear()
    for line in lines {
      for part in wrapped(printable(line), width: terminal.error.width, indent: 2) { terminal.note(part) }
    }
  }

  private func fileName(_ text: String) -> String {
    text.hasPrefix("/") ? text.split(separator: "/").last.map(String.init) ?? text : text
  }
}
