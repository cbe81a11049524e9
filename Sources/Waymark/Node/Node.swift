import Engine
package import Membership
import Replication
import Sodium
package import Storage
import Synchronization
import Transport
import Wire

/// One device's replication node: its store, its keys, its place in the circle, and its peers.
///
/// Open one for an app and keep it as long as the app runs. It answers from its store at once, whatever the network
/// does; everything it does happens on a queue of its own.
public actor Node {
  /// Where the node keeps everything.
  public nonisolated let home: Home
  nonisolated let executor: QueueExecutor
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  let identity: Identity
  /// What this device will be called, while its store is restored and no circle has taken its keys in.
  private(set) var waiting: AwaitedAdmission?
  let replicator: Replicator
  /// Carries out for the replicator what is not the store's.
  private let shell: NodeShell
  nonisolated let clock: any NodeClock
  let transport: any NodeTransport
  package let log: NodeLog
  var timers: Timers
  /// Present only while the node serves.
  var network: Network?
  var notices: [NodeNotice] = []
  var peering: Peering
  let ballast: Ballast
  var checkpointing = Checkpointing()
  /// Once the store can't be trusted; see `whenStoreBreaks(_:)`.
  var broken: WaymarkError?
  var breaks: (@Sendable (WaymarkError) -> Void)?
  let credentials: Credentials
  var isVerifying = false
  /// How many members the log was told of last, and who was named as a signer of too many statements.
  var membersSaid = 0
  var crowdedSigners: Set<DeviceKey> = []
  /// The device that joined last with a ticket of this node.
  var lastJoined: DeviceKey?
  var waiters = Waiters()
  var watching = Watching()
  /// For each lane the newest set that was here when this device was in sync; see `noteSeen(with:)`.
  var seenSets: [Lane: Int64]
  var questions = Questions()
  var remembered: PeerMemory
  var counters = Counters()
  /// What the operation did that only this disk has, by the sets that were counted.
  var lossContent: (sets: [ChangeSetID], content: OperationContent)?
  /// Commands that have begun and not ended.
  nonisolated let commandsUnderWay = Atomic(0)
  /// Stops the socket of the command line; nil unless the node serves it.
  private var stopControl: (@Sendable () -> Void)?

  /// Opens the node of a home: reads the keys, takes the lock, reads the store.
  ///
  /// - Throws: `HomeError` for keys and modes, `StoreError` for the store.
  package init(
    home: Home, wall: @escaping @Sendable () -> Int64 = systemWall, log: NodeLog = .silent
  ) throws {
    try self.init(home: home, in: .machine(wall: wall), log: log)
  }

  package init(home: Home, in environment: NodeEnvironment, log: NodeLog = .silent) throws {
    try home.prepare()
    try home.finishReplacing(at: environment.clock.wall())
    try self.init(openingStoreOf: home, isLocked: false, in: environment, log: log)
  }

  /// Opens the node of a home that the caller has the lock of, and keeps until the node is closed.
  init(home: Home, under _: HomeLock, wall: @escaping @Sendable () -> Int64) throws {
    try self.init(openingStoreOf: home, isLocked: true, in: .machine(wall: wall), log: .silent)
  }

  private init(
    openingStoreOf home: Home, isLocked: Bool, in environment: NodeEnvironment, log: NodeLog
  ) throws {
    // The keys after the store, whose lock this has then: before, both might be replaced in between.
    let store = try home.openStore(isLocked: isLocked)
    let identity = try Identity.load(from: home)
    home.protectStore()
    home.sweep()
    try self.init(home: home, identity: identity, store: store, in: environment, log: log)
  }

  init(
    home: Home, identity: Identity, store: sending Store, in environment: NodeEnvironment, log: NodeLog
  ) throws {
    self.home = home
    self.identity = identity
    clock = environment.clock
    transport = environment.transport
    self.log = log
    executor = QueueExecutor(label: "waymark.node")
    timers = Timers(executor: executor, clock: clock)
    let stored = try StoredState(store)
    let isMember = stored.circle.evaluation.isMember(identity.device)
    // A device that was taken out of the circle goes on showing what it holds.
    let wasMember = stored.circle.evaluation.hasCertificate(identity.device)
    guard isMember || wasMember || stored.waiting?.device == identity.device else {
      throw HomeError(
        .keyMissing, "The keys in \(home.keys) are not those of a member of the circle in this store.",
        next: "put the right key file back, or join the circle anew")
    }
    waiting = isMember || wasMember ? nil : stored.waiting
    seenSets = try Self.seenSets(store)
    remembered = try PeerMemory(store)
    let replicator = try Replicator(
      store: store, circle: stored.circle, signing: identity.signing, preference: stored.preference,
      localPremium: stored.localPremium, place: home.storage.incarnation, now: clock.wall(),
      seed: randomSeed(),
      random16: random16)
    shell = NodeShell()
    replicator.shell = shell
    self.replicator = replicator
    ballast = Ballast(home)
    ballast.hold()
    peering = Peering(paused: stored.pausedPeers, seed: randomSeed())
    credentials = Credentials(identity: identity, circle: stored.circle, clock: clock)
    shell.node = self
  }

  /// A circle has taken in the keys that waited.
  ///
  /// - Parameter ticket: the one that this device joined with; nil if it was admitted by the root key.
  func admitted(by statements: [Statement], with ticket: TicketID? = nil) throws {
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.joinedWith, ticket?.bytes)
    try store.setMeta(MetaKey.waiting, nil)
    waiting = nil
  }

  package var store: Store { replicator.store }

  var replica: Replica { replicator.replica }

  var incarnation: Incarnation { replicator.incarnation }

  /// Whoever was suspended looks again: the node may have closed meanwhile.
  package func checkOpen() throws {
    guard replicator.isOpen else { throw WaymarkError.closed }
    if let broken { throw broken }
  }

  /// Whether others have it perform commands, through a socket.
  var servesCommands: Bool { stopControl != nil }

  /// A socket serves the command line from now on, until the node closes.
  package func servesCommands(stop: @escaping @Sendable () -> Void) { stopControl = stop }

  /// The circle as this node knows it.
  package var circle: Circle { replicator.circle }

  /// This device's certificate.
  var member: Member? { circle.evaluation.members[identity.device] }

  /// Ends everything and lets go of the store; a second time does nothing.
  public func close() {
    guard replicator.isOpen else { return }
    stopControl?()
    stopControl = nil
    remember()
    stopServing()
    timers.cancelAll()
    waiters.endAll()
    watching.cancelAll()
    // A clean end leaves no work for the next start.
    if broken == nil { try? store.rest() }
    replicator.close()
  }
}

