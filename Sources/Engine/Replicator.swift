// Protocol/session.md, Protocol/change-set.md
//
// One turn of a node. Inputs go to the replica, which decides and returns effects; the replicator carries them out on
// the store or hands them to its shell, and gives the results back to the replica as further inputs:
//
//     input ──▶ Replica.handle ──effects──▶ Replicator.perform ──▶ shell: send, close, schedule, note
//                    ▲                              │
//                    └──committed, served, … ◀── store: commit, serve, foldParked, …
//
// For example, a peer's message with two change sets:
//
//     handle(.received(link, message))     the replica verifies the sets: Effect.commit(sets, from: link)
//     keep, store.commit                   one transaction; the shell's `noting` adds to it, then `didCommit` is called
//     replica.handle(.committed(…))        the heads have moved: announcements to other peers, a timer
//     shell.send, shell.schedule           nothing follows, and the turn ends
//
// - The replica does no I/O and reads no clock, so the simulator drives the same code with a world of its own.
// - Effects are carried out in order, except commits: all sets of a round share one transaction, which comes last.
// - Storing received sets has a time limit per turn. The shell's `beginPiece` says after each set whether it is used
//   up; the rest stays in `waiting` until the shell calls `goOn`, and the links take turns. Otherwise one peer with
//   expensive sets would delay commands and other peers.
// - Turns nest, since a callback of the shell may lead to another input. Only the outermost one ends with
//   `finishOverride`.
// - A transaction that fails leaves nothing behind. Sets of peers are dropped and asked for again; `DiskState` decides
//   whether the store may be written to further.

package import Membership
package import Replication
package import Sodium
package import Storage
package import Wire

/// A replica together with its store: performs the effects that concern the store, and hands all others to its shell.
///
/// The node drives it with sockets and a clock, the simulator with a simulated world. Time and randomness are
/// arguments. Synchronous and not thread-safe, like the store.
package final class Replicator {
  package let device: DeviceKey
  package internal(set) var replica: Replica
  let signing: SigningKey
  let place: any IncarnationStorage
  /// Sixteen unique bytes.
  let random16: () -> Bytes16
  /// Nil once it is closed.
  private var opened: Store?
  package weak var shell: (any ReplicatorShell)?
  /// The incarnation that this data directory writes under; a new one begins if another directory may write the same.
  package internal(set) var incarnation: Incarnation
  /// Whether the incarnation must not be continued and no other is left.
  package internal(set) var isSpent: Bool
  /// The sets of own logs that have been sent to no peer.
  package internal(set) var unsent: UnsentLogs
  /// Forks that have no fork proof in the circle yet.
  var unprovenForks: [Fork]
  /// Received sets that no turn has had time to store yet, in order of arrival.
  var waiting: [LinkID: ArraySlice<VerifiedChangeSet>] = [:]
  /// The link of the set stored last; the next turn begins with the link after it.
  var newestKept = LinkID(0)
  /// Whether the shell has been asked to call `goOn`.
  var isGoOnDue = false
  /// Whether a commit has rebuilt the logs and the replica does not know yet.
  var isRebuilt = false
  package internal(set) var disk = DiskState()
  package internal(set) var override: Override
  package internal(set) var storeCheck: StoreCheck
  /// The nesting depth of the current turn; 0 between turns.
  var depth = 0
  /// The damaged sets last reported to the replica and the shell.
  var toldDamage: [DamagedSet] = []

  /// Resumes from the state of a store.
  ///
  /// - Parameters:
  ///   - circle: the circle of the store's statements; see `Circle.init(store:)`.
  ///   - seed: for jitter only; nodes need not agree on it.
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
    _ = try store.admit(by: { evaluation.admission(of: $0, at: device) }, horizon: Self.horizon(now))
    (incarnation, isSpent) = try Self.openIncarnation(store, circle, device, place, random16)
    unsent = try UnsentLogs(store, device: device, incarnation: incarnation)
    override = try Override(store, preference: preference)
    storeCheck = StoreCheck(bytes: try? store.meta(MetaKey.storeCheck))
    replica = Replica(
      device: device, circle: circle, preference: preference, localPremium: localPremium,
      settings: Replica.LaneState(store, .settings), records: Replica.LaneState(store, .records),
      withheld: unsent.sent, newestForeignClock: store.newestFoldedClock(otherThan: device), seed: seed)
    replica.acknowledgedRevocations = try store.acknowledgedRevocations()
    // The previous run may have ended between storing a set and adding the proof that its log has forked.
    unprovenForks = try store.forks(but: Set(circle.evaluation.forkProofs.map(\.log)))
    opened = store
    replica.holdings = try store.holdings()
    replica.gateFloor = try store.gateFloor()
    toldDamage = store.damagedSets
    replica.askAgain(for: toldDamage.map(\.head))
  }

  /// The store, while it is open.
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

  /// The clock up to which sets of peers are folded now; later ones are parked.
  static func horizon(_ now: Now) -> Clock { horizon(now.wall) }

  private static func horizon(_ now: Moment) -> Clock {
    Clock(milliseconds: now + Limits.clockDriftMilliseconds)
  }
}

/// The environment of a replicator: links, timers, disk space, and a log for people.
package protocol ReplicatorShell: AnyObject {
  func send(_ message: [UInt8], to link: LinkID)
  /// Closes a link after its queue has been sent.
  func close(_ link: LinkID, _ cause: CloseCause)
  /// Whether a link's send queue is too long for more.
  func isCongested(_ link: LinkID) -> Bool
  /// Delivers the timer after so many milliseconds of the steady clock; a newer one of the same name replaces it.
  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment)
  /// Starts the time limit for storing received sets.
  ///
  /// - Returns: a function that says, after each set, whether the turn is over.
  func beginPiece() -> () -> Bool
  /// Schedules a call of `Replicator.goOn` after other pending work.
  func goOnSoon()
  func note(_ event: ReplicaEvent)
  func note(_ event: ReplicatorEvent)
  /// Delivers the reply to the unanswered question on a link.
  ///
  /// - Returns: the next question for the link.
  func replied(_ link: LinkID, _ reply: Reply) -> Input?
  /// Writes the shell's own notes on a commit, inside its transaction.
  func noting(_ report: CommitReport) throws
  /// Called after a transaction is durable.
  func didCommit(_ report: CommitReport)
  /// Performs a reaction to the state of the disk, outside the store.
  func perform(_ effect: DiskEffect)
  /// Frees the reserved room for a note of a few pages on a full disk; false if none is left.
  func freeReserve() -> Bool
}

/// Events of this device's own logs and of the store, for the log.
package enum ReplicatorEvent: Sendable {
  /// A new incarnation has begun.
  case began(Incarnation, why: String)
  /// No incarnation is left; this device can't write any more.
  case spent(why: String)
  /// Cuts have changed, and the logs were rebuilt.
  case logsRebuilt
  case unprovable(Fork, why: String)
  /// These stored sets are damaged on disk; peers are asked to send them again.
  case damaged([DamagedSet])
  /// Peers have sent these sets again, and the stored bytes are replaced.
  case repaired([DamagedSet])
  /// The write-ahead log could not be shortened; the next change tries again.
  case logNotShortened(why: String)
  case override(OverrideEvent)
}

extension Replica.LaneState {
  init(_ store: Store, _ lane: Lane) {
    self.init(heads: store.heads(lane), digest: store.digest(lane))
  }
}
