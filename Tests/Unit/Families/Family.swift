package import Membership
import Records
package import Replication
package import Sodium
package import Wire

/// Keys that are the same in every run, and the statements that they sign.
package struct Family {
  /// When the tests begin, as wall clock time.
  package static let start: Moment = 1_800_000_000_000

  package let founder: String
  package let root = Family.key("root")
  package let issuer = Family.key("issuer")
  package let genesis: Statement
  package let circle: CircleID

  package init(founder: String) throws {
    self.founder = founder
    genesis = try Statement(
      signing: Genesis(
        root: DeviceKey(root), device: DeviceKey(Family.key(founder)),
        transport: Family.transport(of: founder), name: founder, issuers: [DeviceKey(issuer)], created: 1,
        nonce: .zero),
      with: root)
    circle = genesis.circle
  }

  package static func key(_ name: String) -> SigningKey {
    let seed = Blake2b256.bytes(Blake2b256.hash(Array(name.utf8)))
    guard let key = try? SigningKey(seed: seed) else { preconditionFailure("no key for \(name)") }
    return key
  }

  /// The seed of the salts of every change set. Tests that look at salts use others.
  package static func seed() -> Bytes16 { Bytes16(5, 5) }

  package static func transport(of name: String) -> TransportKey {
    let words = Blake2b256.hash(key(name).publicKey)
    return TransportKey(Bytes32(words.0, words.1, words.2, words.3))
  }

  package func certificate(for name: String, by issuer: String? = nil) throws -> Statement {
    let issuer = issuer.map(Family.key) ?? root
    return try Statement(
      signing: DeviceCertificate(
        circle: circle, issuer: DeviceKey(issuer), device: DeviceKey(Family.key(name)),
        transport: Family.transport(of: name), name: name, role: .admin, issued: 2),
      with: issuer)
  }

  package func entitlement(
    for name: String, _ times: Range<Moment> = 0..<Family.start * 2, serial: UInt64 = 0
  ) throws -> Statement {
    try Statement(
      signing: Entitlement(
        circle: circle, issuer: DeviceKey(issuer), devices: [DeviceKey(Family.key(name))], plan: "premium",
        issuedAt: 0, notBefore: times.lowerBound, notAfter: times.upperBound, serial: Bytes16(0, serial),
        source: "test"),
      with: issuer)
  }

  /// Signed by the root unless `issuer` is given.
  package func revocation(
    of name: String, by issuer: String? = nil, kept: [KeptLog] = [], valid: [Statement] = []
  ) throws -> Statement {
    let issuer = issuer.map(Family.key) ?? root
    return try Statement(
      signing: Revocation(
        circle: circle, issuer: DeviceKey(issuer), device: DeviceKey(Family.key(name)), kept: kept,
        valid: valid.map(\.id), issued: 3),
      with: issuer)
  }
}

// MARK: Drafts

package func record(_ number: UInt64) -> RecordKey {
  RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(number << 56 | number, number)))
}

package func setting(_ number: UInt64) -> RecordKey {
  RecordKey(kind: KindNumbers.setting, id: RecordID(Bytes16(number << 56, number)))
}

package func insert(_ key: RecordKey, _ name: String = "Rome") -> EntryDraft {
  EntryDraft(.insert, key, [(1, .text(name))])
}

package func edit(_ key: RecordKey, _ name: String, field: FieldNumber = 1) -> EntryDraft {
  EntryDraft(.put, key, [(field, .text(name))])
}

package func delete(_ key: RecordKey) -> EntryDraft { EntryDraft(.delete, key) }
