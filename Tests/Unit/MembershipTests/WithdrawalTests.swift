import Membership
import Sodium
import Testing
import Wire

/// Which withdrawals count, at millisecond 150.
@Suite struct WithdrawalTests {
  static let next = World.key("next issuer")

  private func withdrawal(
    _ world: World, by key: SigningKey, issuers: [SigningKey] = [], _ entitlements: [Statement] = [],
    issued: Int64 = 9
  ) throws -> Statement {
    try Statement(
      signing: Withdrawal(
        circle: world.circle.id, signer: DeviceKey(key), issuers: issuers.map { DeviceKey($0) },
        entitlements: entitlements.map(\.id), issued: issued),
      with: key)
  }

  private func pin(_ world: World, _ issuer: SigningKey, issued: Int64 = 5) throws -> Statement {
    try Statement(
      signing: IssuerStatement(
        circle: world.circle.id, root: DeviceKey(world.root), issuers: [DeviceKey(issuer)], issued: issued),
      with: world.root)
  }

  private func gate(_ circle: Circle, _ key: SigningKey, at time: Int64 = 150) -> Gate {
    circle.ownGate(device: DeviceKey(key), preference: true, local: .none, at: time)
  }

  /// Statements of which each may change what the others mean, in every order of arrival.
  @Test(arguments: 0..<3) func `withdrawals give the same result in every order of arrival`(scenario: Int)
    throws
  {
    let world = try World()
    let (one, other) = (
      try world.entitlement(by: world.issuer, 100..<200),
      try world.entitlement(by: Self.next, 100..<300, serial: 1)
    )
    let scenarios = [
      [
        one, other, try pin(world, Self.next), try withdrawal(world, by: world.root, issuers: [Self.next]),
        try withdrawal(world, by: world.issuer, [one, other]), try pin(world, Self.next, issued: 900),
      ],
      [
        one, other, try pin(world, Self.next), try withdrawal(world, by: Self.next, [one, other]),
        try withdrawal(world, by: world.alice, issuers: [world.issuer], [one]),
        try withdrawal(world, by: world.root, [other]),
      ],
      [
        one, try world.certificate(by: world.alice, for: world.bob),
        try world.revocation(by: world.bob, of: world.alice), try withdrawal(world, by: world.bob, [one]),
        try withdrawal(world, by: world.root, issuers: [world.root, world.issuer]),
        try world.entitlement(by: world.issuer, for: [world.bob], 100..<250, serial: 2),
      ],
    ]
    var bySet: [Set<StatementID>: Snapshot] = [:]
    let devices = [world.alice, world.bob]
    for order in permutations(scenarios[scenario]) {
      var circle = world.circle
      var set: Set<StatementID> = []
      for statement in order {
        circle.insert([statement])
        set.insert(statement.id)
        let snapshot = Snapshot(circle, devices: devices)
        if let known = bySet[set] { #expect(snapshot == known) } else { bySet[set] = snapshot }
      }
      #expect(
        try Snapshot(Circle(statements: [world.genesis] + order, developmentIssuer: nil), devices: devices)
          == bySet[set])
    }
    #expect(bySet.count == 1 << scenarios[scenario].count - 1)
  }

