import NodeRuntime
package import Replication
import Synchronization
import Transport
import Wire

extension Node {
  package nonisolated func wall() -> Moment { clock.wall() }

  /// Marks a command as begun: the node counts as alive until the matching `endCommand()`.
  package func beginCommand() { commandsUnderWay.add(1, ordering: .relaxed) }

  package func endCommand() { commandsUnderWay.subtract(1, ordering: .relaxed) }

  /// Checks that the node is open and folds parked sets that are due.
  ///
  /// - Throws: `WaymarkError` if the node is closed.
  package func readyForCommand() throws {
    try core.checkOpen()
    try core.foldDue()
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

  /// Runs a closure on the node's queue, for callers outside of the actor.
  package func withCore<Result: Sendable>(
    _ body: @Sendable (NodeCore) async throws -> Result
  ) async rethrows -> Result {
    try await body(core)
  }

  /// Converts any error to a `WaymarkError`; see `NodeCore.failure(_:)`.
  package func failure(_ error: any Error) -> WaymarkError { core.failure(error) }
}
