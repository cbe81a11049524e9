import ChangeHistory
import Engine
import Membership
package import Replication
import Storage
import Synchronization
import Transport
import Wire

extension Node {
  // MARK: Time and turns

  package nonisolated func wall() -> Moment { clock.wall() }

  /// Folds parked sets whose time has come: a command sees them also where no node runs.
  ///
  /// Every read comes through here, so watchers are told only if something was folded: one that was told of its own
  /// read would read again, and again.
  func foldDue() throws {
    if try replicator.foldDue(now: loop.time) { loop.afterTurn() }
  }

  // MARK: Commands

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

  /// Opens sealed keys for a command: with the passphrase that came with it, or else by asking.
  package func passphrases(_ passphrase: Passphrase?) -> PassphraseSource {
    // A node that serves can't ask: the client asks the person, and sends the command again.
    .first(passphrase, then: stopControl != nil ? .environment : home.passphrases)
  }

  /// - Parameter what: as the beginning of a sentence: "A control socket".
  /// - Throws: `WaymarkError` for a node in memory.
  package func checkHasDirectory(_ what: String) throws { _ = try home.storage.directory(for: what) }

  /// Why something failed, as a sentence for people.
  package func failure(_ error: any Error) -> WaymarkError {
    guard isLostWrite(error) else { return .reading(home, error) }
    replicator.storeFailed(error)
    return maintenance.failure ?? .reading(home, error)
  }

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

  // MARK: Work in slices

  /// Runs long reading work in slices, and begins again if change sets were removed in a break: it may remember their
  /// numbers.
  ///
  /// - Throws: `WaymarkError` with the code `busy` if that happens again and again.
  func inSlices<Result>(_ body: (Pace) async throws -> Result) async throws -> Result {
    for _ in 0..<3 {
      let removals = store.removals
      let pace = Pace {
        try self.checkOpen()
        guard self.store.removals == removals else { throw ChangeSetsRemoved() }
      }
      do { return try await body(pace) } catch is ChangeSetsRemoved {}
    }
    throw WaymarkError.failed(
      .busy, "The change history was rewritten several times while it was read.", next: "try again")
  }

  // MARK: Waiting

  /// Waits until the condition holds; false if that takes longer than the time given, or the task is cancelled.
  ///
  /// - Throws: `WaymarkError` if the node is closed, or closes while waiting.
  func wait(milliseconds: Int64, until condition: @escaping Waiters.Condition) async throws -> Bool {
    try checkOpen()
    if condition(self) { return true }
    let id = waiters.newID()
    let isMet = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(returning: false) }
        waiters.add(id, condition, continuation)
        loop.after(milliseconds: milliseconds) { $0.waiters.expire(id) }
      }
    } onCancel: { [onQueue = loop.onQueue] in
      onQueue { $0.waiters.expire(id) }
    }
    try checkOpen()
    return isMet
  }

  func evaluateWaiters() {
    loop.nodeChanged()
    var current = waiters
    let met = current.release(self)
    waiters = current
    for continuation in met { continuation.resume(returning: true) }
  }
}

/// Work in slices remembers numbers of change sets that are no longer there.
private struct ChangeSetsRemoved: Error {}
