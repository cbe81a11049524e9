import Platform

/// Why no line was typed.
package enum HiddenLineError: Error {
  /// Standard input is not a terminal.
  case noTerminal
  /// The user pressed Ctrl-C or Ctrl-\, or the input ended.
  case givenUp
}

extension Terminal {
  /// Asks for a line that is not shown, such as a passphrase.
  ///
  /// Reads key by key, Ctrl-C included, so that the terminal is restored however the prompt ends.
  ///
  /// - Parameter take: receives the typed bytes and must wipe them.
  package func hiddenLine<Result>(
    _ question: String, _ take: (inout [UInt8]) throws -> Result
  ) throws -> Result {
    var before = termios()
    guard tcgetattr(STDIN_FILENO, &before) == 0 else { throw HiddenLineError.noTerminal }
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
      return try TransientLine.away { try typedLine(take) }
    }
  }

  private func typedLine<Result>(_ take: (inout [UInt8]) throws -> Result) throws -> Result {
    var typed = TypedLine()
    while true {
      var key: UInt8 = 0
      let count = read(STDIN_FILENO, &key, 1)
      if count < 0, errno == EINTR { continue }
      switch count == 1 ? typed.take(key) : .givenUp {
      case .more: continue
      case .done: return try take(&typed.bytes)
      case .givenUp:
        typed.clear()
        throw HiddenLineError.givenUp
      }
    }
  }
}

/// A line that is being typed; handles the keys that correct it.
package struct TypedLine {
  /// The typed bytes. The caller must wipe them after use.
  package var bytes: [UInt8] = []

  /// What follows from a typed byte.
  package enum Progress: Equatable {
    case more
    case done
    case givenUp
  }

  /// The maximum length of a line; more bytes are ignored.
  package static let bytesMax = 4_096

  /// Reserves all memory at the start, because a growing array would leave copies behind.
  package init() { bytes.reserveCapacity(Self.bytesMax) }

  /// Overwrites and removes all bytes.
  package mutating func clear() { removeLast(bytes.count) }

  /// Handles one typed byte.
  package mutating func take(_ key: UInt8) -> Progress {
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
