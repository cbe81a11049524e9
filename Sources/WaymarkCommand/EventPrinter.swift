import JSONDocument
import Synchronization
import Waymark

/// Shows what a long command says while it works: as JSON lines, or as a bar and as notes.
final class EventPrinter: Sendable {
  private let terminal: Terminal
  private let printsJSON: Bool
  private let state: Mutex<State>

  private struct State {
    var progress: ProgressLine
    var skipped = 0
  }

  /// More rows than this are counted and not listed; `--json` lists all.
  private static let skippedShownMax = 20

  init(_ terminal: Terminal, printsJSON: Bool) {
    self.terminal = terminal
    self.printsJSON = printsJSON
    state = Mutex(State(progress: ProgressLine(terminal)))
  }

  func handle(_ event: JSON) {
    if printsJSON { return terminal.data(event.text(.line)) }
    state.withLock { state in
      switch event["type"]?.string {
      case "progress":
        state.progress.show(
          what(event), done: event["done"]?.integer ?? 0, total: event["total"]?.integer ?? 0)
      case "skipped":
        state.skipped += 1
        guard state.skipped <= Self.skippedShownMax else { return }
        state.progress.clear()
        let parts = ["file", "place", "reason"].compactMap { event[$0]?.string }.map(fileName)
        terminal.note("skipped: \(printable(parts.joined(separator: ": ")))")
      // The answer lists warnings once more.
      default: break
      }
    }
  }

  /// Takes the bar away before the answer is shown.
  func finish() {
    state.withLock { state in
      state.progress.clear()
      let more = state.skipped - Self.skippedShownMax
      if more > 0 { terminal.note("skipped: \(counted(Int64(more), "more row"))") }
    }
  }

  private func what(_ event: JSON) -> String {
    [event["stage"]?.string, event["file"]?.string.map(fileName)].compactMap(\.self).joined(separator: " ")
  }

  private func fileName(_ text: String) -> String {
    text.hasPrefix("/") ? text.split(separator: "/").last.map(String.init) ?? text : text
  }
}
