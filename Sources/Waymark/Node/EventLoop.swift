import Engine
import Membership
import Replication
import Storage
import Transport
import Wire

/// What a node is called back for.
enum TimerName: Hashable {
  case replica(ReplicaTimer)
  case dial
  case checkpoint
  case disk
  case interfaces
  case beacons
  case watch
  case storeCheck
}

/// A node's queue with its clocks and timers, and the replicator, which takes its turns on it.
///
/// Everything below a node is used on this queue alone. Work that begins elsewhere, on a link's queue or when a timer
/// rings, comes back to it through `onQueue`, `schedule` and `after`.
final class EventLoop {
  let executor: QueueExecutor
  let clock: any NodeClock
  let replicator: Replicator
  weak var node: Node?
  var timers: Timers<TimerName>
  var watching = WatchRegistry()

  init(_ replicator: Replicator, executor: QueueExecutor, clock: any NodeClock) {
    self.replicator = replicator
    self.executor = executor
    self.clock = clock
    timers = Timers(executor: executor, clock: clock)
  }

  var store: Store { replicator.store }

  var replica: Replica { replicator.replica }

  /// The circle as this node knows it.
  var circle: Circle { replicator.circle }

  // MARK: Turns

  /// Processes one event and its effects.
  func handle(_ input: Input) { handle([input]) }

  /// Processes events that came together: the change sets among them share one transaction.
  func handle(_ inputs: [Input]) { turn { $0.handle(inputs, now: time) } }

  /// Runs something on the replicator, then resumes what was waiting for its outcome.
  func turn(_ body: (Replicator) throws -> Void) rethrows {
    try body(replicator)
    afterTurn()
  }

  func afterTurn() { onNode { $0.evaluateWaiters() } }

  /// Tells watchers that something about this node, its peers or its circle may have changed.
  func nodeChanged() { watching.changed([.node]) }

  // MARK: Time

  /// Both clocks, as the replica takes them.
  var time: Now { Now(wall: wall, steady: steady) }

  var wall: Moment { clock.wall() }

  /// The clock that timeouts are measured with.
  var steady: Moment { clock.steady() }

  /// Calls back after so many milliseconds; a newer timer of the same name replaces an older one.
  func schedule(
    _ name: TimerName, after milliseconds: Int64, _ body: @escaping @Sendable (isolated Node) -> Void
  ) {
    timers.schedule(name, after: milliseconds) { [weak node] in node?.assumeIsolated(body) }
  }

  /// Calls back once; nothing replaces it.
  func after(milliseconds: Int64, _ body: @escaping @Sendable (isolated Node) -> Void) {
    timers.after(milliseconds: milliseconds) { [weak node] in node?.assumeIsolated(body) }
  }

  // MARK: Getting to the queue

  typealias Hop = @Sendable (@escaping @Sendable (isolated Node) -> Void) -> Void

  /// Puts work behind everything that waits on the queue; callable on any thread.
  var onQueue: Hop {
    let executor = executor
    return { [weak node] body in executor.async { node?.assumeIsolated(body) } }
  }

  /// Does something with the node, on whose queue this is.
  func onNode(_ body: (isolated Node) -> Void) { node?.assumeIsolated(body) }
}
