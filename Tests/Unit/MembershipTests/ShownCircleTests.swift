import Membership
import Sodium
import Testing
import Wire

/// What a device shows of its circle to those who join, and which statements it takes for known.
@Suite struct ShownCircleTests {
  @Test func `a ticket names the first sixteen addresses that others can read`() throws {
    let world = try World()
    let valid = (1...20).map { "192.0.2.\($0):7433" }
    let long = String(repeating: "a", count: Limits.addressBytesMax + 1)
    let ticket = Ticket(
      circle: world.circle.id, transport: World.transport(of: world.alice),
      addresses: ["my laptop:7433", "", long] + valid, secret: Bytes16(0, 1), expiry: 1_000)
    let read = try Ticket(line: ticket.line)
    #expect(read.addresses == Array(valid.prefix(Limits.addressesMax)))
    #expect(read.secret == ticket.secret && read.expiry == ticket.expiry)
  }

  @Test func `a statement is known only with the signature that was verified`() throws {
    var world = try World()
    let certificate = try world.certificate(by: world.root, for: world.bob)
    world.circle.insert([certificate])
    #expect(world.circle.held(certificate.bytes) == certificate.id)
    var forged = certificate.bytes
    forged[forged.count - 1] ^= 1
    #expect(world.circle.held(forged) == nil)
    #expect(throws: StatementError.badSignature) { try world.circle.insert(forged) }
    let other = try world.certificate(by: world.root, for: world.carol)
    #expect(world.circle.held(other.bytes) == nil)
  }

  @Test func `a joiner of a large circle gets its own certificate, and what fits into half a message`()
    throws
  {
    var world = try World()
    let tips = (0..<1_700).map { World.tip(UInt64($0)) }
    let kept = KeptLog(incarnation: World.incarnation, lane: .records, tips: tips)
    let revocations = try (0..<10).map { number in
      try world.revocation(by: world.root, of: World.key("old phone \(number)"), kept: [kept])
    }
    world.circle.insert(revocations)
    try #require(world.circle.count == 11)
    let transport = World.transport(of: world.bob)
    let request = JoinRequest(key: world.bob, transport: transport, name: "phone", handshakeHash: [])
    let answer = try world.circle.admit(request, role: .member, by: world.alice, at: 5)
    let certificate = try #require(answer.certificate)
    guard case .accepted(let statements) = answer.reply else {
      Issue.record("Bob was refused")
      return
    }
    #expect(statements.first == world.genesis.bytes)
    #expect(statements.contains(certificate.bytes))
    #expect(statements.count > 2 && statements.count < 12)
    #expect(statements.reduce(0) { $0 + $1.count } <= Limits.messageBytesMax / 2)
    let ticket = Ticket(
      circle: world.circle.id, transport: World.transport(of: world.alice), addresses: [],
      secret: Bytes16(0, 1), expiry: 1_000)
    let joined = Circle.joined(
      statements, ticket: ticket, device: DeviceKey(world.bob), transport: transport)
    #expect(joined?.evaluation.isMember(DeviceKey(world.bob)) == true)
  }
}
