public import Wire

/// Why a command did not do what was asked: what happened, to what, and what to type next.
public struct WaymarkError: Error, Hashable, Sendable {
  /// What the process ends with; see `ExitCode`.
  public let exitCode: Int32
  /// A word for programs: `ambiguous`, `needs_premium`.
  public let code: String
  /// A sentence for people.
  public let message: String
  /// The command to type next, if there is one.
  public let next: String?
  /// What an ambiguous name could have meant.
  public let candidates: [String]

  /// An error with a word for programs, a sentence and a next step for people.
  public init(
    exitCode: Int32, code: String, message: String, next: String? = nil, candidates: [String] = []
  ) {
    self.exitCode = exitCode
    self.code = code
    self.message = message
    self.next = next
    self.candidates = candidates
  }
}

/// What a process ends with.
public enum ExitCode {
  /// It failed.
  public static let failed: Int32 = 1
  /// What was asked makes no sense, or means several things.
  public static let usage: Int32 = 2
  /// It needs a running node.
  public static let notRunning: Int32 = 3
  /// It needs premium.
  public static let needsPremium: Int32 = 4
  /// Peers are not in sync.
  public static let notInSync: Int32 = 5
  /// Conflicts wait to be decided.
  public static let conflictsWaiting: Int32 = 6
  /// It needs a yes.
  public static let needsYes: Int32 = 7
  /// There is no store.
  public static let noStore: Int32 = 10
  /// Another process has the store.
  public static let storeHeld: Int32 = 11
  /// A key is missing or wrong.
  public static let badKey: Int32 = 12
  /// Somebody has interrupted it.
  public static let interrupted: Int32 = 130
}

extension WaymarkError {
  /// Something in the world went against it: a file that is not there, a broken export.
  package static func failed(_ code: String, _ message: String, next: String) -> WaymarkError {
    WaymarkError(exitCode: ExitCode.failed, code: code, message: message, next: next)
  }

  /// What was typed is not a command that makes sense.
  static func usage(_ message: String, next: String? = nil) -> WaymarkError {
    WaymarkError(exitCode: ExitCode.usage, code: "usage", message: message, next: next)
  }

  /// A value that a field can't hold.
  static func badValue(
    _ field: String, _ value: String, allowed: String
  ) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.usage, code: "bad_value",
      message: "\(field) can't be “\(shortened(value))”: \(allowed).")
  }

  static func notFound(_ what: String, _ name: String, next: String? = nil) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.usage, code: "not_found", message: "There is no \(what) “\(shortened(name))”.",
      next: next)
  }

  static func ambiguous(_ what: String, _ name: String, _ candidates: [String]) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.usage, code: "ambiguous",
      message: "“\(shortened(name))” could be more than one \(what). Type more of the name, or an id.",
      candidates: candidates)
  }

  static func needsYes(_ message: String, next: String) -> WaymarkError {
    WaymarkError(exitCode: ExitCode.needsYes, code: "needs_yes", message: message, next: next)
  }
}

extension WaymarkError {
  /// What is wrong with the files of a node, with the exit code of its kind.
  public init(_ error: HomeError) {
    self.init(
      exitCode: error.code.concernsKeys ? ExitCode.badKey : ExitCode.failed, code: error.code.rawValue,
      message: error.message, next: error.next)
  }
}

/// The value as a message shows it: one line, not longer than a terminal takes.
func shortened(_ text: String) -> String {
  let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
  return line.count <= 60 ? line : line.prefix(59) + "…"
}

// MARK: As it crosses the control socket

extension WaymarkError {
  /// The error line of the control socket.
  public var json: JSON {
    [
      "type": "error", "exit": .integer(exitCode), "code": .string(code), "message": .string(message),
      "next": .text(next), "candidates": .array(candidates.map(JSON.string)),
    ]
  }

  /// Reads an error line; nil if it is not one.
  public init?(json: JSON) {
    guard json["type"]?.string == "error", let exit = json["exit"]?.integer,
      let exitCode = Int32(exactly: exit), let message = json["message"]?.string
    else { return nil }
    self.init(
      exitCode: exitCode, code: json["code"]?.string ?? "failed", message: message,
      next: json["next"]?.string, candidates: json["candidates"]?.array?.compactMap(\.string) ?? [])
  }
}

extension String {
  var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
