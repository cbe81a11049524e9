import Membership
import Sodium
import Testing
import Wire

/// What follows from several certificates of one device, and from a device's grants.
@Suite struct CertificateTests {
  private let inviters = [
    // columns: the signer of the older and of the newer certificate, the length of the chain
    ("alice", "root", 1), ("root", "alice", 2),
  ]

  @Test func `the newest certificate names a device, the oldest its inviter, and any may make it an admin`()
    throws
  {
    for (older, newer, links) in inviters {
      for roles in [(Role.admin, Role.member), (.member, .admin), (.member, .member)] {
        let world = try World()
        let keys = ["alice": world.alice, "root": world.root]
        let (first, second) = (try #require(keys[older]), try #require(keys[newer]))
        let statements = [
          try world.certificate(by: first, for: world.bob, role: roles.0, issued: 2, name: "old"),
          try world.certificate(by: second, for: world.bob, role: roles.1, issued: 9, name: "new"),
        ]
        for order in [statements, statements.reversed()] {
          var circle = world.circle
          circle.insert(order)
          let member = try #require(circle.evaluation.members[DeviceKey(world.bob)])
          #expect(member.name == "new" && member.issued == 9)
          #expect(member.inviter == DeviceKey(first))
          #expect((member.role == .admin) == (roles.0 == .admin || roles.1 == .admin))
          #expect(member.chain.count == links && member.chain.last == statements[1].id)
        }
      }
    }
  }

  @Test func `of two certificates of one time, the one with the greater id names the device`() throws {
    var world = try World()
    let statements = try ["one", "two", "three"].map {
      try world.certificate(by: world.alice, for: world.bob, issued: 2, name: $0)
    }
    world.circle.insert(statements)
    let newest = try #require(statements.max { $0.id < $1.id })
    guard case .deviceCertificate(let body) = newest.content else { throw StatementError.wrongCircle }
    #expect(world.circle.evaluation.members[DeviceKey(world.bob)]?.name == body.name)
  }

  @Test func `what depends on a device's certificates is what would go without them`() throws {
    var world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let carol = try world.certificate(by: world.bob, for: world.carol)
    let promotion = try world.certificate(by: world.bob, for: world.dave, role: .admin)
    let membership = try world.certificate(by: world.root, for: world.dave, role: .member)
    let eve = World.key("eve")
    let expulsion = try world.revocation(by: world.bob, of: eve)
    world.circle.insert([
      bob, carol, promotion, membership, try world.certificate(by: world.alice, for: eve), expulsion,
    ])
    let (bobs, carols, daves) = (DeviceKey(world.bob), DeviceKey(world.carol), DeviceKey(world.dave))
    let without = world.circle.evaluation(withoutCertificatesBy: bobs)
    #expect(without.isMember(bobs) && !without.isMember(carols))
    #expect(without.members[daves]?.role == .member)
    #expect(without.status(of: DeviceKey(eve)) == .revoked, "what else Bob signed still counts")
    #expect(world.circle.evaluation.members[daves]?.role == .admin, "nothing has changed")

    func certificates() -> Set<StatementID> { Set(world.circle.evaluation.countingCertificates(of: bobs)) }
    #expect(certificates() == [carol.id, promotion.id])
    #expect(world.circle.evaluation.countingCertificates(of: DeviceKey(eve)).isEmpty)
    #expect(world.circle.evaluation.isAdmin(daves, by: bobs))
    #expect(!world.circle.evaluation.isAdmin(daves, by: DeviceKey(world.root)))
    #expect(!world.circle.evaluation.isAdmin(daves, by: DeviceKey(world.alice)))
    world.circle.insert([try world.revocation(by: world.root, of: world.bob, valid: [carol])])
    #expect(certificates() == [carol.id])
    #expect(!world.circle.evaluation.isAdmin(daves, by: bobs))
    #expect(world.circle.evaluation.members[daves]?.role == .member)
  }

  @Test func `files have sixteen times the quota of records, without a limit on the device itself`() throws {
    var world = try World()
    let (alice, bob) = (DeviceKey(world.alice), DeviceKey(world.bob))
    world.circle.insert([try world.certificate(by: world.alice, for: world.bob)])
    func grant(_ lane: Lane, _ bytes: UInt64) throws -> Statement {
      try Statement(
        signing: Grant(
          circle: world.circle.id, issuer: alice, device: bob, lane: lane, bytes: bytes, issued: 5),
        with: world.alice)
    }
    func quota(at device: DeviceKey) -> UInt64? { world.circle.evaluation.filesQuota(of: bob, at: device) }
    let (usual, most): (UInt64, UInt64) = (16 << 30, 16 << 50)
    #expect(quota(at: alice) == usual)
    world.circle.insert([try grant(.settings, 5 << 30), try grant(.records, 1 << 20)])
    #expect(quota(at: alice) == usual, "neither is a larger quota of records")
    world.circle.insert([try grant(.records, 3 << 30)])
    #expect(quota(at: alice) == 3 * usual)
    #expect(quota(at: bob) == nil)
    #expect(world.circle.evaluation.filesQuota(of: alice, at: bob) == usual, "the grant is Bob's")
    world.circle.insert([try grant(.records, Limits.quotaBytesMax)])
    #expect(quota(at: alice) == most)
  }

  @Test func `the greatest clock of an address statement can't be surpassed, and does not wrap around`()
    throws
  {
    var world = try World()
    world.circle.insert([
      try world.certificate(by: world.alice, for: world.bob),
      try world.addresses(of: world.bob, clock: .max, ["192.0.2.9:9"]),
    ])
    let bob = DeviceKey(world.bob)
    #expect(world.circle.nextAddressClock(of: bob, now: 5) == .max)
    world.circle.insert([try world.addresses(of: world.bob, clock: 0, ["192.0.2.1:1"])])
    #expect(world.circle.addresses(of: bob) == ["192.0.2.9:9"])
    world.circle.insert([try world.revocation(by: world.alice, of: world.bob)])
    #expect(world.circle.addresses(of: bob).isEmpty, "a revoked device is not dialled")
  }
}
