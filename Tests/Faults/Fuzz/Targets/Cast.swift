import Membership
import Replication
import Sodium
import Wire

/// The keys of all devices, the same in every run, and their circle.
///
/// Alice founded the circle, Bob and Mallory are members, Trent issues entitlements. Mallory has keys like every
/// other member, and the fuzzer controls them.
enum Cast {
  static let root = signing("root")
  static let alice = signing("alice")
  static let bob = signing("bob")
  static let mallory = signing("mallory")
  static let eve = signing("eve")
  static let trent = signing("trent")
  /// Devices that may sign statements.
  static let everyone = [root, alice, bob, mallory, eve, trent]

  static let aliceTransport = agreement("alice")
  static let bobTransport = agreement("bob")
  static let malloryTransport = agreement("mallory")
  static let eveTransport = agreement("eve")
  static let transports = [aliceTransport, bobTransport, malloryTransport, eveTransport].map(transport)

  static let genesis = signed(
    Genesis(
      root: DeviceKey(root), device: DeviceKey(alice), transport: transport(aliceTransport), name: "alice",
      issuers: [DeviceKey(trent)], created: 1, nonce: .zero), by: root)
  static var circle: CircleID { genesis.circle }

  /// A point in time: noon on every device's clock.
  static let noon: Moment = 1_800_000_000_000

  static func certificate(_ key: SigningKey, _ transport: AgreementKey, _ name: String, _ role: Role)
    -> Statement
  {
    signed(
      DeviceCertificate(
        circle: circle, issuer: DeviceKey(root), device: DeviceKey(key), transport: Self.transport(transport),
        name: name, role: role, issued: 2), by: root)
  }

  /// For every device of the circle, without expiry.
  static let entitlement = signed(
    Entitlement(
      circle: circle, issuer: DeviceKey(trent), devices: nil, plan: "premium", issuedAt: 0, notBefore: 0,
      notAfter: noon * 2, serial: .zero, source: "test"), by: trent)

  static func signed(_ body: some StatementBody, by key: SigningKey) -> Statement {
    guard let statement = try? Statement(signing: body, with: key) else {
      preconditionFailure("a statement of the cast is invalid")
    }
    return statement
  }

  static func transport(_ key: AgreementKey) -> TransportKey {
    guard let transport = TransportKey(bytes: key.publicKey) else {
      preconditionFailure("a public key has 32 bytes")
    }
    return transport
  }

  private static func seed(_ text: String) -> [UInt8] { Blake2b256.bytes(Blake2b256.hash(Array(text.utf8))) }

  private static func signing(_ name: String) -> SigningKey {
    guard let key = try? SigningKey(seed: seed(name)) else { preconditionFailure("no key for \(name)") }
    return key
  }

  static func agreement(_ name: String) -> AgreementKey {
    guard let key = try? AgreementKey(secret: seed("transport of " + name)) else {
      preconditionFailure("no transport key for \(name)")
    }
    return key
  }
}
