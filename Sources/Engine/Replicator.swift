// Protocol/session.md, Protocol/change-set.md
//
// One turn of a node. Inputs go to the replica, which decides what to do and returns effects. The replicator carries
// out the effects on the store or hands them to its shell, and passes the results back to the replica as further
// inputs:
//
//     input ──▶ Replica.handle ──effects──▶ Replicator.perform ──▶ shell: send, close, schedule, note
//                    ▲                              │
//                    └──committed, served, … ◀── store: commit, serve, foldParked, …
//
// For example, a peer's message with two change sets:
//
//     handle(.received(link, message))     the replica verifies the sets and returns Effect.commit(sets, from: link)
//     keep, store.commit                   one transaction, to which the shell's `noting` adds; then `didCommit`
//     replica.handle(.committed(…))        the heads have moved: effects to announce them to other peers, and a timer
//     shell.send, shell.schedule           no further inputs: the turn ends
//
// - The replica does no I/O and reads no clock, so the simulator can run the same code in a simulated world.
// - Effects are carried out in order, except commits: all received sets of a round are stored last, in one transaction.
// - Storing received sets has a time limit per turn. After each set, the shell's function from `beginPiece` says
//   whether the time is used up. The remaining sets stay in `waiting` until the shell calls `goOn`, and the links take
//   turns. Without the limit, one peer with expensive sets would delay commands and other peers.
// - Turns nest, because a callback of the shell may lead to another input. Only the outermost turn ends with
//   `finishOverride`.
// - A failed transaction changes nothing. Sets received from peers are dropped and requested again later. `DiskState`
//   decides whether the store may still be written to.

package import FileFormat
package import FileStore
package import LogStorage
package import Membership
package import RecordTables
package import Replication
package import Sodium
package import Storage
package import Wire

/// A replica together with its store. It performs the effects that concern the store and hands all others to its shell.
///
/// The node drives the replicator with sockets and a clock; the simulator drives it with a simulated world. Time and
/// randomness are arguments. Like the store, a replicator is synchronous and not thread-safe.
package final class Replicator {
  package let device: DeviceKey
  package internal(set) var replica: Replica
  let signing: SigningKey
  let place: any IncarnationStorage
  /// Returns sixteen random bytes, which are assumed to be unique.
  let random16: () -> Bytes16
  /// The store; nil once the replicator is closed.
  private var opened: Store?
  package weak var shell: (any ReplicatorShell)?
  /// The incarnation under which this data directory writes. A new one begins if another directory may be writing under
  /// the same incarnation.
  package internal(set) var incarnation: Incarnation
  /// Whether this device can't write any more: its incarnation must not be continued, and it may not begin another.
  package internal(set) var isSpent: Bool
  /// The sets of this device's own logs that have been sent to no peer.
  package internal(set) var unsent: UnsentLogs
  /// Forks for which the circle has no fork proof yet.
  var unprovenForks: [Fork]
  /// Trees of which too many branches are stored, and which no branch proof ends where it could.
  var unprovenTrees: Set<LogTree>
  /// When cuts that are not urgent may rebuild the logs again, in milliseconds of the steady clock.
  var nextRebuild: Moment = .min
  /// The statements of admins that the store applies; see `admitByCircle`.
  var appliedDecisions: Set<StatementID> = []
  /// Whether the circle has cuts that are not applied to the store yet, because the last rebuild was a short time ago.
  package internal(set) var isRebuildDue = false
  /// Received sets that have not been stored yet, by link, in order of arrival.
  var waiting: [LinkID: ArraySlice<VerifiedChangeSet>] = [:]
  /// The link whose set was stored last; the next turn begins with the link after it.
  var newestKept = LinkID(0)
  /// Whether the shell has been asked to call `goOn`.
  var isGoOnDue = false
  /// Whether a commit has rebuilt the logs and the replica has not been told yet.
  var isRebuilt = false
  package internal(set) var disk = DiskState()
  package internal(set) var override: Override
  package internal(set) var storeCheck: StoreCheck
  /// The nesting depth of the current turn; 0 between turns.
  var depth = 0
  var transfers = FileTransfers()
  var freeing = FileFreeing()
  var clockJumps = ClockJumps()
  /// The damaged sets that were last reported to the replica and the shell.
  var toldDamage: [DamagedSet] = []
  /// The state of the store's list of missing values that was last reported to the replica.
  var toldMissing: Int?

  /// Creates a replicator that resumes from the stored state.
  ///
  /// - Parameters:
  ///   - circle: the circle formed by the store's statements; see `Circle.init(store:)`.
  ///   - seed: the seed for random delays (jitter) only; each node may use a different one.
  /// - Throws: `StoreError`, and errors of `place`.
  package init(
    store: Store, circle: Circle, signing: SigningKey, preference: Bool, localPremium: LocalPremium,
    place: any IncarnationStorage, now: Moment, seed: UInt64, random16: @escaping () -> Bytes16
  ) throws {
    device = DeviceKey(signing)
    self.signing = signing
    self.place = place
    self.random16 = random16
    let (evaluation, device) = (circle.evaluation, device)
    store.device = device
    _ = try store.admit(
      by: { evaluation.admission(of: $0, at: device) }, quota: { evaluation.quota(of: $0, $1, at: device) },
      horizon: Self.horizon(now), holding: EraseHolding(device: device, now: now))
    (incarnation, isSpent) = try Self.openIncarnation(store, circle, device, place, random16)
    unsent = try UnsentLogs(store, device: device, incarnation: incarnation)
    override = try Override(store, preference: preference)
    storeCheck = StoreCheck(bytes: try? store.meta(MetaKey.storeCheck))
    replica = Replica(
      device: device, circle: circle, preference: preference, localPremium: localPremium,
      settings: Replica.LaneState(store, .settings), records: Replica.LaneState(store, .records),
      withheld: unsent.sent, newestForeignClock: store.newestFoldedClock(otherThan: device), seed: seed)
    transfers.policy = try store.keepPolicy()
    replica.acknowledgedRevocations = try store.acknowledgedRevocations()
    // The previous run may have ended after storing a set of a forked log and before adding the fork proof.
    unprovenForks = try store.forks(but: Set(circle.evaluation.forkProofs.map(\.log)))
    unprovenTrees = store.excessiveTrees
    opened = store
    appliedDecisions = circle.evaluation.decisionsOfAdmins
    replica.holdings = try store.holdings()
    replica.gateFloor = try store.gateFloor()
    toldDamage = store.damagedSets
    replica.askAgain(for: toldDamage.map(\.head))
    // The previous run may have ended after an erase was stored and before its files were deleted.
    if try store.isErasePending { try sweepFiles() }
  }

  /// The store. It must not be accessed after `close`.
  package var store: Store {
    guard let opened else { preconditionFailure("the store of \(device) is closed") }
    return opened
  }

  package var isOpen: Bool { opened != nil }

  /// Releases the store; further calls do nothing.
  package func close() {
    opened = nil
    waiting = [:]
  }

  package var circle: Circle { replica.circle }

  package func setLocalPremium(_ premium: LocalPremium) { replica.localPremium = premium }

  /// Returns the clock up to which peers' sets are folded now; sets with later clocks are parked.
  static func horizon(_ now: Now) -> Clock { horizon(now.wall) }

  /// Decides which erases by other devices are held.
  func holding(_ now: Now) -> EraseHolding { EraseHolding(device: device, now: now.wall) }

  /// Returns the clock up to which peers' sets are folded at a time of the wall clock.
  package static func horizon(_ now: Moment) -> Clock {
    Clock(milliseconds: now + Limits.clockDriftMilliseconds)
  }
}

