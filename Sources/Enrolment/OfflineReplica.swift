import Engine
import Home
import Membership
import Reasons
import Replication
import Storage
import Transport
import Wire

/// The replica of a home that no node has open. Enrolment writes through this replica as a node would, but without
/// links.
final class OfflineReplica {
  let identity: Identity
  /// The admission that this device's keys await; nil if the circle has certified them.
  let waiting: AwaitedAdmission?
  private let home: Home
  private let replicator: Replicator
  private let wall: @Sendable () -> Moment

  /// Opens a home whose lock is free.
  ///
  /// - Throws: `WaymarkError` for keys and modes, `StoreError` for the store.
  convenience init(opening home: Home, _ wall: @escaping @Sendable () -> Moment) throws {
    try home.prepare()
    try home.finishReplacing(at: wall())
    // Opening the store takes the lock, so load the keys after that. If they were loaded first, both could be replaced
    // before the store is opened.
    let store = try home.openStore()
    try self.init(home, try Identity.load(from: home), store, wall)
    home.protectStore()
  }

  init(
    _ home: Home, _ identity: Identity, _ store: Store, _ wall: @escaping @Sendable () -> Moment
  ) throws {
    let stored = try StoredState(store)
    self.home = home
    self.identity = identity
    self.wall = wall
    waiting = try stored.admission(of: identity, in: home)
    replicator = try Replicator(
      store: store, circle: stored.circle, signing: identity.signing, preference: stored.preference,
      localPremium: stored.localPremium, place: home.storage.incarnation, now: wall(), seed: randomSeed(),
      random16: random16)
  }

  var store: Store { replicator.store }
  var circle: Circle { replicator.circle }

  /// Authors change sets and commits them durably. A new log may be started at any time, because the keys are new.
  func write(_ verb: String, _ drafts: [EntryDraft], leastClock: Clock = .zero) throws {
    guard !drafts.isEmpty else { return }
    try replicator.write(
      OperationDraft(id: OperationID(random16()), verb: verb), drafts, leastClock: leastClock, now: now)
  }

  /// Adds a statement of this device to the circle, durably.
  func add(_ statement: Statement) throws {
    replicator.handle(.statementsAdded([statement.bytes]), now: now)
    // What is only in memory ends with this replica.
    guard !replicator.disk.isFull else { throw WaymarkError.diskFull(home) }
  }

  private var now: Now { Now(wall: wall(), steady: monotonicMilliseconds()) }

  /// Closes the store. Closing it again has no effect.
  func close() {
    guard replicator.isOpen else { return }
    // Do the deferred work now, so that the next start has none.
    try? store.rest()
    replicator.close()
  }
}
