import Engine
import Home
import Membership
import Replication
import Storage
import Transport
import Wire

/// The replica of a home that no node has open: enrolment writes through it as a node would, only without links.
final class OfflineReplica {
  let identity: Identity
  /// What this device will be called, while no circle has admitted its keys.
  let waiting: AwaitedAdmission?
  private let replicator: Replicator
  private let wall: @Sendable () -> Moment

  /// Opens a home of which nobody has the lock.
  ///
  /// - Throws: `WaymarkError` for keys and modes, `StoreError` for the store.
  convenience init(opening home: Home, _ wall: @escaping @Sendable () -> Moment) throws {
    try home.prepare()
    try home.finishReplacing(at: wall())
    // The keys after the store, whose lock this has then: before, both might be replaced in between.
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

  /// Authors change sets and commits them durably. Its keys are new, so it may always begin another log.
  func write(_ verb: String, _ drafts: [EntryDraft], leastClock: Clock = .zero) throws {
    guard !drafts.isEmpty else { return }
    try replicator.write(
      OperationDraft(id: OperationID(random16()), verb: verb), drafts, leastClock: leastClock, now: now)
  }

  func add(_ statement: Statement) { replicator.handle(.statementsAdded([statement.bytes]), now: now) }

  private var now: Now { Now(wall: wall(), steady: monotonicMilliseconds()) }

  /// Releases the store; a second time does nothing.
  func close() {
    guard replicator.isOpen else { return }
    // Leaves no work for the next start.
    try? store.rest()
    replicator.close()
  }
}
