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

  /// Folds parked sets whose time has come, so that reads see them even if this node is not serving.
  ///
  /// Every read calls this. Watchers are notified only if something was folded; otherwise a watcher's own read would
  /// wake it again, endlessly.
  func foldDue() throws {
    if try replicator.foldDue(now: loop.time) { loop.afterTurn() }
  }

  // MARK: Commands

  /// Marks a command as begun: the node counts as alive until the matching `endCommand()`.
  package func beginCommand() { commandsUnderWay.add(1, ordering: .relaxed) }

  package func endCommand() { commandsUnderWay.subtract(1, ordering: .relaxed) }

  /// Checks that the node is open and folds parked sets that are due.
  ///
  /// - Throws: `WaymarkError` if the node is closed.
  package func readyForCommand() throws {
    try checkOpen()
    try foldDue()
  }

  /// Runs a closure on the caller's thread if the node is idle. Returns nil if the node is busy.
  package nonisolated func runNow<Result: Sendable>(_ body: @Sendable (isolated Node) -> Result) -> Result? {
    var result: Result?
    _ = executor.now { result = assumeIsolated { body($0) } }
    return result
  }

  /// Whether the node is carrying out a command, or responds within a second.
  package nonisolated var isAlive: Bool {
    commandsUnderWay.load(ordering: .relaxed) > 0
      || executor.answers(within: Int(Limits.controlLifeMilliseconds))
  }

  /// Returns the source of a command's passphrase: the passphrase sent with the command or, if there is none, the
  /// configured source.
  package func passphrases(_ passphrase: Passphrase?) -> PassphraseSource {
    // A serving node can't prompt: the client prompts and sends the command again.
    .first(passphrase, then: stopControl != nil ? .environment : home.passphrases)
  }

  /// Checks that the node has a directory.
  ///
  /// - Parameter what: the subject of the error's sentence, such as "A control socket".
  /// - Throws: `WaymarkError` for an in-memory node.
  package func checkHasDirectory(_ what: String) throws { _ = try home.storage.directory(for: what) }

  /// Converts any error to a `WaymarkError`, and reports a lost write to the replicator, which may stop the node.
  package func failure(_ error: any Error) -> WaymarkError {
    guard isLostWrite(error) else { return .reading(home, error) }
    replicator.storeFailed(error)
    return maintenance.failure ?? .reading(home, error)
  }

  /// Runs the body of a public call, after the checks that all calls share, and converts its errors.
  ///
  /// - Throws: `WaymarkError`.
  @discardableResult
  func withWaymarkErrors<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      try checkOpen()
      try foldDue()
      return try body()
    } catch {
      throw failure(error)
    }
  }

  /// Does the same for calls that suspend.
  ///
  /// - Throws: `WaymarkError`, or `CancellationError`.
  @discardableResult
  func withWaymarkErrors<Result>(_ body: () async throws -> Result) async throws -> Result {
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

  /// Runs a long read in slices. If change sets were removed between slices, the read starts over, because it may have
  /// kept the numbers of those sets.
  ///
  /// - Throws: `WaymarkError` with the code `busy` after three such attempts.
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
      .busy, "The change history was rewritten several times while it was being read.", next: "try again")
  }

  // MARK: Waiting

  /// Waits until a condition holds. Returns false if the wait times out or the task is cancelled.
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

/// Change sets were removed while sliced work was suspended, so the change set numbers that the work kept may be
/// invalid.
private struct ChangeSetsRemoved: Error {}
