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

  package let identity: Identity
  /// What this device will be called, while its store is restored and no circle has taken its keys in.
  let waiting: AwaitedAdmission?
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
  /// - Throws: `WaymarkError` for keys and modes, `StoreError` for the store.
  package init(
    home: Home, wall: @escaping @Sendable () -> Int64 = systemWall, log: NodeLog = .silent
  ) throws {
    try self.init(home: home, in: .machine(wall: wall), log: log)
  }

  package init(home: Home, in environment: NodeEnvironment, log: NodeLog = .silent) throws {
    try home.prepare()
    try home.finishReplacing(at: environment.clock.wall())
    // The keys after the store, whose lock this has then: before, both might be replaced in between.
    let store = try home.openStore()
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
    waiting = try stored.admission(of: identity, in: home)
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
