import Families
import Membership
import Replication
import Sodium
import Storage
import Testing
import Wire

/// Sessions whose entitlements and clocks change.
@Suite struct EntitlementTests {
  static let year: Moment = 365 * 86_400_000

  @Test func `an entitlement that is renewed in time never closes the lane`() throws {
    let end = World.start + 60_000
    let world = try World(["alice", "bob"], premium: ["alice"])
    world.learn("bob", try world.family.entitlement(for: "bob", 0..<end))
    world.connect("alice", "bob")
    world.run(30_000)
    world.learn("alice", try world.family.entitlement(for: "bob", (end - 1_000)..<(end * 2), serial: 1))
    world.run(end - world.now - 10)
    try world.write("alice", insert(record(1)))
    world.run(60_000)
    #expect(world["bob"].name(record(1)) == "Rome")
    for device in [world["alice"], world["bob"]] {
      #expect(device.reported { if case .laneClosed(_, .records, _) = $0 { true } else { false } } == 0)
    }
  }

  @Test func `an entitlement that ends while sets flow leaves a folded prefix of each log at both ends`()
    throws
  {
    let world = try World(["alice", "bob"], premium: ["alice"])
    for number in 1...500 { try world.write("alice", insert(record(UInt64(number)))) }
    for number in 501...900 { try world.write("bob", insert(record(UInt64(number)))) }
    (world.serveBytes, world.linkBytesMax, world.bytesPerMillisecond) = (4_096, 16_384, 50)
    let end = world.now + 2_000
    world.learn("alice", try world.family.entitlement(for: "bob", 0..<end))
    world.connect("alice", "bob")
    world.run(10_000)
    for (one, all) in [("alice", 900), ("bob", 900)] {
      let device = world[one]
      #expect(device.count(.records) < UInt64(all), "\(one) has everything: nothing was cut short")
      #expect(device.count(.records) > 500 || one == "bob")
      for head in device.store.heads(.records) {
        #expect(head.foldedSequence == head.sequence, "\(one) holds a set that is not folded")
      }
      #expect(
        device.count(.records) == device.store.heads(.records).reduce(0) { $0 + $1.sequence },
        "\(one) has a gap")
    }
  }

  @Test func `an entitlement of an unpinned issuer opens the lane when the root pins the issuer`() throws {
    let world = try World(["alice", "bob"], premium: ["alice"])
    let next = Family.key("next issuer")
    let entitlement = try Statement(
      signing: Entitlement(
        circle: world.family.circle, issuer: DeviceKey(next), devices: nil, plan: "premium", issuedAt: 0,
        notBefore: 0, notAfter: World.start * 2, serial: .zero, source: "test"),
      with: next)
    world.connect("alice", "bob")
    world.learn("bob", entitlement)
    world.run(1_000)
    #expect(world["alice"].replica.circle.statement(entitlement.id) != nil, "stored and relayed")
    #expect(!world["bob"].isOpen(.records, with: world["alice"]))
    let pin = try Statement(
      signing: IssuerStatement(
        circle: world.family.circle, root: DeviceKey(world.family.root), issuers: [DeviceKey(next)], issued: 5
      ),
      with: world.family.root)
    world.learn("alice", pin)
    world.run(1_000)
    #expect(world["bob"].isOpen(.records, with: world["alice"]))
    #expect(world["alice"].isOpen(.records, with: world["bob"]))
  }

  @Test(arguments: [true, false])
  func `an issuer or an entitlement that is withdrawn closes the lane at both ends at once`(isIssuer: Bool)
    throws
  {
    let world = try World(["alice", "bob"], premium: ["alice"])
    let entitlement = try world.family.entitlement(for: "bob", 0..<(World.start * 2), serial: 9)
    world.learn("bob", entitlement)
    world.connect("alice", "bob")
    world.run(1_000)
    #expect(world["bob"].isOpen(.records, with: world["alice"]))
    func withdrawal(by key: SigningKey) throws -> Statement {
      try Statement(
        signing: Withdrawal(
          circle: world.family.circle, signer: DeviceKey(key),
          issuers: isIssuer ? [DeviceKey(world.family.issuer)] : [],
          entitlements: isIssuer ? [] : [entitlement.id], issued: 5),
        with: key)
    }
    world.learn("alice", try withdrawal(by: Family.key("bob")))
    world.run(1_000)
    #expect(world["bob"].isOpen(.records, with: world["alice"]), "Bob is neither the root key nor the issuer")
    world.learn("alice", try withdrawal(by: world.family.root))
    world.run(1_000)
    #expect(!world["bob"].isOpen(.records, with: world["alice"]))
    #expect(!world["alice"].isOpen(.records, with: world["bob"]))
    #expect(world["bob"].replica.ownGate(now: world.now).reason == .entitlementWithdrawn)
    #expect((world["alice"].replica.ownGate(now: world.now).reason == nil) == !isIssuer)
    try world.write("alice", insert(record(1)))
    world.run(1_000)
    #expect(world["bob"].name(record(1)) == nil)
  }

  @Test func `a clock that was a year ahead and is corrected loses nothing`() throws {
    let world = try World(["alice", "bob"], premium: ["alice"])
    world.learn("bob", try world.family.entitlement(for: "bob", 0..<(World.start + Self.year / 2)))
    world.connect("alice", "bob")
    world.run(1_000)
    world["bob"].clockAhead = Self.year
    world.run(20_000)
    #expect(!world["bob"].isOpen(.records, with: world["alice"]))
    #expect(world["alice"].replica.ownGate(now: world.now).isOpen, "other devices' clocks do not count")
    world["bob"].clockAhead = 0
    // Only the messages of two idle devices are sent.
    world.run(20_000)
    #expect(world["bob"].isOpen(.records, with: world["alice"]))
    try world.write("alice", insert(record(1)))
    world.run(1_000)
    #expect(world["bob"].name(record(1)) == "Rome")
  }

  @Test func `sets written with a fast clock end no other device's entitlement until they are folded`() throws
  {
    let world = try World(["alice", "bob"], premium: ["bob"])
    world.learn("alice", try world.family.entitlement(for: "alice", 0..<(World.start + Self.year / 2)))
    world.connect("alice", "bob")
    world.run(1_000)
    world["bob"].clockAhead = Self.year
    let ahead = try world.write("bob", insert(setting(1), "from next year"))
    world["bob"].clockAhead = 0
    world.run(20_000)
    #expect(world["alice"].count(.settings) == 1, "stored")
    #expect(world["alice"].replica.ownGate(now: world.now).isOpen, "while it is parked")
    #expect(world["bob"].replica.ownGate(now: world.now).isOpen, "own sets do not advance gate time")
    // Alice's clock is wrong for a moment, and accepts the set as a present one.
    world["alice"].clockAhead = Self.year
    world.turn(world["alice"], [.timer(.unpark)])
    world["alice"].clockAhead = 0
    world.run(1_000)
    #expect(world["alice"].replica.ownGate(now: world.now).reason == .entitlementExpired)
    // Bob cuts the wrongly dated set out of his log: time is correct again, without a restart.
    let cut = try Statement(
      signing: LogCut(
        circle: world.family.circle, log: try #require(ahead.first).header.log, tip: nil, issued: 5),
      with: Family.key("bob"))
    world.learn("bob", cut)
    world.run(20_000)
    #expect(world["alice"].replica.ownGate(now: world.now).isOpen)
    #expect(world["alice"].isOpen(.records, with: world["bob"]))
  }

  @Test func `a peer can advance the end of an entitlement by at most ten minutes`() throws {
    let world = try World(["alice", "bob"], premium: ["bob"])
    let end = World.start + 2 * Limits.clockDriftMilliseconds
    world.learn("alice", try world.family.entitlement(for: "alice", 0..<end))
    world.connect("alice", "bob")
    world.run(1_000)
    for ahead in [Limits.clockDriftMilliseconds, Limits.clockDriftMilliseconds + 1_000, Self.year] {
      world["bob"].clockAhead = ahead
      try world.write("bob", insert(setting(UInt64(ahead)), "ahead"))
      world.run(100)
    }
    let gateTime = world["alice"].replica.gateTime(now: world.now)
    #expect(gateTime > world.now + Limits.clockDriftMilliseconds - 1_000)
    #expect(gateTime <= world.now + Limits.clockDriftMilliseconds)
    world.run(end - Limits.clockDriftMilliseconds - world.now - 2_000)
    #expect(world["alice"].replica.ownGate(now: world.now).isOpen)
  }

  @Test func `a parked set that returns after a cut is folded when its time comes`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world["bob"].clockAhead = 2 * Limits.clockDriftMilliseconds
    let ahead = try #require(try world.write("bob", insert(setting(1), "waits")).first)
    world["bob"].clockAhead = 0
    world.run(1_000)
    world.learn(
      "bob",
      try Statement(
        signing: LogCut(circle: world.family.circle, log: ahead.header.log, tip: nil, issued: 5),
        with: Family.key("bob")))
    world.run(1_000)
    #expect(world["alice"].count(.settings) == 0)
    // The revocation keeps the set, and voids Bob's own cut.
    let log = ahead.header.log
    let kept = KeptLog(incarnation: log.incarnation, lane: .settings, tips: [ahead.id])
    world.learn("alice", try world.family.revocation(of: "bob", kept: [kept]))
    world.run(1_000)
    #expect(world["alice"].count(.settings) == 1)
    #expect(world["alice"].name(setting(1)) == nil)
    world.run(2 * Limits.clockDriftMilliseconds)
    #expect(world["alice"].name(setting(1)) == "waits")
  }
}
