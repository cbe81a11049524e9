// Protocol/circle.md, "Withdrawal (13)".
//
// The root key withdraws issuers and any entitlement, an issuer only entitlements that it has signed itself:
//
//     signer            key 3: issuers         key 4: entitlements
//     root key          withdrawn              withdrawn
//     an issuer         no effect              those that it signed are withdrawn
//     any other key     no effect              those that it signed are withdrawn; they never counted
//
// A withdrawal is final, and nothing voids it. So what is withdrawn is a union over all withdrawals, which depends
// neither on their order of arrival nor on the times that they state.

package import Wire

/// A statement that issuers are accepted no longer, and that entitlements count no longer.
package struct Withdrawal: StatementBody {
  package var circle: CircleID
  /// The root key or an issuer.
  package var signer: DeviceKey
  /// The withdrawn issuers in ascending order; empty for none.
  package let issuers: [DeviceKey]
  /// The withdrawn entitlements in ascending order; empty for none.
  package let entitlements: [StatementID]
  package var issued: Int64

  package static let kind = StatementKind.withdrawal

  package init(
    circle: CircleID, signer: DeviceKey, issuers: [DeviceKey] = [], entitlements: [StatementID] = [],
    issued: Int64
  ) {
    self.circle = circle
    self.signer = signer
    self.issuers = Set(issuers).sorted()
    self.entitlements = Set(entitlements).sorted()
    self.issued = issued
  }

  init(_ circle: CircleID, _ signer: DeviceKey, _ map: inout MapReader) throws(WireError) {
    self.circle = circle
    self.signer = signer
    issuers = try Self.list(3, &map).map { DeviceKey($0) }
    entitlements = try Self.list(4, &map).map { StatementID($0) }
    guard !issuers.isEmpty || !entitlements.isEmpty else { throw .unexpected(offset: map.reader.offset) }
    issued = try map.milliseconds(5)
  }

  private static func list(_ key: UInt64, _ map: inout MapReader) throws(WireError) -> [Bytes32] {
    guard try map.optional(key) else { return [] }
    return try map.reader.ascending(max: Limits.withdrawnMax) { (reader) throws(WireError) in
      try reader.bytes32()
    }
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 160 + 34 * (issuers.count + entitlements.count))
    writer.map(4 + (issuers.isEmpty ? 0 : 1) + (entitlements.isEmpty ? 0 : 1))
    writer.common(circle, signer)
    if !issuers.isEmpty { writer.pair(3, issuers) }
    if !entitlements.isEmpty { writer.pair(4, entitlements) }
    writer.pair(5, issued)
    return writer.bytes
  }
}

/// An entitlement that a circle holds, from any issuer.
package struct HeldEntitlement: Hashable, Sendable {
  package let id: StatementID
  package let body: Entitlement
  /// Whether it or its issuer was withdrawn.
  package let isWithdrawn: Bool

  package init(id: StatementID, body: Entitlement, isWithdrawn: Bool) {
    self.id = id
    self.body = body
    self.isWithdrawn = isWithdrawn
  }
}

/// Everything that the withdrawals of a circle name.
struct WithdrawnStatements {
  private let root: DeviceKey
  private(set) var issuers: Set<DeviceKey> = []
  /// The signers that withdrew each entitlement.
  private var entitlements: [StatementID: Set<DeviceKey>] = [:]

  init(root: DeviceKey) { self.root = root }

  mutating func add(_ body: Withdrawal) {
    for id in body.entitlements { entitlements[id, default: []].insert(body.signer) }
    // If the root key could be withdrawn, nothing could withdraw what an issuer does after that.
    if body.signer == root { issuers.formUnion(body.issuers.filter { $0 != root }) }
  }

  func contains(_ id: StatementID, _ body: Entitlement) -> Bool {
    guard !issuers.contains(body.issuer) else { return true }
    guard let signers = entitlements[id] else { return false }
    return signers.contains(root) || signers.contains(body.issuer)
  }
}
