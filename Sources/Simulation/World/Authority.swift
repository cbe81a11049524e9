import Membership
import Replication
import Sodium
import Wire

/// The root and issuer keys of a simulated circle, with which its statements are signed.
final class Authority {
  let root: SigningKey
  let issuer: SigningKey
  /// The key of an issuer that runs with withdrawals accept too.
  let secondIssuer: SigningKey
  /// The key of an issuer that no device accepts.
  let stranger: SigningKey
  let genesis: Statement
  let circle: CircleID
  private var serial: UInt64 = 0

  init(founder: DeviceKeys, seed: UInt64, at now: Moment) throws {
    root = try Self.key(seed, "root")
    issuer = try Self.key(seed, "issuer")
    secondIssuer = try Self.key(seed, "second issuer")
    stranger = try Self.key(seed, "stranger")
    genesis = try Statement(
      signing: Genesis(
        root: DeviceKey(root), device: founder.device, transport: founder.transport, name: founder.name,
        issuers: [DeviceKey(issuer)], created: now, nonce: .zero),
      with: root)
    circle = genesis.circle
  }

  static func key(_ seed: UInt64, _ name: String) throws -> SigningKey {
    try SigningKey(seed: Blake2b256.bytes(Blake2b256.hash(Array("\(seed) \(name)".utf8))))
  }

  func certificate(for keys: DeviceKeys, by issuer: SigningKey? = nil, at now: Moment) throws -> Statement {
    let issuer = issuer ?? root
    return try Statement(
      signing: DeviceCertificate(
        circle: circle, issuer: DeviceKey(issuer), device: keys.device, transport: keys.transport,
        name: keys.name, role: .admin, issued: now),
      with: issuer)
  }

  /// - Parameter devices: the devices that the statement entitles; nil for all.
  func entitlement(
    for devices: [DeviceKey]?, _ times: Range<Moment>, issuedAt: Moment, by key: SigningKey? = nil
  ) throws -> Statement {
    serial += 1
    let key = key ?? issuer
    return try Statement(
      signing: Entitlement(
        circle: circle, issuer: DeviceKey(key), devices: devices, plan: "premium", issuedAt: issuedAt,
        notBefore: times.lowerBound, notAfter: times.upperBound, serial: Bytes16(0, serial),
        source: "simulation"),
      with: key)
  }
}

/// The keys of one device.
struct DeviceKeys {
  let name: String
  let signing: SigningKey
  let transport: TransportKey

  var device: DeviceKey { DeviceKey(signing) }

  init(_ name: String, seed: UInt64) throws {
    self.name = name
    signing = try Authority.key(seed, name)
    // Handshakes are not simulated, so the secret half of the transport key is never needed.
    let words = Blake2b256.hash(signing.publicKey)
    transport = TransportKey(Bytes32(words.0, words.1, words.2, words.3))
  }
}
