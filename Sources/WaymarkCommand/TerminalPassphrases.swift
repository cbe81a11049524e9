import Foundation
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
    let asked = state.withLock { state in
      state.asked += 1
      return state.asked
    }
    guard terminal.canAsk, asked <= Self.attemptsMax else { return nil }
    if asked > 1 { terminal.note("Wrong passphrase. Try again.") }
    return keep(try terminal.passphrase("Passphrase of \(printable(path)): "))
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
  ///
  /// Reads key by key, Ctrl-C included, so that the terminal is restored however the prompt ends.
  func passphrase(_ question: String) throws -> Passphrase {
    var before = termios()
    guard tcgetattr(STDIN_FILENO, &before) == 0 else {
      throw WaymarkError(
        exitCode: ExitCode.failed, code: .terminal,
        message: "The terminal can't be used to ask for a passphrase.",
        next: "run it again with WAYMARK_PASSPHRASE_FILE=FILE; \(waymark: "help keys")")
    }
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | ISIG)
    let asItWas = before
    return try Interrupts.cleaningUp {
      var before = asItWas
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
    } during: {
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
      transient(question)
      defer {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
        transient("\n")
      }
      return try TransientLine.away { try typedPassphrase() }
    }
  }

  private func typedPassphrase() throws -> Passphrase {
    var typed = TypedLine()
    while true {
      var key: UInt8 = 0
      let count = read(STDIN_FILENO, &key, 1)
      if count < 0, errno == EINTR { continue }
      switch count == 1 ? typed.take(key) : .givenUp {
      case .more: continue
      case .done: return try Passphrase(&typed.bytes)
      case .givenUp:
        throw WaymarkError(
          exitCode: ExitCode.interrupted, code: .interrupted, message: "No passphrase was given.",
          next: "run it again; \(waymark: "help keys")")
      }
    }
  }
}

/// A line that is being typed; handles the keys that correct it.
struct TypedLine {
  /// The typed bytes. The caller must wipe them after use.
  var bytes: [UInt8] = []

  enum Progress: Equatable {
    case more
    case done
    case givenUp
  }

  static let bytesMax = 4_096

  /// Reserves all memory at the start, because a growing array would leave copies behind.
  init() { bytes.reserveCapacity(Self.bytesMax) }

  mutating func take(_ key: UInt8) -> Progress {
    switch key {
    case 0x0a, 0x0d: return .done
    // Ctrl-C and Ctrl-\ give up; so does Ctrl-D where nothing has been typed.
    case 0x03, 0x1c: return .givenUp
    case 0x04: return bytes.isEmpty ? .givenUp : .done
    case 0x15: removeLast(bytes.count)
    case 0x08, 0x7f:
      let tail = bytes.reversed().prefix { $0 & 0xc0 == 0x80 }.count
      removeLast(min(bytes.count, tail + 1))
    default: if bytes.count < Self.bytesMax { bytes.append(key) }
    }
    return .more
  }

  private mutating func removeLast(_ count: Int) {
    for _ in 0..<count {
      bytes[bytes.count - 1] = 0
      bytes.removeLast()
    }
  }
}
