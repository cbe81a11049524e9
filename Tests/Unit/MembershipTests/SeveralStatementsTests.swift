import Membership
import Sodium
import Testing
import Wire

/// Statements of which there are several about one device: revocations, cuts, grants and entitlements.
@Suite struct SeveralStatementsTests {
  private static let eve = World.key("eve")
  private static let erin = World.key("erin")

  private func body(_ statement: Statement) throws -> Revocation {
    guard case .revocation(let body) = statement.content else { throw StatementError.wrongCircle }
    return body
  }

  private func cut(
    _ world: World, by key: SigningKey, _ lane: Lane, tip: UInt64?, issued: Int64 = 4
  ) throws -> Statement {
    try Statement(
      signing: LogCut(
        circle: world.circle.id, log: World.log(of: key, lane), tip: tip.map { World.tip($0) },
        issued: issued), with: key)
  }

  // MARK: Logs

  @Test func `each revocation ends every log of a device at the tips that it keeps of that log`() throws {
    var world = try World()
    let (own, other) = (World.incarnation, Incarnation(Bytes16(7, 7)))
    let bob = DeviceKey(world.bob)
    func kept(_ incarnation: Incarnation, _ lane: Lane, _ tips: UInt64...) -> KeptLog {
      KeptLog(incarnation: incarnation, lane: lane, tips: tips.map { World.tip($0) })
    }
    func admission(_ incarnation: Incarnation, _ lane: Lane) -> Admission {
      world.circle.evaluation.admission(of: LogKey(device: bob, incarnation: incarnation, lane: lane))
    }
    func cuts(_ tips: [UInt64]...) -> Admission { .cut(Set(tips.map { Set($0.map { World.tip($0) }) })) }
    world.circle.insert([
      try world.certificate(by: world.alice, for: world.bob),
      try world.revocation(
        by: world.alice, of: world.bob,
        kept: [kept(own, .records, 1), kept(own, .settings, 2), kept(other, .records, 3, 4)]),
    ])
    #expect(admission(own, .records) == cuts([1]))
    #expect(admission(own, .settings) == cuts([2]))
    #expect(admission(other, .records) == cuts([3, 4]))
    #expect(admission(other, .settings) == cuts([]), "a log that is not listed is excluded")
    // The second one keeps other logs, and only what both keep may be folded.
    world.circle.insert([
      try world.revocation(
        by: world.root, of: world.bob, kept: [kept(own, .records, 5), kept(other, .records, 3)])
    ])
    #expect(admission(own, .records) == cuts([1], [5]))
    #expect(admission(own, .settings) == cuts([]))
    #expect(admission(other, .records) == cuts([3, 4], [3]))
    #expect(world.circle.evaluation.admission(of: World.log(of: world.alice)) == .open)
  }

  @Test func `a device's cuts of its own logs hold for each log by itself, and together with a revocation`()
    throws
  {
    var world = try World()
    let cuts = [
      try cut(world, by: world.bob, .records, tip: 6),
      try cut(world, by: world.bob, .records, tip: 8, issued: 5),
      try cut(world, by: world.bob, .settings, tip: nil),
    ]
    world.circle.insert([try world.certificate(by: world.alice, for: world.bob)] + cuts)
    func admission(_ lane: Lane) -> Admission {
      world.circle.evaluation.admission(of: World.log(of: world.bob, lane))
    }
    let own: Set<Set<ChangeSetID>> = [[World.tip(6)], [World.tip(8)]]
    let all = own.union([[World.tip(7)]])
    #expect(admission(.records) == .cut(own))
    #expect(admission(.settings) == .cut([[]]))
    let other = LogKey(
      device: DeviceKey(world.bob), incarnation: Incarnation(Bytes16(7, 7)), lane: .records)
    #expect(world.circle.evaluation.admission(of: other) == .open)
    let kept = [
      KeptLog(incarnation: World.incarnation, lane: .settings, tips: [World.tip(9)]),
      KeptLog(incarnation: World.incarnation, lane: .records, tips: [World.tip(7)]),
    ]
    world.circle.insert([
      try world.revocation(by: world.alice, of: world.bob, kept: kept, valid: Array(cuts.prefix(2)))
    ])
    #expect(admission(.records) == .cut(all))
    #expect(admission(.settings) == .cut([[World.tip(9)]]), "the revocation voids that cut")
    #expect(world.circle.evaluation.admission(of: other) == .cut([[]]))
  }

