import Platform
import Synchronization

/// The alternate screen of a terminal, which is redrawn in place. Leaving it restores the previous content.
package final class Screen: Sendable {
  package let isShown: Bool
  private let terminal: Terminal
  private let isThere = Mutex(false)

  package init(_ terminal: Terminal, isShown: Bool) {
    self.terminal = terminal
    self.isShown = isShown
    enter()
  }

  /// Switches to the alternate screen, hides the cursor and turns line wrapping off.
  func enter() {
    guard isShown else { return }
    isThere.withLock { isThere in
      if !isThere { terminal.raw("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[H\u{1B}[2J") }
      isThere = true
    }
  }

  /// Switches back to the normal screen; calling this again has no effect.
  package func leave() {
    isThere.withLock { isThere in
      if isThere { terminal.raw("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l") }
      isThere = false
    }
  }

  /// Overwrites the screen line by line instead of clearing it, which would flicker.
  package func draw(_ lines: [String]) {
    isThere.withLock { isThere in
      guard isThere else { return }
      let text = lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n")
      terminal.raw("\u{1B}[H" + text + "\u{1B}[J")
    }
  }
}

/// Signals from the terminal: interrupts and changes of its size.
package final class WatchSignals: Sendable {
  private let state = Mutex((isEnded: false, isResized: false))

  package init(_ screen: Screen) {
    Interrupts.handle([SIGINT, SIGTERM, SIGHUP]) { [weak self] _ in self?.state.withLock { $0.isEnded = true }
    }
    Interrupts.handle([SIGWINCH]) { [weak self] _ in self?.state.withLock { $0.isResized = true } }
    guard screen.isShown else { return }
    // Ctrl-Z restores the terminal before the process stops; after `fg` the status is drawn again.
    Interrupts.handle([SIGTSTP]) { [weak self] _ in
      screen.leave()
      kill(getpid(), SIGSTOP)
      screen.enter()
      self?.state.withLock { $0.isResized = true }
    }
  }

  package var isEnded: Bool { state.withLock { $0.isEnded } }

  package func takeResize() -> Bool {
    state.withLock { state in
      defer { state.isResized = false }
      return state.isResized
    }
  }
}
