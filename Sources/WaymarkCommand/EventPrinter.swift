import Synchronization
import Waymark

/// Shows what a long command says while it works: as JSON lines, or as a bar and as warnings.
final class EventPrinter: Sendable {
  private let terminal: Terminal
  private let printsJSON: Bool
  private let progress: Mutex<ProgressLine>

  init(_ terminal: Terminal, printsJSON: Bool) {
    self.terminal = terminal
    self.printsJSON = printsJSON
    progress = Mutex(ProgressLine(terminal))
  }

  func handle(_ event: JSON) {
    if printsJSON { return terminal.data(event.text()) }
    progress.withLock { progress in
      switch event["type"]?.string {
      case "progress":
        progress.show(
          event["what"]?.string ?? "", done: event["done"]?.integer ?? 0, total: event["total"]?.integer ?? 0)
      case "ticket":
        terminal.data(event["ticket"]?.string ?? "")
      default:
        progress.clear()
        if let text = event["text"]?.string { terminal.note(printable(text)) }
      }
    }
  }

  /// Takes the bar away before the answer is shown.
  func finish() { progress.withLock { $0.clear() } }
}