  // MARK: What a revocation keeps

  @Test func `a revocation keeps what the device itself has signed, except what is taken back by name`()
    throws
  {
    var world = try World()
    let (bob, carol, dave) = (world.bob, world.carol, world.dave)
    let (eve, erin) = (Self.eve, Self.erin)
    let invitations = [
      try world.certificate(by: bob, for: dave), try world.certificate(by: bob, for: erin),
    ]
    let cuts = [
      try cut(world, by: bob, .records, tip: 1), try cut(world, by: bob, .settings, tip: 2),
    ]
    let expelled = ["x", "y", "z"].map { World.key($0) }
    let expulsions = [
      try world.revocation(by: bob, of: expelled[0]), try world.revocation(by: bob, of: expelled[1]),
    ]
    world.circle.insert([
      try world.certificate(by: world.alice, for: bob), try world.certificate(by: world.alice, for: carol),
      // What other devices have signed stays valid without being listed.
      try world.certificate(by: carol, for: eve), try world.revocation(by: carol, of: expelled[2]),
      try cut(world, by: carol, .records, tip: 3),
    ])
    world.circle.insert(try expelled.map { try world.certificate(by: world.alice, for: $0) })
    world.circle.insert(invitations + cuts + expulsions)
    let all = Set((invitations + cuts + expulsions).map(\.id))
    let device = DeviceKey(bob)
    let plain = try world.circle.revocation(
      RevocationTerms(device: device, kept: []), by: world.root, at: 9)
    #expect(try Set(body(plain).valid) == all)

    let terms = RevocationTerms(
      device: device, kept: [], reinstated: [DeviceKey(expelled[0])], withdrawn: [DeviceKey(dave)])
    let statement = try world.circle.revocation(terms, by: world.root, at: 9)
    #expect(try Set(body(statement).valid) == all.subtracting([invitations[0].id, expulsions[0].id]))
    world.circle.insert([statement])
    let members = world.circle.evaluation.members.keys
    let expected = [world.alice, carol, eve, erin, expelled[0]].map { DeviceKey($0) }
    #expect(Set(members) == Set(expected))
  }

  // MARK: Grants

  @Test func `of several grants the greatest counts, for its device and lane, also of different admins`()
    throws
  {
    var world = try World()
    let (alice, bob, carol, dave) = (world.alice, world.bob, world.carol, world.dave)
    let circle = world.circle.id
    func grant(_ key: SigningKey, _ device: SigningKey, _ lane: Lane, _ bytes: UInt64) throws -> Statement {
      try Statement(
        signing: Grant(
          circle: circle, issuer: DeviceKey(key), device: DeviceKey(device), lane: lane, bytes: bytes,
          issued: 5), with: key)
    }
    world.circle.insert([
      try world.certificate(by: alice, for: bob),
      try world.certificate(by: alice, for: carol, role: .member),
      try world.certificate(by: alice, for: dave, role: .member),
    ])
    let grants = [
      try grant(alice, dave, .records, 3 << 30), try grant(bob, dave, .records, 5 << 30),
      try grant(world.root, dave, .records, 4 << 30), try grant(alice, dave, .settings, 8 << 20),
      try grant(alice, bob, .records, 2 << 30),
      // Carol is a member, and only admins can grant anything.
      try grant(carol, dave, .records, 9 << 30), try grant(carol, carol, .settings, 9 << 30),
    ]
    let usual = DeviceQuotas.standard
    let (mostOfDave, settingsOfDave, mostOfBob): (UInt64, UInt64, UInt64) = (5 << 30, 8 << 20, 2 << 30)
    for order in [grants, grants.reversed()] {
      var granted = world.circle
      for statement in order { granted.insert([statement]) }
      func quota(_ key: SigningKey, _ lane: Lane) -> UInt64 {
        granted.evaluation.quota(of: DeviceKey(key), lane)
      }
      #expect(quota(dave, .records) == mostOfDave && quota(dave, .settings) == settingsOfDave)
      #expect(quota(bob, .records) == mostOfBob && quota(bob, .settings) == usual.settings)
      #expect(quota(carol, .records) == usual.records && quota(carol, .settings) == usual.settings)
      let counting = granted.evaluation.grants[GrantKey(device: DeviceKey(dave), lane: .records)]
      #expect(counting?.body.issuer == DeviceKey(bob) && granted.evaluation.grants.count == 3)
      // What was written within a grant stays, although its signer is revoked.
      granted.insert([try world.revocation(by: world.root, of: bob)])
      #expect(quota(dave, .records) == mostOfDave)
    }
  }