/// What a node finds in its store when it opens.
struct StoredState {
  let circle: Circle
  let preference: Bool
  let localPremium: LocalPremium
  let pausedPeers: Set<DeviceKey>
  let waiting: AwaitedAdmission?

  init(_ store: Store) throws {
    circle = try Circle(store: store)
    preference = try store.meta(MetaKey.preference) == [1]
    waiting = try store.meta(MetaKey.waiting).flatMap { AwaitedAdmission(bytes: $0) }
    localPremium = try LocalPremium(store)
    pausedPeers = Set(try store.metaLines(MetaKey.paused).compactMap { DeviceKey(hex: $0) })
  }
}

/// What a node keeps beside what its replicator does.
extension MetaKey {
  /// One byte: whether the person wants records to sync.
  static let preference = "sync-preference"
  /// Addresses the person gave, a line each.
  static let addresses = "peer-addresses"
  /// Devices the person paused, in hexadecimal, a line each.
  static let paused = "paused-peers"
  /// What operations of other devices deleted, as JSON.
  static let deletions = "deletions"
  /// For each lane the newest set number when the device was last in sync.
  static let seen = "seen-sets"
  /// The end of a mock purchase.
  static let mockPurchase = "mock-purchase"
  /// The keys of a restored store that wait for a circle to take them in; see `AwaitedAdmission`.
  static let waiting = "awaited-admission"
  /// The id of the ticket with which this device joined.
  static let joinedWith = "joined-with"
  /// One byte: whether this very device completed onboarding.
  static let completedOnboarding = "completed-onboarding"

  /// The person's choices on this device, which a backup takes along.
  static let choices = [preference, addresses, paused, completedOnboarding, peerNames]
}
