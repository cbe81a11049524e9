import Membership
import Replication
import Sodium
import Storage
import Wire

/// One device's replication node: its store, its keys, its place in the circle, and its peers.
///
/// The actor is the shell around `Replica` and `Store`: it carries events in and obeys the effects that come
/// out. One batch of messages is one turn here and one transaction in the store.
public actor Node {
  public nonisolated let home: Home
  nonisolated let executor: NodeExecutor
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  let identity: Identity
  /// Nil once the node is closed.
  private var opened: Store?
  let incarnation: Incarnation
  let wall: @Sendable () -> Moment
  let log: NodeLog
  var replica: Replica
  var timers: Timers
  /// Present only while the node serves.
  var network: Network?
  var notices: [NodeNotice] = []
  var pausedPeers: Set<DeviceKey> = []
  let ballast: Ballast
  /// Since the store last had no room; see `checkDisk()`.
  var isDiskFull = false
  let credentials: Credentials
  /// The device that joined last with a ticket of this node.
  var lastJoined: DeviceKey?
  var waiters = Waiters()
  /// The command line's socket, while the node serves it.
  var control: ControlServer?

  /// Opens the node of a home: reads the keys, takes the lock, reads the store.
  ///
  /// - Throws: `HomeError` for keys and modes, `StoreError` for the store.
  public init(
    home: Home, wall: @escaping @Sendable () -> Int64 = systemWall, log: NodeLog = .silent
  ) throws {
    try home.prepare()
    try home.finishReplacing(at: wall())
    let identity = try Identity.load(from: home.deviceKey)
    let store = try Store(path: home.store)
    home.protectStore()
    try self.init(home: home, identity: identity, store: store, wall: wall, log: log)
  }

  init(
    home: Home, identity: Identity, store: sending Store, wall: @escaping @Sendable () -> Int64, log: NodeLog
  ) throws {
    self.home = home
    self.identity = identity
    self.wall = wall
    self.log = log
    executor = NodeExecutor(label: "waymark.node")
    timers = Timers(queue: executor.queue)
    let stored = try StoredState(store, device: identity.device)
    guard stored.circle.evaluation.isMember(identity.device) else {
      throw HomeError(
        .keyMissing, "The keys in \(home.keys) are not those of a member of the circle in this store.",
        next: "put the right key file back, or join the circle anew")
    }
    incarnation = stored.incarnation
    replica = Replica(
      device: identity.device, circle: stored.circle, preference: stored.preference,
      localPremium: stored.localPremium, settings: stored.settings, records: stored.records,
      newestForeignClock: stored.newestForeignClock, seed: randomSeed())
    opened = store
    ballast = Ballast(home)
    ballast.hold()
    pausedPeers = stored.pausedPeers
    credentials = Credentials(identity: identity, circle: stored.circle, wall: wall)
  }

  /// The store of a node that is open.
  var store: Store {
    guard let opened else { preconditionFailure("the node of \(home.path) is closed") }
    return opened
  }

  /// Whoever was suspended looks again: the node may have closed meanwhile.
  func checkOpen() throws {
    guard opened != nil else { throw CommandFailure.hungUp }
  }

  /// The circle as this node knows it.
  var circle: Circle { replica.circle }

  /// This device's certificate.
  var member: Member? { circle.evaluation.members[identity.device] }

  /// Ends everything and lets go of the store.
  public func close() {
    control?.stop()
    control = nil
    stopServing()
    timers.cancelAll()
    // A clean end leaves no work for the next start.
    try? store.checkpoint()
    opened = nil
  }
}

/// What a node finds in its store when it opens.
struct StoredState {
  let circle: Circle
  let incarnation: Incarnation
  let preference: Bool
  let localPremium: LocalPremium
  let settings: Replica.LaneState
  let records: Replica.LaneState
  let newestForeignClock: Clock
  let pausedPeers: Set<DeviceKey>

  init(_ store: Store, device: DeviceKey) throws {
    var statements: [Statement] = []
    for bytes in try store.statements() { statements.append(try Statement(bytes)) }
    circle = try Circle(statements: statements)
    guard let incarnation = try store.meta(MetaKey.incarnation).flatMap({ Incarnation(bytes: $0) }) else {
      throw StoreError.damaged("it names no incarnation")
    }
    self.incarnation = incarnation
    preference = try store.meta(MetaKey.preference) == [1]
    localPremium = try LocalPremium(store)
    pausedPeers = Set(try store.metaLines(MetaKey.paused).compactMap { DeviceKey(hex: $0) })
    settings = Replica.LaneState(heads: store.heads(.settings), digest: store.digest(.settings))
    records = Replica.LaneState(heads: store.heads(.records), digest: store.digest(.records))
    newestForeignClock = store.newestFoldedClock(otherThan: device)
  }
}

/// What a node keeps beside the records.
enum MetaKey {
  static let incarnation = "incarnation"
  /// One byte: whether the person wants records to sync.
  static let preference = "sync-preference"
  /// Addresses the person gave, a line each.
  static let addresses = "peer-addresses"
  /// Devices the person paused, in hexadecimal, a line each.
  static let paused = "paused-peers"
  /// The end of a mock purchase.
  static let mockPurchase = "mock-purchase"
}

extension Store {
  func metaLines(_ key: String) throws -> [String] {
    String(decoding: try meta(key) ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
  }

  func setMetaLines(_ key: String, _ lines: [String]) throws {
    try setMeta(key, Array(lines.joined(separator: "\n").utf8))
  }
}
