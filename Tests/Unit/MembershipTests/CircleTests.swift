import Membership
import Sodium
import Testing
import Wire

@Suite struct `A circle` {
  @Test func `a statement that is received twice changes nothing`() throws {
    var world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    #expect(try world.circle.insert(bob.bytes))
    #expect(try !world.circle.insert(bob.bytes))
    #expect(try !world.circle.insert(world.genesis.bytes))
  }

  @Test func `a statement of another circle is refused`() throws {
    var world = try World()
    let other = try Statement(
      signing: DeviceCertificate(
        circle: CircleID(.zero), issuer: DeviceKey(world.root), device: DeviceKey(world.bob),
        transport: World.transport(of: world.bob), name: "x", role: .member, issued: 1),
      with: world.root)
    #expect(throws: StatementError.wrongCircle) { try world.circle.insert(other.bytes) }
    #expect(world.circle.insert([other]).isEmpty)
    #expect(throws: StatementError.wrongCircle) { try Circle(statements: [world.genesis, other]) }
    #expect(throws: StatementError.wrongCircle) { try Circle(statements: []) }
    #expect(throws: StatementError.wrongCircle) { try Circle(genesis: other) }
  }

  @Test func `a key may sign only bodies that name it`() throws {
    let world = try World()
    let body = AddressStatement(
      circle: world.circle.id, device: DeviceKey(world.alice), clock: 1, addresses: [])
    #expect(throws: StatementError.badSignature) { try Statement(signing: body, with: world.bob) }
  }

