import Membership
import RecordTables
import Records
import Replication
import SQLite
import Simulation
import Sodium
import Storage
import Testing
import Verification
import VirtualDisk
import Wire

/// Devices with real stores, statements and sets, observed by a judge. Sets are handed from one to another directly:
/// sessions have tests of their own.
final class JudgedWorld {
  let judge = Judge()
  let root = JudgedWorld.key("root")
  let issuer = JudgedWorld.key("issuer")
  private(set) var devices: [JudgedDevice] = []
  private(set) var statements: [Membership.Statement] = []
  let circle: CircleID
  var wall: Moment = 1_800_000_000_000

  /// - Parameter names: the founder first; all are admins with premium.
  init(_ names: [String] = ["alice", "bob"]) throws {
    let founder = Self.key(names[0])
    let genesis = try Statement(
      signing: Genesis(
        root: DeviceKey(root), device: DeviceKey(founder), transport: Self.transport(names[0]),
        name: names[0], issuers: [DeviceKey(issuer)], created: 1, nonce: .zero), with: root)
    circle = genesis.circle
    statements = [genesis]
    for name in names.dropFirst() { statements.append(try certificate(name)) }
    statements.append(try entitlement(0..<wall * 2))
    for name in names { try add(name) }
  }

  static func key(_ name: String) -> SigningKey {
    guard let key = try? SigningKey(seed: Blake2b256.bytes(Blake2b256.hash(Array(name.utf8)))) else {
      preconditionFailure("no key for \(name)")
    }
    return key
  }

  static func transport(_ name: String) -> TransportKey {
    let words = Blake2b256.hash(key(name).publicKey)
    return TransportKey(Bytes32(words.0, words.1, words.2, words.3))
  }

  subscript(name: String) -> JudgedDevice {
    guard let device = devices.first(where: { $0.name == name }) else { preconditionFailure("no \(name)") }
    return device
  }

  /// - Parameter keys: the name of another device whose keys it has; its own if nil.
  @discardableResult
  func add(_ name: String, keys: String? = nil, incarnation: UInt64 = 1) throws -> JudgedDevice {
    let device = try JudgedDevice(name, keys ?? name, circle, incarnation: incarnation)
    devices.append(device)
    try device.learn(statements, wall: wall)
    try start(name)
    return device
  }

  func start(_ name: String) throws {
    let device = self[name]
    try judge.started(
      name, device: device.key.publicKey, connection: device.reader, wall: wall, prefersSync: true)
  }

  func look(_ name: String) throws { try judge.looked(at: name, wall: wall) }

  // MARK: User actions

  @discardableResult
  func write(_ name: String, _ lane: Lane = .records, _ drafts: EntryDraft...) throws -> [VerifiedChangeSet] {
    try write(name, lane, drafts)
  }

  @discardableResult
  func write(
    _ name: String, _ lane: Lane, _ drafts: [EntryDraft], verb: String = "test", target: OperationID? = nil,
    ahead: Moment = 0
  ) throws -> [VerifiedChangeSet] {
    wall += 1_000
    let sets = try self[name].write(lane, drafts, verb: verb, target: target, wall: wall + ahead)
    try look(name)
    try judge.acknowledged(name, sets.map(\.id.bytes))
    return sets
  }

  func sync(_ from: String, to: String) throws {
    wall += 1_000
    try self[to].take(self[from].known, wall: wall)
    try look(to)
  }

  func meet() throws {
    for _ in 0..<2 {
      for one in devices { for other in devices where one !== other { try sync(one.name, to: other.name) } }
    }
  }

  func healed() throws {
    try judge.healed(devices.map(\.name), premium: devices.map(\.name))
  }

  /// All devices receive the statements and rebuild their logs by them.
  func learn(_ added: Membership.Statement..., on names: [String]? = nil) throws {
    statements += added
    for device in devices where names?.contains(device.name) ?? true {
      try device.learn(added, wall: wall)
      try look(device.name)
    }
  }

  /// The state that a device must report.
  ///
  /// - Parameter added: statements that it has stored and not applied yet.
  func stateHash(
    _ name: String, of lanes: [Lane] = Lane.allCases, with added: [Membership.Statement] = []
  ) throws -> Bytes32 {
    let device = self[name]
    var input = try Circle(statements: device.held + added, developmentIssuer: nil).setHash.bytes
    for lane in lanes {
      let heads = Heads(device.store.heads(lane))
      input.append(lane.rawValue)
      input += heads.storedHash.bytes + heads.foldedHash.bytes + device.store.digest(lane).sum.bytes
    }
    return blake2b256(HeadsPrefix.state, input)
  }

  // MARK: Statements

  func certificate(_ name: String, role: Role = .admin) throws -> Membership.Statement {
    try Statement(
      signing: DeviceCertificate(
        circle: circle, issuer: DeviceKey(root), device: DeviceKey(Self.key(name)),
        transport: Self.transport(name), name: name, role: role, issued: 2), with: root)
  }

  func entitlement(_ times: Range<Moment>, for name: String? = nil) throws -> Membership.Statement {
    try Statement(
      signing: Entitlement(
        circle: circle, issuer: DeviceKey(issuer), devices: name.map { [DeviceKey(Self.key($0))] },
        plan: "premium", issuedAt: 0, notBefore: times.lowerBound, notAfter: times.upperBound,
        serial: Bytes16(0, 1), source: "test"), with: issuer)
  }

