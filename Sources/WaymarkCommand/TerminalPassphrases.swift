import Console
import Platform
import Reasons
import Synchronization
import Waymark

/// Gets passphrases from the file that the environment names, or else from the person at the terminal. A typed
/// passphrase is also tried on the next key files before the person is asked again.
final class TerminalPassphrases: Sendable {
  private let terminal: Terminal
  private let state = Mutex(State())
  /// The file that a flag of the command names, else the one that the environment names.
  private let file: String?

  private struct State {
    /// The last passphrase that was given.
    var known: Passphrase?
    /// How many times the person was asked about the file that is being opened.
    var asked = 0
  }

  private static let attemptsMax = 3

  init(_ terminal: Terminal, file: String? = nil) {
    self.terminal = terminal
    self.file = file ?? PassphraseSource.environmentFile
  }

  var source: PassphraseSource { PassphraseSource { [self] in try give(for: $0, attempt: $1) } }

  private func give(for path: String, attempt: Int) throws -> Passphrase? {
    if attempt == 0 {
      let known = state.withLock { state in
        state.asked = 0
        return state.known
      }
      if let known { return known }
    }
    if let file { return attempt == 0 ? keep(try Passphrase(file: file, isNew: false)) : nil }
    while terminal.canAsk, let asked = nextAttempt() {
      if asked > 1 { terminal.note("Wrong passphrase. Try again.") }
      do {
        return keep(try terminal.passphrase("Passphrase of \(printable(path)): "))
      } catch let error as WaymarkError where error.reason == .badPassphrase {
        // Too short or too long, so it opens no key.
      }
    }
    guard attempt == 0, terminal.canAsk else { return nil }
    // No attempt could be tried on the key.
    throw WaymarkError.wrongPassphrase(path)
  }

  /// The number of the next attempt with the present file; nil if there is none left.
  private func nextAttempt() -> Int? {
    state.withLock { state in
      state.asked += 1
      return state.asked <= Self.attemptsMax ? state.asked : nil
    }
  }

  private func keep(_ passphrase: Passphrase) -> Passphrase {
    state.withLock { $0.known = passphrase }
    return passphrase
  }

  /// Returns a new passphrase: from the file if one is named, else typed twice.
  func new() throws -> Passphrase {
    if let file { return try Passphrase(file: file) }
    guard terminal.canAsk else {
      throw WaymarkError(
        exitCode: ExitCode.needsYes, code: .needsTerminal,
        message: "There is no terminal to ask for a new passphrase.",
        next:
          "name a file that holds it: \(waymark: "keys passphrase set --file FILE"), or - for standard input")
    }
    let first = try terminal.passphrase("New passphrase: ")
    guard try terminal.passphrase("Repeat it: ") == first else {
      throw WaymarkError(
        exitCode: ExitCode.usage, code: .passphrasesDiffer,
        message: "The passphrases differ; nothing was changed.", next: .waymark("keys passphrase set"))
    }
    return first
  }
}

extension Terminal {
  /// Asks for a passphrase without showing it.
  fileprivate func passphrase(_ question: String) throws -> Passphrase {
    do {
      return try hiddenLine(question) { try Passphrase(&$0) }
    } catch HiddenLineError.noTerminal {
      throw WaymarkError(
        exitCode: ExitCode.failed, code: .terminal,
        message: "The terminal can't be used to ask for a passphrase.",
        next: "run it again with WAYMARK_PASSPHRASE_FILE=FILE; \(waymark: "help keys")")
    } catch HiddenLineError.givenUp {
      throw WaymarkError(
        exitCode: ExitCode.interrupted, code: .interrupted, message: "No passphrase was given.",
        next: "run it again; \(waymark: "help keys")")
    }
  }
}
