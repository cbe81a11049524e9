/// A failure of a command or a call: what happened, to what, and what to do next.
///
/// ```swift
/// do {
///   try await node.turnSyncOn()
/// } catch let error as WaymarkError where error.code == .needsYes {
///   show(try await node.syncPreview())
/// }
/// ```
public struct WaymarkError: Error, Hashable, Sendable {
  /// The exit code of the process; see `ExitCode`.
  package let exitCode: Int32
  /// The code for programs. Each call documents the codes that it throws.
  public var code: Code { Code(rawValue: reason.rawValue) }
  /// The failure as one of all reasons, which has a clause and a remedy.
  package let reason: Reason
  /// A sentence for people, without commands of the terminal.
  public let message: LocalizableText
  /// What to do next, which may be a command of the terminal.
  package let next: Step?
  /// The name of the field or parameter whose value is not valid; nil if the error concerns no single value.
  public let field: String?
  /// The matches of an ambiguous name.
  package let candidates: [String]

  /// Creates an error with a code for programs, and a sentence and a next step for people.
  package init(
    exitCode: Int32, code: Reason, message: LocalizableText, next: Step? = nil, field: String? = nil,
    candidates: [String] = []
  ) {
    self.exitCode = exitCode
    reason = code
    self.message = message
    self.next = next
    self.field = field
    self.candidates = candidates
  }
}

extension WaymarkError: CustomStringConvertible {
  public var description: String { message.description }
}

/// The exit codes of the command line.
package enum ExitCode {
  package static let failed: Int32 = 1
  /// The request is invalid, or a name in it matches more than one thing.
  package static let usage: Int32 = 2
  /// The command needs a running node.
  package static let notRunning: Int32 = 3
  /// The command needs premium.
  package static let needsPremium: Int32 = 4
  /// Peers are not in sync.
  package static let notInSync: Int32 = 5
  /// Conflicts are waiting for a decision.
  package static let conflictsWaiting: Int32 = 6
  /// The command needs confirmation.
  package static let needsYes: Int32 = 7
  /// Nothing has the name or id in the request.
  package static let notFound: Int32 = 8
  /// The command is done, but its output could not be written.
  package static let outputLost: Int32 = 9
  /// There is no store.
  package static let noStore: Int32 = 10
  /// Another process is using the store.
  package static let storeHeld: Int32 = 11
  /// A key is missing or wrong.
  package static let badKey: Int32 = 12
  /// The command was interrupted.
  package static let interrupted: Int32 = 130
}

extension WaymarkError {
  /// Creates an error whose cause is not the command line, such as a missing file or a broken export.
  package static func failed(_ code: Reason, _ message: LocalizableText, next: Step) -> WaymarkError {
    WaymarkError(exitCode: ExitCode.failed, code: code, message: message, next: next)
  }

  /// An invalid request.
  ///
  /// - Parameter field: the field that the error concerns; nil if it concerns no single field.
  package static func usage(
    _ message: LocalizableText, field: String? = nil, next: Step? = nil
  ) -> WaymarkError {
    WaymarkError(exitCode: ExitCode.usage, code: .usage, message: message, next: next, field: field)
  }

  /// A value that is not valid for its field.
  package static func badValue(
    _ field: String, _ value: String, allowed: LocalizableText, next: Step? = nil
  ) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.usage, code: .badValue,
      message: "\(field) can't be “\(shortened(value))”: \(allowed)"
        + (allowed.description.hasSuffix("?") ? "" : "."),
      next: next, field: field)
  }

  /// A value that every record of the kind needs is missing; `message` is the whole sentence.
  package static func missingValue(_ field: String, _ message: LocalizableText, next: Step? = nil)
    -> WaymarkError
  {
    WaymarkError(exitCode: ExitCode.usage, code: .badValue, message: message, next: next, field: field)
  }

  package static func notFound(_ what: LocalizableText, _ name: String, next: Step? = nil) -> WaymarkError {
    .missing("There is no \(what) “\(shortened(name))”.", next: next)
  }

  /// Something that the request refers to does not exist; `message` is the whole sentence.
  package static func missing(
    _ message: LocalizableText, next: Step? = nil, candidates: [String] = []
  ) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.notFound, code: .notFound, message: message, next: next, candidates: candidates)
  }

  package static func ambiguous(_ what: LocalizableText, _ name: String, _ candidates: [String])
    -> WaymarkError
  {
    WaymarkError(
      exitCode: ExitCode.usage, code: .ambiguous,
      message: "“\(shortened(name))” matches more than one \(what). Type more of the name, or an id.",
      candidates: candidates)
  }

  /// A problem with the files of a node; problems with keys have an exit code of their own.
  package static func home(_ code: Reason, _ message: LocalizableText, next: Step) -> WaymarkError {
    WaymarkError(
      exitCode: code.concernsKeys ? ExitCode.badKey : ExitCode.failed, code: code, message: message,
      next: next)
  }

  /// A passphrase that does not open the key file at a path.
  package static func wrongPassphrase(_ path: String) -> WaymarkError {
    home(.wrongPassphrase, "Wrong passphrase for \(path).", next: "try again; \(waymark: "help keys")")
  }

  package static func needsYes(_ message: LocalizableText, next: Step) -> WaymarkError {
    WaymarkError(exitCode: ExitCode.needsYes, code: .needsYes, message: message, next: next)
  }
}

extension WaymarkError: Codable {
  private enum CodingKeys: String, CodingKey {
    case exitCode = "exit"
    case reason = "code"
    case message
    case next
    case field
    case candidates
  }
}

extension Reason {
  /// Whether the failure is about a key file or its passphrase.
  package var concernsKeys: Bool {
    switch self {
    case .keyMissing, .keyNotHere, .keyStoreFailed, .keyDamaged, .keyExposed, .passphraseNeeded,
      .wrongPassphrase, .badPassphrase:
      true
    default: false
    }
  }
}