  /// Revokes a device and keeps its logs up to some sets.
  func revocation(_ name: String, kept: [(LogKey, ChangeSetID)]) throws -> Membership.Statement {
    let logs = kept.sorted { $0.0 < $1.0 }.map {
      KeptLog(incarnation: $0.0.incarnation, lane: $0.0.lane, tips: [$0.1])
    }
    return try Statement(
      signing: Revocation(
        circle: circle, issuer: DeviceKey(root), device: DeviceKey(Self.key(name)), kept: logs, valid: [],
        issued: 3), with: root)
  }
}

/// One device: a key, a store on a disk in memory, and its statements.
final class JudgedDevice {
  let name: String
  /// The device whose keys it has.
  let keys: String
  let key: SigningKey
  let circle: CircleID
  let disk = Disk()
  private let volume: Volume
  private(set) var store: Store
  /// Reads and plants damage, bypassing the store's own connection.
  private(set) var reader: Connection
  var incarnation: Incarnation
  private(set) var known: [VerifiedChangeSet] = []
  private(set) var held: [Membership.Statement] = []
  private var operations: UInt64 = 0
  private var seeds: UInt64 = 0

  init(_ name: String, _ keys: String, _ circle: CircleID, incarnation: UInt64) throws {
    self.name = name
    self.keys = keys
    key = JudgedWorld.key(keys)
    self.circle = circle
    self.incarnation = Incarnation(Bytes16(UInt64(keys.utf8.first ?? 0), incarnation))
    volume = try Volume(disk)
    store = try Store(on: volume, path: "store.db")
    reader = try Connection(on: volume, "store.db")
  }

  func log(_ lane: Lane) -> LogKey {
    LogKey(device: DeviceKey(key), incarnation: incarnation, lane: lane)
  }

  func write(
    _ lane: Lane, _ drafts: [EntryDraft], verb: String, target: OperationID?, wall: Moment
  ) throws -> [VerifiedChangeSet] {
    operations += 1
    var author = Author(position: try store.authorPosition(circle: circle, log: log(lane)), key: key) {
      self.seeds += 1
      return Bytes16(0, self.seeds)
    }
    let id = OperationID(Bytes16(incarnation.raw.word0 ^ UInt64(name.utf8.count) << 40, operations))
    let sets = try author.write(
      drafts, operation: OperationDraft(id: id, verb: verb, target: target), wall: wall)
    try take(sets, horizon: Clock(raw: .max))
    return sets
  }

  func take(_ sets: [VerifiedChangeSet], wall: Moment) throws {
    try take(sets, horizon: Clock(milliseconds: wall + 600_000))
  }

  private func take(_ sets: [VerifiedChangeSet], horizon: Clock) throws {
    let report = try store.commit(sets, horizon: horizon)
    for (set, placement) in zip(sets, report.placements) {
      if case .place = placement { known.append(set) }
    }
  }

  /// The set with some of its values replaced by their commitments, as a device may send it that has erased them.
  static func copy(of set: VerifiedChangeSet, without slots: Set<Int>) throws -> VerifiedChangeSet {
    try VerifiedChangeSet(
      verifying: RawChangeSet(
        header: set.raw.header, signature: set.raw.signature, plan: set.raw.plan,
        values: set.values(without: slots)))
  }

  func foldParked(wall: Moment) throws {
    _ = try store.foldParked(horizon: Clock(milliseconds: wall + 600_000))
  }

  func learn(_ added: [Membership.Statement], wall: Moment) throws {
    held += added
    try store.saveStatements(added.map { ($0.id, $0.bytes) })
    let evaluation = try Circle(statements: held, developmentIssuer: nil).evaluation
    let device = DeviceKey(key)
    _ = try store.admit(
      by: { evaluation.admission(of: $0, at: device) }, horizon: Clock(milliseconds: wall + 600_000))
  }

  /// The findings of `verify --deep`.
  func findings() throws -> [DeepFinding] {
    try DeepVerification.run(on: volume, path: "store.db").findings
  }

  /// Damage that no part of the node would cause.
  func damage(_ sql: String) throws { try reader.execute(sql) }
}

// MARK: Records

func key(_ kind: KindNumber, _ number: UInt64) -> RecordKey {
  RecordKey(kind: kind, id: RecordID(Bytes16(number << 56 | number, number)))
}

func trip(_ number: UInt64) -> RecordKey { key(KindNumbers.trip, number) }
func lodging(_ number: UInt64) -> RecordKey { key(KindNumbers.lodging, number) }
func setting(_ number: UInt64) -> RecordKey { key(KindNumbers.setting, number) }

func insert(_ key: RecordKey, _ fields: [FieldNumber: Value]) -> EntryDraft {
  EntryDraft(.insert, key, fields.map { ($0.key, $0.value) })
}

func edit(_ key: RecordKey, _ fields: [FieldNumber: Value]) -> EntryDraft {
  EntryDraft(.put, key, fields.map { ($0.key, $0.value) })
}

func delete(_ key: RecordKey) -> EntryDraft { EntryDraft(.delete, key) }
func restore(_ key: RecordKey) -> EntryDraft { EntryDraft(.restore, key) }
func erase(_ key: RecordKey) -> EntryDraft { EntryDraft(.erase, key) }
