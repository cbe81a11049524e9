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
  /// What this device will be called, while its store is restored and no circle has taken its keys in.
  private(set) var waiting: AwaitedAdmission?
  /// Nil once the node is closed.
  private var opened: Store?
  /// Which logs this data directory writes; a new one where another directory may write the same.
  var incarnation: Incarnation
  /// The incarnation may not go on, and the device may begin no other.
  var isSpent: Bool
  /// What of the own logs nobody was sent.
  var unsent: UnsentLogs
  /// Forks that the circle has not been told of.
  var unprovenForks: [Fork] = []
  /// Cuts have changed what is stored, and the replica has not been told.
  var isLaidOutAnew = false
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
  var isVerifying = false
  /// How many members the log was told of last, and who was named as a signer of too many statements.
  var membersSaid = 0
  var crowdedSigners: Set<DeviceKey> = []
  /// The device that joined last with a ticket of this node.
  var lastJoined: DeviceKey?
  var waiters = Waiters()
  var directions: Directions
  /// For each lane the newest set that was here when this device was in sync; see `noteSeen(with:)`.
  var seenSets: [Lane: Int64]
  var questions = Questions()
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
    let identity = try Identity.load(from: home)
    let store = try Store(path: home.store)
    home.protectStore()
    home.sweep()
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
    let stored = try StoredState(store, device: identity.device, wall: wall())
    let isMember = stored.circle.evaluation.isMember(identity.device)
    // A device that was taken out of the circle goes on showing what it holds.
    let wasMember = stored.circle.evaluation.hasCertificate(identity.device)
    guard isMember || wasMember || stored.waiting?.device == identity.device else {
      throw HomeError(
        .keyMissing, "The keys in \(home.keys) are not those of a member of the circle in this store.",
        next: "put the right key file back, or join the circle anew")
    }
    waiting = isMember || wasMember ? nil : stored.waiting
    (incarnation, isSpent) = try Self.openIncarnation(stored, home, store, device: identity.device)
    unsent = try UnsentLogs(store, device: identity.device, incarnation: incarnation)
    replica = Replica(
      device: identity.device, circle: stored.circle, preference: stored.preference,
      localPremium: stored.localPremium, settings: stored.settings, records: stored.records,
      withheld: unsent.sent, newestForeignClock: stored.newestForeignClock, seed: randomSeed())
    replica.heard = stored.heard
    seenSets = try Self.seenSets(store)
    opened = store
    ballast = Ballast(home)
    ballast.hold()
    pausedPeers = stored.pausedPeers
    directions = stored.directions
    credentials = Credentials(identity: identity, circle: stored.circle, wall: wall)
  }

  /// A circle has taken in the keys that waited.
  func admitted(by statements: [Statement]) throws {
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.waiting, nil)
    waiting = nil
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

  /// Ends everything and lets go of the store; a second time does nothing.
  public func close() {
    guard let store = opened else { return }
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
  let waiting: AwaitedAdmission?
  let directions: Directions
  let heard: [StatementID: Set<DeviceKey>]

  init(_ store: Store, device: DeviceKey, wall: Moment) throws {
    var statements: [Statement] = []
    for bytes in try store.statements() { statements.append(try Statement(bytes)) }
    circle = try Circle(statements: statements)
    let horizon = Clock(milliseconds: wall + Limits.clockDriftMilliseconds)
    let evaluation = circle.evaluation
    _ = try store.admit(by: { evaluation.admission(of: $0, at: device) }, horizon: horizon)
    guard let incarnation = try store.meta(MetaKey.incarnation).flatMap({ Incarnation(bytes: $0) }) else {
      throw StoreError.damaged("it names no incarnation")
    }
    self.incarnation = incarnation
    preference = try store.meta(MetaKey.preference) == [1]
    heard = try store.heardRevocations()
    waiting = try store.meta(MetaKey.waiting).flatMap { AwaitedAdmission(bytes: $0) }
    localPremium = try LocalPremium(store)
    directions = try Directions(store, preference: preference)
    pausedPeers = Set(try store.metaLines(MetaKey.paused).compactMap { DeviceKey(hex: $0) })
    settings = Replica.LaneState(heads: store.heads(.settings), digest: store.digest(.settings))
    records = Replica.LaneState(heads: store.heads(.records), digest: store.digest(.records))
    newestForeignClock = store.newestFoldedClock(otherThan: device)
  }
}

/// What a node keeps beside the records.
enum MetaKey {
  static let incarnation = "incarnation"
  /// The device that has begun all the incarnations it may, if it is this one.
  static let spent = "incarnations-spent"
  /// Of own logs the newest set that may have been sent; see `UnsentLogs`.
  static let unsent = "unsent-logs"
  /// One byte: whether the person wants records to sync.
  static let preference = "sync-preference"
  /// Addresses the person gave, a line each.
  static let addresses = "peer-addresses"
  /// Devices the person paused, in hexadecimal, a line each.
  static let paused = "paused-peers"
  /// Which devices are known to hold a revocation: its id and theirs in hexadecimal, a line each.
  static let heard = "heard-revocations"
  /// A forced direction that is under way, and the last one that was carried out.
  static let direction = "direction"
  static let lastDirection = "last-direction"
  /// What operations of other devices deleted, as JSON.
  static let deletions = "deletions"
  /// For each lane the newest set number when the device was last in sync.
  static let seen = "seen-sets"
  /// The end of a mock purchase.
  static let mockPurchase = "mock-purchase"
  /// The keys of a restored store that wait for a circle to take them in; see `AwaitedAdmission`.
  static let waiting = "awaited-admission"
  /// One byte: whether this very device completed onboarding.
  static let completedOnboarding = "completed-onboarding"

  /// The person's choices on this device, which a backup takes along.
  static let choices = [preference, addresses, paused, completedOnboarding]
}

extension Store {
  func metaLines(_ key: String) throws -> [String] {
    String(decoding: try meta(key) ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
  }

  func setMetaLines(_ key: String, _ lines: [String]) throws {
    try setMeta(key, Array(lines.joined(separator: "\n").utf8))
  }
}
