import Control
import JSONDocument
import Synchronization
import Waymark

/// Shows the events of a long command: as JSON lines, or as a progress bar and notes.
final class EventPrinter: Sendable {
  private let terminal: Terminal
  private let printsJSON: Bool
  private let state: Mutex<State>

  private struct State {
    var progress: ProgressLine
    var skipped = 0
  }

  /// How many skipped rows are listed; any more are only counted. `--json` lists all.
  private static let skippedShownMax = 20

  init(_ terminal: Terminal, printsJSON: Bool) {
    self.terminal = terminal
    self.printsJSON = printsJSON
    state = Mutex(State(progress: ProgressLine(terminal)))
  }

  func handle(_ event: CommandEvent) {
    if printsJSON {
      guard let json = try? AnswerCoding.document(event) else { return }
      return terminal.data(json.text(.line))
    }
    state.withLock { state in
      switch event {
      case .progress(let progress, let file):
        let what = [progress.stage, file.map(fileName)].compactMap(\.self).joined(separator: " ")
        state.progress.show(what, done: Int64(progress.done), total: Int64(progress.total))
      case .skipped(let file, let place, let reason):
        state.skipped += 1
        guard state.skipped <= Self.skippedShownMax else { return }
        state.progress.clear()
        let parts = [file, place, reason].map(fileName)
        terminal.note("skipped: \(printable(parts.joined(separator: ": ")))")
      // Warnings are shown with the answer, which repeats them.
      case .warning, .ticket, .code, .singleAdmin: break
      }
    }
  }

  /// Removes the progress bar before the answer is shown.
  func finish() {
    state.withLock { state in
      state.progress.clear()
      let more = state.skipped - Self.skippedShownMax
      if more > 0 { terminal.note("skipped: \(counted(Int64(more), "more row"))") }
    }
  }

  private func fileName(_ text: String) -> String {
    text.hasPrefix("/") ? text.split(separator: "/").last.map(String.init) ?? text : text
  }
}
