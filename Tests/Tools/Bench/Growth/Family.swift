import Membership
import Sodium
import Wire

/// A circle that exists only in memory: the same keys and statements in every run.
struct Family {
  let keys: [SigningKey]
  let circle: Circle

  init(_ count: Int) throws {
    let root = try Self.key("root")
    let issuer = try Self.key("issuer")
    let keys = try (0..<count).map { try Self.key("device \($0)") }
    let genesis = try Statement(
      signing: Genesis(
        root: DeviceKey(root), device: DeviceKey(keys[0]), transport: Self.transport(keys[0]), name: "0",
        issuers: [DeviceKey(issuer)], created: 1, nonce: .zero),
      with: root)
    var statements = [genesis]
    statements += try keys.enumerated().dropFirst().map { number, key in
      try Statement(
        signing: DeviceCertificate(
          circle: genesis.circle, issuer: DeviceKey(root), device: DeviceKey(key),
          transport: Self.transport(key), name: "\(number)", role: .admin, issued: 2),
        with: root)
    }
    statements.append(
      try Statement(
        signing: Entitlement(
          circle: genesis.circle, issuer: DeviceKey(issuer), devices: nil, plan: "premium", issuedAt: 0,
          notBefore: 0, notAfter: Network.start * 2, serial: .zero, source: "bench"),
        with: issuer))
    circle = try Circle(statements: statements)
    self.keys = keys
  }

  private static func key(_ name: String) throws -> SigningKey {
    try SigningKey(seed: Blake2b256.bytes(Blake2b256.hash(Array(name.utf8))))
  }

  /// There are no handshakes, so the secret half is not needed.
  static func transport(_ key: SigningKey) -> TransportKey {
    let words = Blake2b256.hash(key.publicKey)
    return TransportKey(Bytes32(words.0, words.1, words.2, words.3))
  }
}