  @Test func `only the root key and the issuer itself can withdraw an entitlement`() throws {
    let world = try World()
    let one = try world.entitlement(by: world.issuer, 100..<200)
    for (key, counts) in [
      (world.root, true), (world.issuer, true), (Self.next, false), (world.alice, false), (world.bob, false),
    ] {
      var circle = world.circle
      circle.insert([one, try pin(world, Self.next), try withdrawal(world, by: key, [one])])
      #expect(gate(circle, world.alice).reason == (counts ? .entitlementWithdrawn : nil))
      #expect(circle.accepted.isEmpty == counts)
      #expect(
        circle.introduction(of: DeviceKey(world.alice), wallMilliseconds: 0)?.entitlements.isEmpty == counts)
    }
  }

  @Test func `only the root key can withdraw an issuer, and nothing withdraws the root key`() throws {
    let world = try World()
    let one = try world.entitlement(by: world.issuer, 100..<200)
    for key in [world.issuer, Self.next, world.alice, world.bob, world.root] {
      var circle = world.circle
      circle.insert([
        one, try pin(world, Self.next), try withdrawal(world, by: key, issuers: [world.issuer, Self.next]),
      ])
      let counts = DeviceKey(key) == DeviceKey(world.root)
      #expect(circle.isAccepted(issuer: DeviceKey(world.issuer)) == !counts)
      #expect(circle.evaluation.issuers.isEmpty == counts)
      #expect(circle.evaluation.pinnedIssuers.count == 2)
      #expect(gate(circle, world.alice).reason == (counts ? .entitlementWithdrawn : nil))
    }
    var circle = world.circle
    circle.insert([
      try pin(world, world.root), try world.entitlement(by: world.root, 100..<200),
      try withdrawal(world, by: world.root, issuers: [world.root]),
    ])
    #expect(gate(circle, world.alice).isOpen)
  }

  @Test func `a revocation of its signer does not void a withdrawal, and no statement brings trust back`()
    throws
  {
    var world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let one = try world.entitlement(by: world.bob, 100..<200)
    world.circle.insert([
      bob, one, try pin(world, world.bob), try withdrawal(world, by: world.bob, [one]),
      try world.revocation(by: world.root, of: world.bob),
    ])
    #expect(gate(world.circle, world.alice).reason == .entitlementWithdrawn)
    world.circle.insert([
      try world.entitlement(by: world.issuer, 100..<200),
      try withdrawal(world, by: world.root, issuers: [world.issuer], issued: 0),
      try pin(world, world.issuer, issued: 1 << 40),
    ])
    #expect(gate(world.circle, world.alice).reason == .entitlementWithdrawn)
    world.circle.insert([try world.entitlement(by: world.issuer, 100..<900, serial: 7)])
    #expect(!gate(world.circle, world.alice).isOpen, "nor does what the issuer signs later")
  }

  @Test func `the development issuer can be withdrawn too`() throws {
    var world = try World(developmentIssuer: DeviceKey(Self.next))
    world.circle.insert([try world.entitlement(by: Self.next, 100..<200)])
    let alice = DeviceKey(world.alice)
    #expect(world.circle.peerGate(device: alice, preference: true, at: 150).isOpen)
    world.circle.insert([try withdrawal(world, by: world.root, issuers: [Self.next])])
    #expect(world.circle.peerGate(device: alice, preference: true, at: 150).reason == .entitlementWithdrawn)
  }

  @Test func `a withdrawn entitlement does not move gate time`() throws {
    var world = try World()
    let far = try world.entitlement(by: world.issuer, 100..<200, issuedAt: 9_000)
    world.circle.insert([far])
    #expect(world.circle.gateTime(wall: 150, newestFolded: nil) == 9_000)
    world.circle.insert([try withdrawal(world, by: world.root, [far])])
    #expect(world.circle.gateTime(wall: 150, newestFolded: nil) == 150)
  }

  /// The signer of a withdrawal could displace it only by its own statements, of kinds with smaller numbers.
  @Test func `no other key displaces a withdrawal by the root key, and no withdrawal displaces another`()
    throws
  {
    var world = try World()
    let one = try world.entitlement(by: world.issuer, 100..<200)
    let kept = try withdrawal(world, by: world.root, [one])
    world.circle.insert([one, kept])
    for key in [world.alice, world.issuer, Self.next] {
      let flood = try (0..<1_200).map { number in
        try world.entitlement(by: key, 100..<200, serial: UInt64(number) + 100)
      }
      world.circle.insert(flood)
      #expect(world.circle.statement(kept.id) != nil)
      #expect(world.circle.evaluation.isWithdrawn(one.id, try #require(one.entitlement)))
    }
    let more = try (0..<800).map { number in
      try withdrawal(world, by: world.root, [one], issued: Int64(number) + 100)
    }
    let changes = world.circle.insert(more)
    #expect(changes.refused.isEmpty && changes.removed.isEmpty)
    #expect(world.circle.statement(kept.id) != nil)
  }

  @Test func `a withdrawal names at most 256 issuers and 256 entitlements`() throws {
    let world = try World()
    func make(_ count: Int) throws -> Statement {
      try Statement(
        signing: Withdrawal(
          circle: world.circle.id, signer: DeviceKey(world.root),
          entitlements: (0..<count).map { StatementID(Bytes32(0, 0, 0, UInt64($0))) }, issued: 1),
        with: world.root)
    }
    _ = try make(Limits.withdrawnMax)
    for count in [0, Limits.withdrawnMax + 1] {
      #expect(throws: StatementError.self) { try make(count) }
    }
  }
}

extension Statement {
  fileprivate var entitlement: Entitlement? {
    if case .entitlement(let body) = content { body } else { nil }
  }
}