  @Test func `a body that breaks a rule can't be signed`() throws {
    let world = try World()
    let far = Limits.timeMillisecondsMax
    for times in [-5..<10, 5..<(far + 1)] {
      #expect(throws: StatementError.self) { try world.entitlement(by: world.issuer, times) }
    }
    #expect(throws: StatementError.self) {
      try world.certificate(by: world.alice, for: world.bob, name: "a\u{1b}[2J")
    }
    #expect(throws: StatementError.self) {
      try world.addresses(of: world.alice, clock: 1, ["not an address"])
    }
  }

  @Test func `a chain of eight links counts, and one of nine does not`() throws {
    var world = try World()
    var issuer = world.alice
    for number in 2...9 {
      let next = World.key("link \(number)")
      world.circle.insert([try world.certificate(by: issuer, for: next)])
      let member = world.circle.evaluation.members[DeviceKey(next)]
      #expect(member?.chain.count == (number <= Limits.chainLinksMax ? number : nil))
      issuer = next
    }
  }

  @Test func `revocations count up to the maximum chain length`() throws {
    var world = try World()
    var chain = [world.alice]
    for number in 2...Limits.chainLinksMax {
      let next = World.key("link \(number)")
      world.circle.insert([try world.certificate(by: chain[number - 2], for: next)])
      chain.append(next)
    }
    let victim = try world.certificate(by: world.root, for: world.bob)
    world.circle.insert([victim, try world.revocation(by: chain[7], of: world.bob)])
    #expect(world.circle.evaluation.status(of: DeviceKey(world.bob)) == .revoked)
  }

  @Test func `of several chains of one length the one with the smallest id is used`() throws {
    var world = try World()
    let admins = (1...6).map { World.key("admin \($0)") }
    var links: [Statement] = []
    for admin in admins {
      world.circle.insert([try world.certificate(by: world.root, for: admin)])
      links.append(try world.certificate(by: admin, for: world.bob))
    }
    let carol = try world.certificate(by: world.bob, for: world.carol)
    world.circle.insert(links + [carol])
    let chain = world.circle.evaluation.members[DeviceKey(world.carol)]?.chain
    #expect(chain?.dropFirst().first == links.map(\.id).min())
    #expect(chain?.last == carol.id)
  }

  @Test func `two peers exchange exactly the difference`() throws {
    let world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let carol = try world.certificate(by: world.alice, for: world.carol)
    let dave = try world.certificate(by: world.root, for: world.dave)
    var (left, right) = (world.circle, world.circle)
    left.insert([bob, carol])
    right.insert([carol, dave])
    #expect(left.setHash != right.setHash)
    #expect(left.missing(of: right.ids) == [dave.id])
    #expect(left.statements(notIn: right.ids).map(\.id) == [bob.id])
    right.insert(left.statements(notIn: right.ids))
    left.insert(right.statements(notIn: left.ids))
    #expect(left.setHash == right.setHash)
  }

  @Test func `a circle is restored from its stored statements in any order`() throws {
    var world = try World()
    world.circle.insert([
      try world.certificate(by: world.alice, for: world.bob),
      try world.addresses(of: world.bob, clock: 3, ["192.0.2.9:9"]),
    ])
    let stored = world.circle.statements(notIn: [])
    let again = try Circle(statements: stored.reversed(), developmentIssuer: nil)
    #expect(again.setHash == world.circle.setHash)
    #expect(again.addresses(of: DeviceKey(world.bob)) == ["192.0.2.9:9"])
  }

  @Test func `a replaced address statement is listed for removal`() throws {
    var world = try World()
    let old = try world.addresses(of: world.alice, clock: 5)
    let new = try world.addresses(of: world.alice, clock: 6)
    world.circle.insert([old])
    let changes = world.circle.insert([new])
    #expect(changes.added == [new.id])
    #expect(changes.removed == [old.id])
    #expect(world.circle.insert([old]).isEmpty)
    #expect(world.circle.nextAddressClock(of: DeviceKey(world.alice), now: 4) == 7)
    #expect(world.circle.nextAddressClock(of: DeviceKey(world.alice), now: 9) == 9)
  }

  @Test func `all statements fit into the send queue`() {
    #expect(Limits.statementsBytesMax + Limits.revocationRoomBytes < Limits.sendBufferBytesMax)
  }

  /// The clock has 64 bits: the highest value is valid like any other.
  @Test(arguments: [[1, 2], [1 << 63, .max - 1]] as [[UInt64]])
  func `a fork proof is the same, whichever device creates it`(clocks: [UInt64]) throws {
    var world = try World()
    let pair = clocks.map { signed(header(world, clock: $0), world) }
    let one = try ForkProof.statement(circle: world.circle.id, pair[0], pair[1])
    let other = try ForkProof.statement(circle: world.circle.id, pair[1], pair[0])
    #expect(one.id == other.id)
    #expect(one.bytes == other.bytes)
    world.circle.insert([one])
    let proof = try #require(world.circle.evaluation.forkProofs.first)
    #expect(proof.log == World.log(of: world.alice))
    #expect(proof.sequence == 1)
    #expect(proof.previous == nil)
    #expect(proof.ids == proof.ids.sorted())
    #expect(throws: StatementError.self) {
      try ForkProof.statement(circle: world.circle.id, pair[0], pair[0])
    }
  }

  /// The proof is about the position alone: what else the headers state does not matter.
  @Test(arguments: [(2, 0), (1, 1), (16, 1 << 62), (1, UInt64(Int64.max))] as [(UInt64, UInt64)])
  func `headers with another number or other bytes of the log prove a fork too`(
    number: UInt64, logBytes: UInt64
  ) throws {
    let world = try World()
    let proof = try ForkProof.statement(
      circle: world.circle.id, signed(header(world, clock: 1), world),
      signed(header(world, clock: 2, number: number, logBytes: logBytes), world))
    #expect(try Statement(proof.bytes).id == proof.id)
  }

  @Test(arguments: [0, 1, 3] as [UInt64])
  func `headers of another version prove no fork`(version: UInt64) throws {
    let world = try World()
    let others = [1, 2].map { signed(header(world, clock: $0, version: version), world) }
    #expect(throws: StatementError.self) {
      try ForkProof.statement(circle: world.circle.id, others[0], others[1])
    }
  }

  private func signed(_ header: [UInt8], _ world: World) -> (header: [UInt8], signature: [UInt8]) {
    let prefix = Array("waymark/change-set-signature/v1\0".utf8)
    return (header: header, signature: world.alice.sign(prefix: prefix, header))
  }

  /// The header of a first set with one slot.
  private func header(
    _ world: World, clock: UInt64, version: UInt64 = 2, number: UInt64 = 1, logBytes: UInt64 = 0
  ) -> [UInt8] {
    var writer = CBORWriter()
    writer.map(14)
    writer.unsigned(0)
    writer.unsigned(version)
    writer.unsigned(1)
    writer.byteString(world.circle.id.raw)
    writer.unsigned(2)
    writer.byteString(world.alice.publicKey)
    writer.unsigned(3)
    writer.byteString(World.incarnation.raw)
    writer.unsigned(4)
    writer.unsigned(1)
    writer.unsigned(5)
    writer.unsigned(1)
    writer.unsigned(7)
    writer.unsigned(clock)
    writer.unsigned(9)
    writer.byteString(Bytes16(0, 1))
    writer.unsigned(10)
    writer.unsigned(100)
    writer.unsigned(11)
    writer.byteString(Bytes32(0, 0, 0, 11))
    writer.unsigned(12)
    writer.unsigned(100)
    writer.unsigned(13)
    writer.byteString(Bytes32(0, 0, 0, 13))
    writer.unsigned(14)
    writer.unsigned(number)
    writer.unsigned(15)
    writer.unsigned(logBytes)
    return writer.bytes
  }
}
