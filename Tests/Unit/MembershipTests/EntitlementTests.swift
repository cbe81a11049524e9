import Membership
import Sodium
import Testing
import Wire

/// Which devices are premium at millisecond 150, and why the others are not.
@Suite struct `Entitlements` {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reason: GateReason?
    var until: Int64?
    let statements: @Sendable (World) throws -> [Statement]

    init(
      _ title: String, _ reason: GateReason?, until: Int64? = nil,
      _ statements: @escaping @Sendable (World) throws -> [Statement]
    ) {
      testDescription = title
      self.reason = reason
      self.until = until
      self.statements = statements
    }
  }

  static let next = World.key("next issuer")

  /// The root, or a key that claims to be the root, pins the next issuer.
  static func pin(_ world: World, by key: SigningKey) throws -> Statement {
    try Statement(
      signing: IssuerStatement(
        circle: world.circle.id, root: DeviceKey(key), issuers: [DeviceKey(next)], issued: 5),
      with: key)
  }

  static let cases = [
    Case("no entitlement", .freeTier) { _ in [] },
    Case("one that holds", nil, until: 200) { [try $0.entitlement(by: $0.issuer, 100..<200)] },
    Case("one in its last millisecond", nil, until: 151) { [try $0.entitlement(by: $0.issuer, 100..<151)] },
    Case("one that has just ended", .entitlementExpired) { [try $0.entitlement(by: $0.issuer, 100..<150)] },
    Case("one that has just begun", nil, until: 200) { [try $0.entitlement(by: $0.issuer, 150..<200)] },
    Case("one that begins in a millisecond", .entitlementNotYetValid) {
      [try $0.entitlement(by: $0.issuer, 151..<200)]
    },
    Case("one that has ended and one to come", .entitlementExpired) {
      [try $0.entitlement(by: $0.issuer, 100..<150), try $0.entitlement(by: $0.issuer, 160..<200)]
    },
    Case("one for another device", .freeTier) {
      [try $0.entitlement(by: $0.issuer, for: [$0.bob], 100..<200)]
    },
    Case("one for several devices", nil, until: 200) {
      [try $0.entitlement(by: $0.issuer, for: [$0.bob, $0.alice], 100..<200)]
    },
    Case("one that ended and another's that holds", .entitlementExpired) {
      [
        try $0.entitlement(by: $0.issuer, 100..<150),
        try $0.entitlement(by: $0.issuer, for: [$0.bob], 100..<200),
      ]
    },
    Case("an unknown issuer's", .freeTier) { [try $0.entitlement(by: next, 100..<200)] },
    Case("the device's own", .freeTier) { [try $0.entitlement(by: $0.alice, 100..<200)] },
    Case("the root key's", .freeTier) { [try $0.entitlement(by: $0.root, 100..<200)] },
    Case("the next issuer's, pinned by the root", nil, until: 200) {
      [try $0.entitlement(by: next, 100..<200), try pin($0, by: $0.root)]
    },
    Case("the former issuer's, after the root has pinned another", nil, until: 200) {
      [try $0.entitlement(by: $0.issuer, 100..<200), try pin($0, by: $0.root)]
    },
    Case("one of an issuer that an admin pins", .freeTier) {
      [try $0.entitlement(by: next, 100..<200), try pin($0, by: $0.alice)]
    },
    Case("one of an issuer that pins itself", .freeTier) {
      [try $0.entitlement(by: next, 100..<200), try pin($0, by: next)]
    },
    Case("renewed without a gap", nil, until: 300) {
      [try $0.entitlement(by: $0.issuer, 100..<160), try $0.entitlement(by: $0.issuer, 155..<300)]
    },
    Case("renewed to the millisecond", nil, until: 300) {
      [try $0.entitlement(by: $0.issuer, 100..<160), try $0.entitlement(by: $0.issuer, 160..<300)]
    },
    Case("renewed too late", .entitlementExpired) {
      [try $0.entitlement(by: $0.issuer, 100..<140), try $0.entitlement(by: $0.issuer, 151..<300)]
    },
    Case("back-dated by the issuer", nil, until: 200) {
      [try $0.entitlement(by: $0.issuer, 0..<200, issuedAt: 0)]
    },
    Case("renewed by the next issuer", nil, until: 300) {
      [
        try $0.entitlement(by: $0.issuer, 100..<160), try $0.entitlement(by: next, 160..<300),
        try pin($0, by: $0.root),
      ]
    },
  ]

  @Test(arguments: cases) func `decide by its issuers' certificates whether a device is premium`(_ row: Case)
    throws
  {
    let statements = try row.statements(try World())
    for order in [statements, statements.reversed()] {
      var world = try World()
      for statement in order { world.circle.insert([statement]) }
      let alice = DeviceKey(world.alice)
      let own = world.circle.ownGate(device: alice, preference: true, local: .none, at: 150)
      #expect(own.reason == row.reason)
      #expect(own.validUntil == row.until)
      let peer = world.circle.peerGate(device: alice, preference: true, at: 150)
      #expect(peer.reason == row.reason, "a peer comes to the same result as the device itself")
    }
  }

  @Test func `count for members only`() throws {
    var world = try World()
    let bob = DeviceKey(world.bob)
    world.circle.insert([try world.entitlement(by: world.issuer, 100..<200)])
    #expect(world.circle.peerGate(device: bob, preference: true, at: 150).reason == .freeTier)
    world.circle.insert([try world.certificate(by: world.alice, for: world.bob)])
    #expect(world.circle.peerGate(device: bob, preference: true, at: 150).isOpen)
    world.circle.insert([try world.revocation(by: world.alice, of: world.bob)])
    #expect(world.circle.peerGate(device: bob, preference: true, at: 150).reason == .freeTier)
  }

  @Test func `with any one byte changed are invalid`() throws {
    let world = try World()
    let bytes = try world.entitlement(by: world.issuer, for: [world.bob], 100..<200).bytes
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1
      #expect(throws: StatementError.self, "byte \(index)") { try Statement(changed) }
    }
  }

  @Test func `of another circle are rejected`() throws {
    var world = try World()
    let other = try Statement(
      signing: Entitlement(
        circle: CircleID(Bytes32(0, 0, 0, 1)), issuer: DeviceKey(world.issuer), devices: nil, plan: "premium",
        issuedAt: 0, notBefore: 100, notAfter: 200, serial: .zero, source: "test"),
      with: world.issuer)
    #expect(throws: StatementError.wrongCircle) { try world.circle.insert(other.bytes) }
    let alice = DeviceKey(world.alice)
    #expect(world.circle.peerGate(device: alice, preference: true, at: 150).reason == .freeTier)
  }

  @Test(arguments: [
    (signer: "unknown", time: Int64(150)), (signer: "device", time: 150), (signer: "issuer", time: 9_000),
  ]) func `advance gate time only if an accepted issuer dates them`(signer: String, time: Int64) throws {
    var world = try World()
    let key = ["unknown": Self.next, "device": world.alice, "issuer": world.issuer][signer]
    // Issued for another device: an issuer's time applies to all.
    let far = try world.entitlement(
      by: try #require(key), for: [world.bob], 8_000..<10_000, issuedAt: 9_000)
    world.circle.insert([far])
    #expect(world.circle.gateTime(wall: 150, newestFolded: nil) == time)
  }
}