  // MARK: Entitlements

  private func pinned(_ world: World, _ issuer: SigningKey) throws -> Statement {
    try Statement(
      signing: IssuerStatement(
        circle: world.circle.id, root: DeviceKey(world.root), issuers: [DeviceKey(issuer)], issued: 5),
      with: world.root)
  }

  private func withdrawal(_ world: World, _ entitlements: [Statement]) throws -> Statement {
    try Statement(
      signing: Withdrawal(
        circle: world.circle.id, signer: DeviceKey(world.issuer), entitlements: entitlements.map(\.id),
        issued: 9), with: world.issuer)
  }

  @Test func `own premium ends with the last of what any issuer of the circle gave to all devices`() throws {
    var world = try World()
    let circle = world.circle.id
    let next = World.key("next issuer")
    func own(_ end: Int64, _ serial: UInt64, by key: SigningKey) throws -> Statement {
      try OwnPremium.entitlement(of: circle, until: end, serial: Bytes16(0, serial), at: 100, with: key)
    }
    world.circle.insert([try world.entitlement(by: world.issuer, 100..<900)])
    #expect(world.circle.ownPremiumEnd == nil, "that was bought")
    let (long, short) = (try own(500, 1, by: world.issuer), try own(300, 2, by: world.issuer))
    world.circle.insert([long, short])
    #expect(world.circle.ownPremiumEnd == 500)
    let single = Entitlement(
      circle: circle, issuer: DeviceKey(world.issuer), devices: [DeviceKey(world.alice)], plan: "premium",
      issuedAt: 100, notBefore: 100, notAfter: 700, serial: Bytes16(0, 3), source: OwnPremium.source)
    world.circle.insert([
      try Statement(signing: single, with: world.issuer), try own(600, 4, by: next),
    ])
    #expect(world.circle.ownPremiumEnd == 500, "one is for a single device, and one by an unknown issuer")
    world.circle.insert([try withdrawal(world, [long])])
    #expect(world.circle.ownPremiumEnd == 300)
    world.circle.insert([try pinned(world, next)])
    #expect(world.circle.ownPremiumEnd == 600)
  }

  struct Loss: Sendable {
    let withdrawn: [Int64]
    let held: [Int64]
    let reason: GateReason
  }

  static let losses = [
    Loss(withdrawn: [], held: [50, 130], reason: .entitlementExpired),
    Loss(withdrawn: [90, 120], held: [], reason: .entitlementWithdrawn),
    Loss(withdrawn: [90, 120], held: [50], reason: .entitlementWithdrawn),
    Loss(withdrawn: [90, 120], held: [50, 100], reason: .entitlementWithdrawn),
    Loss(withdrawn: [90, 120], held: [50, 130], reason: .entitlementExpired),
    Loss(withdrawn: [90, 120], held: [120], reason: .entitlementExpired),
    Loss(withdrawn: [90, 200], held: [50, 130], reason: .entitlementWithdrawn),
  ]

  @Test(arguments: losses.indices)
  func `premium is withdrawn only if what was withdrawn would have lasted longest`(index: Int) throws {
    let row = Self.losses[index]
    var world = try World()
    world.circle.insert([try world.certificate(by: world.alice, for: world.bob)])
    var serial: UInt64 = 0
    func ending(_ ends: [Int64], for devices: [SigningKey]? = nil) throws -> [Statement] {
      try ends.map { end in
        serial += 1
        return try world.entitlement(by: world.issuer, for: devices, 10..<end, serial: serial)
      }
    }
    let withdrawn = try ending(row.withdrawn)
    // What Bob alone lost is no reason for Alice.
    let bobs = try ending([250], for: [world.bob])
    let held = try ending(row.held)
    world.circle.insert(withdrawn + bobs + held)
    world.circle.insert([try withdrawal(world, withdrawn + bobs)])
    func gate(_ key: SigningKey) -> Gate {
      world.circle.peerGate(device: DeviceKey(key), preference: true, at: 150)
    }
    #expect(gate(world.alice).reason == row.reason && gate(world.bob).reason == .entitlementWithdrawn)
    let own = world.circle.ownGate(device: DeviceKey(world.alice), preference: true, local: .none, at: 150)
    #expect(own == gate(world.alice) && own.nextChange == nil)
  }
}
