// Protocol/session.md, Protocol/change-set.md

package import Membership
package import Replication
package import Sodium
package import Storage
package import Wire

/// A replica together with the store it decides for: obeys the effects that concern the store, and hands the others
/// to its shell.
///
/// The node drives it with sockets and a clock, the simulator with a world of its own; neither decides anything. Time
/// and randomness are arguments. Synchronous and not for sharing, as the store is.
package final class Replicator {
  package let device: DeviceKey
  package internal(set) var replica: Replica
  let signing: SigningKey
  let place: any IncarnationStorage
  /// Sixteen bytes that nobody has had before.
  let random16: () -> Bytes16
  /// Nil once it is closed.
  private var opened: Store?
  package weak var shell: (any ReplicatorShell)?
  /// Which logs this data directory writes; a new one where another directory may write the same.
  package internal(set) var incarnation: Incarnation
  /// The incarnation may not go on, and the device may begin no other.
  package internal(set) var isSpent: Bool
  /// What of the own logs nobody was sent.
  package internal(set) var unsent: UnsentLogs
  /// Forks that the circle has not been told of.
  var unprovenForks: [Fork]
  /// Sets that links have brought and that no turn has had room for yet, in the order in which they came.
  var waiting: [LinkID: ArraySlice<VerifiedChangeSet>] = [:]
  /// The link of the set that was stored last: the next turn begins with the one after it.
  var newestKept = LinkID(0)
  /// The shell will call `goOn`.
  var isGoOnDue = false
  /// Cuts have changed what is stored, and the replica has not been told.
  var isRebuilt = false
  /// Whether the store's disk takes what is written.
  package internal(set) var disk = DiskState()
  package internal(set) var override: Override
  package internal(set) var storeCheck: StoreCheck
  /// How many turns have begun within one another and not ended.
  var depth = 0
  /// The damaged sets that the replica and the shell have been told of.
  var toldDamage: [DamagedSet] = []

  /// Takes up where the store was left.
  ///
  /// - Parameters:
  ///   - circle: the circle of the store's statements; see `Circle.init(store:)`.
  ///   - seed: decides jitter; nothing that two nodes must agree on.
  /// - Throws: `StoreError`, and what `place` throws.
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
    // The last run may have ended between storing a set and telling that its log has forked.
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

  /// Lets go of the store; a second time does nothing.
  package func close() {
    opened = nil
    waiting = [:]
  }

  package var circle: Circle { replica.circle }

  package func setLocalPremium(_ premium: LocalPremium) { replica.localPremium = premium }

  /// The clock up to which sets of peers fold now.
  static func horizon(_ now: Now) -> Clock { horizon(now.wall) }

  private static func horizon(_ now: Moment) -> Clock {
    Clock(milliseconds: now + Limits.clockDriftMilliseconds)
  }
}

/// What carries out what a replicator decides beyond its store: links, timers, and a log that people read.
package protocol ReplicatorShell: AnyObject {
  func send(_ message: [UInt8], to link: LinkID)
  /// Closes a link after what is queued has been sent.
  func close(_ link: LinkID, _ cause: CloseCause)
  /// Whether a link has so much to send that more must wait.
  func isCongested(_ link: LinkID) -> Bool
  /// Brings the timer back after so many milliseconds, whatever is done to the wall clock; a newer one of the same
  /// name replaces it.
  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment)
  /// Sets of peers are about to be stored: gives what says, after each, whether others should have their turn.
  func beginPiece() -> () -> Bool
  /// Calls `Replicator.goOn` once others have had their turn.
  func goOnSoon()
  func note(_ event: ReplicaEvent)
  func note(_ event: ReplicatorEvent)
  /// What became of the question under way; gives the next one that was waiting.
  func replied(_ link: LinkID, _ reply: Reply) -> Input?
  /// Keeps what follows from a commit, inside its transaction.
  func noting(_ report: CommitReport) throws
  /// A transaction is durable.
  func didCommit(_ report: CommitReport)
  /// Does what the state of the disk asks for, outside the store.
  func perform(_ effect: DiskEffect)
  /// Frees room on a full disk that is reserved for a note of a few pages; false if none is left.
  func freeReserve() -> Bool
}

/// What a person should know of the own logs and of the store.
package enum ReplicatorEvent: Sendable {
  /// The logs of a new incarnation are written from now on.
  case began(Incarnation, why: String)
  /// The last incarnation may not go on, and there is no other: nothing is written here any more.
  case spent(why: String)
  /// A cut has changed, and the logs are stored anew.
  case logsRebuilt
  case unprovable(Fork, why: String)
  /// The disk has altered these stored sets; peers are asked for them.
  case damaged([DamagedSet])
  /// Peers have sent these sets again, and their bytes are replaced.
  case repaired([DamagedSet])
  /// The write-ahead log could not be shortened, and will be after the next change.
  case logNotShortened(why: String)
  case override(OverrideEvent)
}

extension Replica.LaneState {
  init(_ store: Store, _ lane: Lane) {
    self.init(heads: store.heads(lane), digest: store.digest(lane))
  }
}
