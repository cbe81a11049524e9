import Engine
import JSONDocument
import Membership
import Storage
import Synchronization
import Transport
import Wire

extension Node {
  /// A command begins: the node counts as at work until `endCommand()`.
  package func beginCommand() { commandsUnderWay.add(1, ordering: .relaxed) }

  package func endCommand() { commandsUnderWay.subtract(1, ordering: .relaxed) }

  /// Folds what is due, so that a command sees it also where no node runs.
  ///
  /// - Throws: `WaymarkError` if the node is closed.
  package func readyForCommand() throws {
    try checkOpen()
    try foldDue()
  }

  /// Does something on the caller's thread; nil if the node is at work.
  package nonisolated func runNow<Result: Sendable>(_ body: @Sendable (isolated Node) -> Result) -> Result? {
    var result: Result?
    _ = executor.now { result = assumeIsolated { body($0) } }
    return result
  }

  /// Whether the node carries out a command, or takes up work within a second.
  package nonisolated var isAlive: Bool {
    commandsUnderWay.load(ordering: .relaxed) > 0
      || executor.answers(within: Int(Limits.controlLifeMilliseconds))
  }

  /// Who opens a sealed key for a command: the passphrase that came with it, else whoever may be asked.
  package func passphrases(_ passphrase: Passphrase?) -> PassphraseSource {
    // A node that serves asks nobody: whoever sent the command may be asked, and sends it again.
    .first(passphrase, then: servesCommands ? .environment : home.passphrases)
  }

  /// - Parameter what: as the beginning of a sentence: "A control socket".
  /// - Throws: `WaymarkError` for a node in memory.
  package func checkHasDirectory(_ what: String) throws { _ = try home.storage.directory(for: what) }

  /// Why something failed, as a sentence for people.
  package func failure(_ error: any Error) -> WaymarkError {
    guard isLostWrite(error) else { return .reading(home, error) }
    replicator.storeFailed(error)
    return broken ?? .reading(home, error)
  }
}

// MARK: Calls

extension Node {
  /// Does something of a typed call; whatever goes wrong is a `WaymarkError`.
  @discardableResult
  func sayingWhy<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      try checkOpen()
      try foldDue()
      return try body()
    } catch {
      throw failure(error)
    }
  }

  /// As the other one, for what takes several slices of time.
  ///
  /// - Throws: `WaymarkError`, or `CancellationError`.
  @discardableResult
  func sayingWhy<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      try checkOpen()
      try foldDue()
      return try await body()
    } catch let error as CancellationError {
      throw error
    } catch {
      throw failure(error)
    }
  }
}
