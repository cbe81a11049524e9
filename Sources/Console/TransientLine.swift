import Platform
import Synchronization

/// The line on the terminal that other output replaces. There is one terminal, so there is one such line.
package enum TransientLine {
  private static let state = Mutex(State())

  private struct State {
    /// The terminal on which the line is.
    var shown: Int32?
    /// How many questions to the user are open.
    var questions = 0
  }

  /// Draws the line, unless the user is being asked something.
  static func draw(_ text: String, on terminal: Int32) {
    state.withLock { state in
      guard state.questions == 0 else { return }
      write(erased + text, to: terminal)
      state.shown = terminal
    }
  }

  /// Removes the line before something else is written.
  package static func clear() {
    state.withLock { erase(&$0) }
  }

  /// Removes the line, and keeps it away while the body asks the user something.
  package static func away<Result>(during body: () throws -> Result) rethrows -> Result {
    state.withLock { state in
      erase(&state)
      state.questions += 1
    }
    defer { state.withLock { $0.questions -= 1 } }
    return try body()
  }

  private static let erased = "\r\u{1B}[K"

  private static func erase(_ state: inout State) {
    guard let terminal = state.shown else { return }
    write(erased, to: terminal)
    state.shown = nil
  }

  /// Writes once: losing a part of this line does no harm.
  private static func write(_ text: String, to terminal: Int32) {
    _ = Array(text.utf8).withUnsafeBytes { Platform.write(terminal, $0.baseAddress, $0.count) }
  }
}
