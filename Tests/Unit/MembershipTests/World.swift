import Membership
import Sodium
import Wire

/// Keys that are the same in every run, and the statements that they sign.
struct World {
  let root = World.key("root")
  let alice = World.key("alice")
  let bob = World.key("bob")
  let carol = World.key("carol")
  let dave = World.key("dave")
  let issuer = World.key("issuer")
  let genesis: Statement
  var circle: Circle

  init(developmentIssuer: DeviceKey? = nil) throws {
    genesis = try Statement(
      signing: Genesis(
        root: DeviceKey(root), device: DeviceKey(alice), transport: World.transport(of: alice),
        name: "laptop", issuers: [DeviceKey(issuer)], created: 1, nonce: .zero),
      with: root)
    circle = try Circle(genesis: genesis, developmentIssuer: developmentIssuer)
  }

  static func key(_ name: String) -> SigningKey {
    let seed = Blake2b256.bytes(Blake2b256.hash(Array(name.utf8)))
    guard let key = try? SigningKey(seed: seed) else { preconditionFailure("no key for \(name)") }
    return key
  }

  static func transport(of key: SigningKey) -> TransportKey {
    let words = Blake2b256.hash(key.publicKey)
    return TransportKey(Bytes32(words.0, words.1, words.2, words.3))
  }

  func certificate(
    by issuer: SigningKey, for key: SigningKey, role: Role = .admin, issued: Int64 = 2, name: String = "x"
  ) throws -> Statement {
    try Statement(
      signing: DeviceCertificate(
        circle: circle.id, issuer: DeviceKey(issuer), device: DeviceKey(key),
        transport: World.transport(of: key), name: name, role: role, issued: issued),
      with: issuer)
  }

  func revocation(
    by issuer: SigningKey, of key: SigningKey, kept: [KeptLog] = [], valid: [Statement] = []
  ) throws -> Statement {
    try Statement(
      signing: Revocation(
        circle: circle.id, issuer: DeviceKey(issuer), device: DeviceKey(key), kept: kept,
        valid: valid.map(\.id), issued: 3),
      with: issuer)
  }

  func addresses(of key: SigningKey, clock: UInt64, _ list: [String] = ["192.0.2.1:1"]) throws -> Statement {
    try Statement(
      signing: AddressStatement(
        circle: circle.id, device: DeviceKey(key), clock: clock, addresses: list),
      with: key)
  }

  func entitlement(
    by issuer: SigningKey, for devices: [SigningKey]? = nil, _ times: Range<Int64>, issuedAt: Int64 = 0,
    serial: UInt64 = 0
  ) throws -> Statement {
    try Statement(
      signing: Entitlement(
        circle: circle.id, issuer: DeviceKey(issuer), devices: devices.map { $0.map { DeviceKey($0) } },
        plan: "premium", issuedAt: issuedAt, notBefore: times.lowerBound, notAfter: times.upperBound,
        serial: Bytes16(0, serial), source: "test"),
      with: issuer)
  }

  static let incarnation = Incarnation(Bytes16(1, 2))

  static func tip(_ number: UInt64) -> ChangeSetID { ChangeSetID(Bytes32(0, 0, 0, number)) }

  static func log(of key: SigningKey, _ lane: Lane = .records) -> LogKey {
    LogKey(device: DeviceKey(key), incarnation: incarnation, lane: lane)
  }
}

/// The answers of a circle to all queries, as one comparable value.
struct Snapshot: Hashable {
  var setHash: Bytes32
  var members: [DeviceKey: Member]
  var revoked: Set<DeviceKey>
  var admissions: [Admission]
  var addresses: [[String]]
  var gates: [Gate]
  var issuers: Set<DeviceKey>

  init(_ circle: Circle, devices: [SigningKey]) {
    setHash = circle.setHash
    members = circle.evaluation.members
    revoked = Set(circle.evaluation.revocations.keys)
    issuers = circle.evaluation.issuers
    admissions = devices.flatMap { device in
      Lane.allCases.map { circle.evaluation.admission(of: World.log(of: device, $0)) }
    }
    addresses = devices.map { circle.addresses(of: DeviceKey($0)) }
    gates = devices.map { circle.peerGate(device: DeviceKey($0), preference: true, at: 150) }
  }
}
