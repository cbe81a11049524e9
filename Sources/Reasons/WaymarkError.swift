/// Why something was not done: what happened, to what, and what to do next.
///
/// ```swift
/// do {
///   try await node.turnSyncOn()
/// } catch let error as WaymarkError where error.code == .needsYes {
///   show(try await node.syncPreview())
/// }
/// ```
public struct WaymarkError: Error, Hashable, Sendable {
  /// What the process ends with; see `ExitCode`.
  package let exitCode: Int32
  /// What programs go by.
  ///
  /// Of what a person enters: `badValue` for a value that a field can't hold, `usage` for what makes no sense (a record
  /// without what it needs, another None), `notFound`, `inUse`, `ambiguous`. Of premium: `freeTier`,
  /// `entitlementExpired`, `entitlementNotYetValid`, `needsYes`. Of the node: `closed`, `storeHeld`, `diskFull`,
  /// `storeBroken`, `notRunning` where it would have to serve. Each call names what is its own.
  public let code: Reason
  /// A sentence for people.
  public let message: String
  /// What to do next, for whoever reads a log: often a command of `waymark`. An app shows its own step.
  public let next: Step?
  /// What an ambiguous name could have meant.
  package let candidates: [String]

  /// An error with a code for programs, a sentence and a next step for people.
  package init(
    exitCode: Int32, code: Reason, message: String, next: Step? = nil, candidates: [String] = []
  ) {
    self.exitCode = exitCode
    self.code = code
    self.message = message
    self.next = next
    self.candidates = candidates
  }
}

extension WaymarkError: CustomStringConvertible {
  public var description: String { message }
}

/// What a process ends with.
package enum ExitCode {
  /// It failed.
  package static let failed: Int32 = 1
  /// What was asked makes no sense, or means several things.
  package static let usage: Int32 = 2
  /// It needs a running node.
  package static let notRunning: Int32 = 3
  /// It needs premium.
  package static let needsPremium: Int32 = 4
  /// Peers are not in sync.
  package static let notInSync: Int32 = 5
  /// Conflicts wait to be decided.
  package static let conflictsWaiting: Int32 = 6
  /// It needs a yes.
  package static let needsYes: Int32 = 7
  /// It is done, and only its output could not be written.
  package static let outputLost: Int32 = 9
  /// There is no store.
  package static let noStore: Int32 = 10
  /// Another process has the store.
  package static let storeHeld: Int32 = 11
  /// A key is missing or wrong.
  package static let badKey: Int32 = 12
  /// Somebody has interrupted it.
  package static let interrupted: Int32 = 130
}

extension WaymarkError {
  /// Something in the world went against it: a file that is not there, a broken export.
  package static func failed(_ code: Reason, _ message: String, next: Step) -> WaymarkError {
    WaymarkError(exitCode: ExitCode.failed, code: code, message: message, next: next)
  }

  /// What was typed is not a command that makes sense.
  package static func usage(_ message: String, next: Step? = nil) -> WaymarkError {
    WaymarkError(exitCode: ExitCode.usage, code: .usage, message: message, next: next)
  }

  /// A value that a field can't hold.
  package static func badValue(
    _ field: String, _ value: String, allowed: String
  ) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.usage, code: .badValue,
      message: "\(field) can't be “\(shortened(value))”: \(allowed).")
  }

  package static func notFound(_ what: String, _ name: String, next: Step? = nil) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.usage, code: .notFound, message: "There is no \(what) “\(shortened(name))”.",
      next: next)
  }

  package static func ambiguous(_ what: String, _ name: String, _ candidates: [String]) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.usage, code: .ambiguous,
      message: "“\(shortened(name))” could be more than one \(what). Type more of the name, or an id.",
      candidates: candidates)
  }

  /// What is wrong with the files of a node; what is wrong with a key has an exit code of its own.
  package static func home(_ code: Reason, _ message: String, next: Step) -> WaymarkError {
    WaymarkError(
      exitCode: code.concernsKeys ? ExitCode.badKey : ExitCode.failed, code: code, message: message,
      next: next)
  }

  package static func needsYes(_ message: String, next: Step) -> WaymarkError {
    WaymarkError(exitCode: ExitCode.needsYes, code: .needsYes, message: message, next: next)
  }
}

extension WaymarkError: Codable {
  private enum CodingKeys: String, CodingKey {
    case exitCode = "exit"
    case code
    case message
    case next
    case candidates
  }
}

extension Reason {
  /// Whether it is a key that can't be had.
  package var concernsKeys: Bool {
    switch self {
    case .keyMissing, .keyDamaged, .keyExposed, .passphraseNeeded, .wrongPassphrase, .badPassphrase: true
    default: false
    }
  }
}
