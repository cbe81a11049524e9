package import Engine
import FileStore
package import Membership
import Replication
import Sodium
package import Storage
import Synchronization
import Transport
import Wire

/// One device's replication node: its store, keys, circle membership and peers.
///
/// Open one node per app and keep it as long as the app runs. It answers reads from its store at once, regardless of
/// the network. All of its work runs on a queue of its own.
public actor Node {
  /// The directory that holds the node's store and keys.
  public nonisolated let home: Home
  nonisolated let executor: QueueExecutor
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  package let identity: Identity
  nonisolated let clock: any NodeClock
  package let logger: NodeLog
  let loop: EventLoop
  let connections: Connections
  let maintenance: StoreMaintenance
  let shell: NodeShell
  let countedOperation = CountedOperation()
  var waiters = Waiters()
  var renewal: PremiumRenewal
  /// Whether this device turns sync on when another device invites it to.
  var followsInvitations = false
  /// The operations that are adding files.
  var additions: [FileAddition] = []
  /// The number of commands being carried out.
  nonisolated let commandsUnderWay = Atomic(0)
  /// Stops the control socket; nil unless the node serves one.
  private(set) var stopControl: (@Sendable () -> Void)?
  /// The live page; nil unless the node serves one.
  package private(set) var servedPage: (any ServedPage)?

  /// Opens the node of a home: takes the lock, opens the store, loads the keys.
  ///
  /// - Throws: `WaymarkError` for problems with libsodium, keys and file modes, and `StoreError` for problems with the
  ///   store.
  package init(
    home: Home, wall: @escaping @Sendable () -> Int64 = systemWall, log: NodeLog = .silent
  ) throws {
    try self.init(home: home, in: .machine(wall: wall), log: log)
  }

  package init(home: Home, in environment: NodeEnvironment, log: NodeLog = .silent) throws {
    try WaymarkError.checkSignatureRule()
    try home.prepare()
    try home.finishReplacing(at: environment.clock.wall())
    // Load the keys after opening the store. The store's lock is held by then, so no other process can replace the keys
    // in between.
    let store = try home.openStore()
    let (identity, passphrase) = try Identity.open(in: home)
    home.protectStore()
    home.sweep()
    try self.init(
      home: home, identity: identity, passphrase: passphrase, store: store, in: environment, log: log)
  }

  /// - Parameter passphrase: the passphrase that opened the keys; nil if they are plain.
  init(
    home: Home, identity: Identity, passphrase: Passphrase? = nil, store: sending Store,
    in environment: NodeEnvironment, log: NodeLog
  ) throws {
    try WaymarkError.checkSignatureRule()
    self.home = home
    self.identity = identity
    self.logger = log
    renewal = PremiumRenewal(passphrase: passphrase)
    clock = environment.clock
    executor = QueueExecutor(label: "waymark.node")
    let purchases = try environment.purchases ?? home.purchases
    let stored = try StoredState(store, purchases)
    let waiting = try stored.admission(of: identity, in: home)
    let remembered = try PeerHistory(store)
    let replicator = try Replicator(
      store: store, circle: stored.circle, signing: identity.signing, preference: stored.preference,
      localPremium: stored.localPremium, place: home.storage.incarnation, now: clock.wall(),
      seed: randomSeed(),
      random16: random16)
    loop = EventLoop(replicator, executor: executor, clock: clock)
    maintenance = StoreMaintenance(loop, home: home, log: log)
    connections = try Connections(
      loop, maintenance, identity: identity, waiting: waiting, transport: environment.transport, log: log,
      paused: stored.pausedPeers, remembered: remembered)
    shell = NodeShell(loop, connections, maintenance, log: log)
    replicator.shell = shell
    loop.node = self
  }

  package var replicator: Replicator { loop.replicator }

  package var store: Store { loop.store }

  var replica: Replica { loop.replica }

  /// The circle as this node knows it.
  package var circle: Circle { loop.circle }

  /// Checks that the node is open and its store usable. Call this again after each `await`, because the node may have
  /// closed in the meantime.
  ///
  /// - Throws: `WaymarkError` if the node is closed or its disk has failed.
  package func checkOpen() throws {
    guard replicator.isOpen else { throw WaymarkError.closed }
    if let failure = maintenance.failure { throw failure }
  }

  /// Registers the control socket, which is stopped when the node closes.
  package func servesCommands(stop: @escaping @Sendable () -> Void) { stopControl = stop }

  /// Registers the live page, which is stopped when the node closes; nil once it has stopped.
  package func servesPage(_ page: (any ServedPage)?) { servedPage = page }

  /// Disconnects, ends all waits and watches, and closes the store. Calling it again does nothing.
  public func close() {
    guard replicator.isOpen else { return }
    stopControl?()
    stopControl = nil
    servedPage?.stop()
    servedPage = nil
    connections.remember()
    connections.stop()
    loop.timers.cancelAll()
    waiters.endAll()
    for addition in additions { addition.end() }
    loop.watching.cancelAll()
    // Checkpoints now, so that the next start has nothing to do.
    if maintenance.failure == nil { try? store.rest() }
    replicator.close()
    shell.endFiles()
  }
}

/// The live page of a node, which the module Control serves.
package protocol ServedPage: AnyObject, Sendable {
  func stop()
}
