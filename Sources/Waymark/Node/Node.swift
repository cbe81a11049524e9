package import Engine
import Enrolment
import Home
package import Membership
import NodeRuntime
import Records
package import Storage
import Synchronization
import Transport
import Wire

/// One device's replication node: its store, keys, circle membership and peers.
///
/// Open one node per app and keep it as long as the app runs. It answers reads from its store at once, regardless of
/// the network. Its work runs on queues of its own.
public actor Node {
  /// The directory that holds the node's store and keys.
  public nonisolated let home: Home
  nonisolated let executor: QueueExecutor
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  nonisolated let clock: any NodeClock
  /// Where records are read next to the node's queue; nil for a node in memory.
  nonisolated let readQueue: ReadQueue?
  /// The parts of the node.
  package let core: NodeCore
  /// The number of commands being carried out.
  nonisolated let commandsUnderWay = Atomic(0)
  /// The control socket; nil unless the node serves one.
  private(set) var servedControl: (any NodeService)?
  /// The live page; nil unless the node serves one.
  package private(set) var servedPage: (any NodeService)?
  /// The services that `suspend()` has stopped, until they serve again.
  private var suspendedServices: [any NodeService] = []

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
    let store = try home.openStore(adding: environment.apps)
    let (identity, passphrase) = try Identity.open(in: home)
    home.protectStore()
    home.sweep()
    PendingJoin(home).discard(ifDoneBy: identity)
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
    clock = environment.clock
    executor = environment.executor(label: "waymark.node")
    core = try NodeCore(
      home: home, identity: identity, passphrase: passphrase, store: store, in: environment,
      executor: executor,
      log: log)
    readQueue = core.readQueue
  }

  package var store: Store { core.store }
  /// The kinds of records that the node knows.
  package var schema: Schema { core.store.schema }

  package var replicator: Replicator { core.replicator }

  package var identity: Identity { core.identity }

  /// The circle as this node knows it.
  package var circle: Circle { core.circle }

  /// Registers the control socket, which is stopped when the node closes or is suspended.
  package func servesCommands(_ service: any NodeService) {
    servedControl = service
    core.answersCommands = true
  }

  /// Registers the live page, which is stopped when the node closes or is suspended; nil once it has stopped.
  package func servesPage(_ page: (any NodeService)?) { servedPage = page }

  /// Disconnects, ends all waits and watches, and closes the store. Calling it again does nothing.
  public func close() {
    guard !core.isClosed else { return }
    for service in services { service.stop() }
    servedControl = nil
    servedPage = nil
    suspendedServices = []
    core.close()
  }

  private var services: [any NodeService] { [servedControl, servedPage].compactMap(\.self) }

  func suspendServices() {
    suspendedServices += services.filter(\.isServing)
    for service in services { service.stop() }
  }

  func resumeServices() throws {
    while let service = suspendedServices.first {
      try service.restart(for: self)
      suspendedServices.removeFirst()
    }
  }
}

/// The control socket or the live page of a node, which the module Control serves.
package protocol NodeService: AnyObject, Sendable {
  /// Whether it has not stopped, by itself or because `stop()` was called.
  var isServing: Bool { get }

  func stop()

  /// Serves again after a suspension, with the same settings.
  func restart(for node: isolated Node) throws
}
