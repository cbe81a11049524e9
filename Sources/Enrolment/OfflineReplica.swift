import Engine
import Home
import Membership
import Replication
import Storage
import Transport
import Wire

/// The replica of a home that no node has open. Enrolment writes through it as a node would, but without links.
final class OfflineReplica {
  let identity: Identity
  /// The name of this device while its keys wait for admission; nil for a member.
  let waiting: AwaitedAdmission?
  private let replicator: Replicator
  private let wall: @Sendable () -> Moment

  /// Opens a home whose lock is free.
  ///
  /// - Throws: `WaymarkError` for keys and modes, `StoreError` for the store.
  convenience init(opening home: Home, _ wall: @escaping @Sendable () -> Moment) throws {
    try home.prepare()
    try home.finishReplacing(at: wall())
    // Load the keys after the store, which takes the lock: before, both could be replaced in between.
    let store = try home.openStore()
    try self.init(home, try Identity.load(from: home), store, wall)
    home.protectStore()
  }

  init(
    _ home: Home, _ identity: Identity, _ store: Store, _ wall: @escaping @Sendable () -> Moment
  ) throws {
    let stored = try StoredState(store)
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

  /// Authors change sets and commits them durably. The keys are new, so a new log may be started at any time.
  func write(_ verb: String, _ drafts: [EntryDraft], leastClock: Clock = .zero) throws {
    guard !drafts.isEmpty else { return }
    try replicator.write(
      OperationDraft(id: OperationID(random16()), verb: verb), drafts, leastClock: leastClock, now: now)
  }

  func add(_ statement: Statement) { replicator.handle(.statementsAdded([statement.bytes]), now: now) }

  private var now: Now { Now(wall: wall(), steady: monotonicMilliseconds()) }

  /// Closes the store; has no effect the second time.
  func close() {
    guard replicator.isOpen else { return }
    // Does the deferred work now, so that the next start has none.
    try? store.rest()
    replicator.close()
  }
}
