// The parts of a node and the rules that its calls share
//
// A node is an actor, `Node`, around a `NodeCore`. The core holds the node's parts and the rules that every call obeys:
// what is checked before a write, how an error becomes one that a person can act on, how long reads yield to other
// work. Nothing in the core is thread-safe: it is used on the node's queue only. The actor guards it; links and timers
// reach it through `CoreEntrance`.
//
// The types of the module NodeOperations carry out requests. Each takes the core. Their async methods run on the
// caller's queue (`NonisolatedNonsendingByDefault`), and call `checkOpen()` after each suspension. A closure that is
// passed to an async function of the standard library does not stay there by itself: it has to capture the actor, as in
// `wait`.

package import ChangeHistory
package import Engine
import Enrolment
package import FileStore
package import Home
package import Membership
package import Reasons
package import Replication
import Sodium
package import Storage
package import Transport
import Wire

/// The parts of a node, and the rules that its calls share.
package final class NodeCore {
  package let home: Home
  package let identity: Identity
  let environment: NodeEnvironment
  package let clock: any NodeClock
  package let logger: NodeLog
  package let loop: EventLoop
  package let connections: Connections
  package let maintenance: StoreMaintenance
  package let shell: NodeShell
  /// Where records are read next to the node's queue; nil for a node in memory, which has one connection only.
  package let readQueue: ReadQueue?
  package let countedOperation = CountedOperation()
  package var waiters = Waiters()
  package var renewal: PremiumRenewal
  /// Whether this device turns sync on when another device invites it to.
  package var followsInvitations = false
  /// The operations that are adding files.
  package var additions: [FileAddition] = []
  /// Whether commands come from other processes, for which this one can't prompt.
  package var answersCommands = false
  /// How to resume; nil unless the node is suspended. See NodeCore+Suspension.swift.
  var suspension: Suspension?
  /// How the node served before it was suspended, until it serves again; nil otherwise.
  var unresumedServing: FormerServing?
  /// The store that was closed last; nil once nothing uses it.
  weak var released: Store?
  /// The number of calls that have begun and wait for something, such as work on another queue.
  private(set) var callsUnderWay = 0
  /// The number of attempts to resume that are under way.
  package internal(set) var resumesUnderWay = 0
  /// How often the store was opened. Work that keeps numbers of change sets starts over when this has changed.
  var openings = 0
  /// How often the node was suspended.
  package internal(set) var suspensions = 0

  /// - Parameter passphrase: the passphrase that opened the keys; nil if they are plain.
  package init(
    home: Home, identity: Identity, passphrase: Passphrase?, store: sending Store,
    in environment: NodeEnvironment,
    executor: QueueExecutor, log: NodeLog
  ) throws {
    self.home = home
    self.identity = identity
    self.environment = environment
    self.logger = log
    renewal = PremiumRenewal(passphrase: passphrase)
    clock = environment.clock
    let stored = try Self.state(of: store, home, environment)
    let waiting = try stored.admission(of: identity, in: home)
    let remembered = try PeerHistory(store)
    readQueue = store.path.map {
      ReadQueue(path: $0, on: environment.executor(label: "waymark.read"))
    }
    let replicator = try Self.replicator(store, stored, home, identity, clock)
    loop = EventLoop(replicator, executor: executor, clock: clock)
    maintenance = StoreMaintenance(loop, home: home, log: log)
    connections = try Connections(
      loop, maintenance, identity: identity, waiting: waiting, transport: environment.transport, log: log,
      paused: stored.pausedPeers, remembered: remembered)
    shell = NodeShell(
      loop, connections, maintenance, files: environment.executor(label: "waymark.files"), log: log)
    replicator.shell = shell
    loop.core = self
  }

  static func state(
    of store: Store, _ home: Home, _ environment: NodeEnvironment
  ) throws -> StoredState {
    try StoredState(store, environment.purchases ?? home.purchases)
  }

  static func replicator(
    _ store: Store, _ stored: StoredState, _ home: Home, _ identity: Identity, _ clock: any NodeClock
  ) throws -> Replicator {
    try Replicator(
      store: store, circle: stored.circle, signing: identity.signing, preference: stored.preference,
      localPremium: stored.localPremium, place: home.storage.incarnation, now: clock.wall(),
      seed: randomSeed(), random16: random16)
  }

  package var replicator: Replicator { loop.replicator }

  package var store: Store { loop.store }

  package var replica: Replica { loop.replica }

  /// The circle as this node knows it.
  package var circle: Circle { loop.circle }

  package func wall() -> Moment { clock.wall() }

  /// Returns an inspection of the node at this moment.
  package func inspection() -> NodeInspection { NodeInspection(of: self, now: wall()) }

  /// Disconnects, ends all waits and watches, and closes the store.
  package func close() {
    answersCommands = false
    suspension = nil
    if replicator.isOpen {
      connections.remember()
      connections.stop()
      closeStore()
    }
    loop.watching.cancelAll()
  }

  /// Ends all work on the store, and closes it.
  func closeStore() {
    loop.timers.cancelAll()
    waiters.endAll()
    for addition in additions { addition.end() }
    readQueue?.close()
    // Checkpoints now, so that the next start has nothing to do.
    if maintenance.failure == nil { maintenance.restBeforeClosing() }
    replicator.close()
    shell.endFiles()
  }

  // MARK: Calls

  /// Checks that the node is open and its store usable. Call this again after each `await`, because the node may have
  /// closed in the meantime.
  ///
  /// - Throws: `WaymarkError` if the node is closed or suspended, or its disk has failed.
  package func checkOpen() throws {
    guard replicator.isOpen else { throw isSuspended ? WaymarkError.suspended : .closed }
    if let failure = maintenance.failure { throw failure }
  }

  /// Folds parked sets whose time has come, so that reads see them even if this node is not serving.
  ///
  /// Every read calls this. Watchers are notified only if something was folded; otherwise a watcher's own read would
  /// wake it again, endlessly.
  package func foldDue() throws {
    if try replicator.foldDue(now: loop.time) { loop.afterTurn() }
  }

  /// Converts any error to a `WaymarkError`, and reports a lost write to the replicator, which may stop the node.
  package func failure(_ error: any Error) -> WaymarkError {
    // The store of a node that is suspended or closed is not concerned.
    guard replicator.isOpen, isLostWrite(error) else { return .reading(home, error) }
    replicator.storeFailed(error)
    return maintenance.failure ?? .reading(home, error)
  }

  /// Runs the body of a public call, after the checks that all calls share, and converts its errors.
  ///
  /// - Throws: `WaymarkError`.
  @discardableResult
  package func withWaymarkErrors<Result>(_ body: () throws -> Result) throws -> Result {
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
  package func withWaymarkErrors<Result>(_ body: () async throws -> Result) async throws -> Result {
    callsUnderWay += 1
    defer { callsUnderWay -= 1 }
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

  /// Returns the source of a command's passphrase: the passphrase sent with the command or, if there is none, the
  /// configured source.
  package func passphrases(_ passphrase: Passphrase?) -> PassphraseSource {
    // A serving node can't prompt: the client prompts and sends the command again.
    .first(passphrase, then: answersCommands ? .environment : home.passphrases)
  }

  /// Checks that the node has a directory.
  ///
  /// - Parameter what: the subject of the error's sentence, such as "A control socket".
  /// - Throws: `WaymarkError` for an in-memory node.
  package func checkHasDirectory(_ what: String) throws { _ = try home.storage.directory(for: what) }

  // MARK: Work in slices

  /// Runs a long read in slices. If change sets were removed between slices, the read starts over, because it may have
  /// kept the numbers of those sets.
  ///
  /// - Throws: `WaymarkError` with the code `busy` after three such attempts.
  package func inSlices<Result>(_ body: (Pace) async throws -> Result) async throws -> Result {
    for _ in 0..<3 {
      try checkOpen()
      let (removals, openings) = (store.removals, openings)
      let pace = Pace(steady: clock.steady) {
        try self.checkOpen()
        // While the node was suspended, another process may have removed change sets.
        guard self.store.removals == removals, self.openings == openings else { throw ChangeSetsRemoved() }
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
  package func wait(
    milliseconds: Int64, isolation: isolated (any Actor)? = #isolation,
    until condition: @escaping Waiters.Condition
  ) async throws -> Bool {
    try checkOpen()
    if condition(self) { return true }
    let id = waiters.newID()
    let isMet = await withTaskCancellationHandler {
      // The closure captures the actor to stay on the node's queue: the parameter of the standard library does not
      // inherit the caller's isolation.
      _ = isolation
      return await withCheckedContinuation { continuation in
        loop.checkOnQueue()
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

  /// Notifies watchers, and resumes the waiters whose condition holds.
  package func evaluateWaiters() {
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
