// How work reaches the node's queue
//
// A node is an actor on a serial dispatch queue of its own (`QueueExecutor`). Its store, replica, connections and
// timers are not thread-safe: they are used on that queue only. Work arrives in three ways:
//
//   await node.save(trip)      enqueue ────────────┐
//   a link received messages   now, else onQueue ──┼──▶  node's queue ──▶ turn ──▶ afterTurn
//   a timer fires              schedule, after ────┘
//
// - Actor calls: Swift enqueues them on the executor.
// - Links call their handlers on their own threads, and the handlers hop with `onQueue`. While the node is idle, small
//   amounts of received data are handled on the link's thread with `QueueExecutor.now`, because waking another thread
//   would cost more than the work itself.
// - Timers fire on the node's queue. `schedule` keeps one timer per name, and a newer one replaces it; `after` fires
//   once. Both use the steady clock, so setting the wall clock does not move them.
//
// Closures hold the node's core weakly, through `CoreEntrance`, which traps on any other queue.
//
// A turn is one run of the replicator: inputs that came together go in, the change sets among them are stored in one
// transaction, and messages, timers and events come out through `NodeShell`. Storing peers' sets stops after
// `Limits.turnMilliseconds` and continues behind the work that is queued by then, so that commands are not starved.
// `afterTurn` notifies the watchers of `Topic.node` and resumes the waiters whose condition now holds.
//
// All work has to go through the executor, which counts it: `now` runs only while the count is zero. Work put on the
// queue uncounted could call `now`, which would then wait for the queue that it runs on.

package import Engine
import Membership
package import Replication
package import Storage
package import Transport
import Wire

/// The node's named timers.
package enum TimerName: Hashable {
  case replica(ReplicaTimer)
  case dial
  case checkpoint
  case disk
  case interfaces
  case beacons
  case codeAnnouncement
  case watch
  case storeCheck
  case renewal
}

/// A node's queue with its clocks and timers, and the replicator that runs its turns on the queue.
package final class EventLoop {
  let executor: QueueExecutor
  let clock: any NodeClock
  /// The replicator; another one after the node was suspended and has resumed.
  private(set) var replicator: Replicator
  let entrance: CoreEntrance
  var core: NodeCore? {
    get { entrance.core }
    set { entrance.core = newValue }
  }
  package var timers: Timers<TimerName>
  package var watching = WatchRegistry()

  init(_ replicator: Replicator, executor: QueueExecutor, clock: any NodeClock) {
    self.replicator = replicator
    self.executor = executor
    entrance = CoreEntrance(executor)
    self.clock = clock
    timers = Timers(executor: executor, clock: clock)
  }

  package var store: Store { replicator.store }

  var replica: Replica { replicator.replica }

  /// The circle as this node knows it.
  var circle: Circle { replicator.circle }

  /// Replaces the replicator, which is closed, by one that continues from the store.
  func reopen(_ replicator: Replicator) {
    precondition(!self.replicator.isOpen)
    self.replicator = replicator
  }

  // MARK: Turns

  /// Processes one event and its effects.
  package func handle(_ input: Input) { handle([input]) }

  /// Processes events that came together; the change sets among them share one transaction.
  func handle(_ inputs: [Input]) { turn { $0.handle(inputs, now: time) } }

  /// Runs one turn of the replicator, then resumes the waiters whose condition holds.
  package func turn(_ body: (Replicator) throws -> Void) rethrows {
    try body(replicator)
    afterTurn()
  }

  /// Notifies watchers and resumes waiters after a turn.
  package func afterTurn() { entrance.enter { $0.evaluateWaiters() } }

  /// Notifies watchers that this node, its peers or its circle may have changed.
  package func nodeChanged() { watching.changed([.node]) }

  // MARK: Time

  /// The wall clock and the steady clock, read together for the replica.
  package var time: Now { Now(wall: wall, steady: steady) }

  package var wall: Moment { clock.wall() }

  /// The monotonic clock for timeouts, in milliseconds.
  package var steady: Moment { clock.steady() }

  /// Sets the named timer, replacing an earlier one of the same name.
  package func schedule(
    _ name: TimerName, after milliseconds: Int64, _ body: @escaping @Sendable (NodeCore) -> Void
  ) {
    timers.schedule(name, after: milliseconds) { [entrance] in entrance.enter(body) }
  }

  /// Runs a closure once after a delay; it can't be replaced or cancelled.
  func after(milliseconds: Int64, _ body: @escaping @Sendable (NodeCore) -> Void) {
    timers.after(milliseconds: milliseconds) { [entrance] in entrance.enter(body) }
  }

  // MARK: Hopping to the queue

  /// Traps on any thread that is not on the node's queue.
  package func checkOnQueue() { executor.checkIsolated() }

  package typealias Hop = @Sendable (@escaping @Sendable (NodeCore) -> Void) -> Void

  /// Enqueues work behind everything that is queued; callable on any thread.
  package var onQueue: Hop {
    let (executor, entrance) = (executor, entrance)
    return { body in executor.async { entrance.enter(body) } }
  }
}

/// The way from a block on the node's queue to the node's core, which is held weakly. It may be passed between threads;
/// `enter` traps on any thread that is not on the queue.
final class CoreEntrance: @unchecked Sendable {
  private let executor: QueueExecutor
  /// Set once, before the first link or timer exists.
  fileprivate(set) weak var core: NodeCore?

  init(_ executor: QueueExecutor) { self.executor = executor }

  /// Runs a closure with the core, unless the node is gone.
  func enter(_ body: (NodeCore) -> Void) {
    executor.checkIsolated()
    if let core { body(core) }
  }
}