/// The environment of a replicator: links, timers, disk space, and a log for people to read.
package protocol ReplicatorShell: AnyObject {
  /// Queues a message on a link. Ordinary messages overtake parts of files.
  func send(_ message: [UInt8], to link: LinkID, as sendClass: SendClass)
  /// Closes a link after sending the messages in its queue.
  func close(_ link: LinkID, _ cause: CloseCause)
  /// Returns whether a link's send queue is too long to accept more messages of a class. If it is, the input
  /// `drained` follows.
  func isCongested(_ link: LinkID, for sendClass: SendClass) -> Bool
  /// Delivers the timer after a number of milliseconds on the steady clock. Scheduling a timer of the same name again
  /// replaces it.
  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment)
  /// Starts the time limit for storing received sets.
  ///
  /// - Returns: a function that is called after each set and returns true once the time is used up.
  func beginPiece() -> () -> Bool
  /// Starts to measure how long a piece of work takes.
  ///
  /// - Returns: a function that returns the milliseconds since then.
  func beginMeasuring() -> () -> Moment
  /// Makes received files durable with `FileStore.finish`, which waits for the disk, then calls `Replicator.finished`:
  /// at once, or later and after work on another thread.
  func finish(_ files: [FileReference], in store: FileStore)
  /// Schedules a call of `Replicator.goOn` that runs after other pending work.
  func goOnSoon()
  func note(_ event: ReplicaEvent)
  func note(_ event: ReplicatorEvent)
  /// Delivers the reply to the question that was sent on a link.
  ///
  /// - Returns: the next question to send on the link; nil if there is none.
  func replied(_ link: LinkID, _ reply: Reply) -> Input?
  /// Stores values of the shell that follow from a commit, inside the commit's transaction.
  func noting(_ report: CommitReport) throws
  /// Called after a transaction is durable.
  func didCommit(_ report: CommitReport)
  /// Performs those reactions to the state of the disk that do not concern the store.
  func perform(_ effect: DiskEffect)
  /// Frees the reserved disk space, so that a value of a few pages can be stored on a full disk. Returns false if no
  /// reserve is left.
  func freeReserve() -> Bool
}

/// Events that concern this device's own logs and the store, to be logged.
package enum ReplicatorEvent: Sendable {
  /// A new incarnation has begun.
  case began(Incarnation, why: String)
  /// This device has begun the maximum number of incarnations and can't write any more.
  case spent(why: String)
  /// Cuts have changed, and the logs were rebuilt.
  case logsRebuilt
  case unprovable(Fork, why: String)
  /// Sets of revoked devices were deleted because a revocation discards them.
  case discarded(Int)
  /// Too many branches of a tree are stored, and no proof could be made.
  case unprovableTree(LogTree, why: String)
  /// These stored sets are damaged on disk. Peers are asked to send them again.
  case damaged([DamagedSet])
  /// Peers have sent these damaged sets again, and the stored bytes have been replaced.
  case repaired([DamagedSet])
  /// The write-ahead log could not be shortened. This is tried again after the next change.
  case logNotShortened(why: String)
  /// Files were deleted because their records are gone.
  case freed(FreedFiles)
  /// The stored bytes of a file do not match its id. It is fetched again.
  case damagedFile(FileReference)
  case override(OverrideEvent)
}

extension Replica.LaneState {
  init(_ store: Store, _ lane: Lane) {
    self.init(heads: store.heads(lane), digest: store.digest(lane))
  }
}
