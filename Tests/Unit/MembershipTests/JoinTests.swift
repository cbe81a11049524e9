import Membership
import Sodium
import Testing
import Wire

@Suite struct `Joining` {
  private let handshake = [UInt8](repeating: 7, count: 32)

  private func ticket(_ world: World, secret: UInt64 = 1, expiry: Int64 = 1_000) -> Ticket {
    Ticket(
      circle: world.circle.id, transport: World.transport(of: world.alice), addresses: ["192.0.2.1:1"],
      secret: Bytes16(0, secret), expiry: expiry)
  }

  private func request(_ key: SigningKey, transport: TransportKey? = nil, name: String = "phone")
    -> JoinRequest
  {
    JoinRequest(
      key: key, transport: transport ?? World.transport(of: key), name: name, handshakeHash: handshake)
  }

  @Test func `Bob is admitted, and reads a circle of which he is a member`() throws {
    var world = try World()
    let asked = try JoinRequest(request(world.bob).encoded)
    #expect(asked.isProven(handshakeHash: handshake, authenticated: World.transport(of: world.bob)))
    let answer = try world.circle.admit(asked, role: .admin, by: world.alice, at: 5)
    world.circle.insert([try #require(answer.certificate)])
    guard case .accepted(let statements) = try JoinReply(answer.reply.encoded) else {
      Issue.record("Bob was refused")
      return
    }
    let joined = try #require(
      Circle.joined(
        statements, ticket: ticket(world), device: DeviceKey(world.bob),
        transport: World.transport(of: world.bob)))
    #expect(joined.setHash == world.circle.setHash)
    #expect(joined.evaluation.members[DeviceKey(world.bob)]?.role == .admin)
    #expect(joined.evaluation.members[DeviceKey(world.bob)]?.name == "phone")
  }

  @Test func `Bob, who missed the answer, gets the same one again`() throws {
    var world = try World()
    let first = try world.circle.admit(request(world.bob), role: .member, by: world.alice, at: 5)
    world.circle.insert([try #require(first.certificate)])
    let second = try world.circle.admit(request(world.bob), role: .member, by: world.alice, at: 6)
    #expect(second.certificate == nil)
    #expect(second.reply == first.reply)
  }

  @Test func `a joiner that can't be certified is refused with the reason`() throws {
    var world = try World()
    world.circle.insert([
      try world.certificate(by: world.alice, for: world.bob, role: .member),
      try world.certificate(by: world.alice, for: world.carol),
      try world.revocation(by: world.alice, of: world.carol),
    ])
    func refusal(_ key: SigningKey, _ transport: TransportKey? = nil, by: SigningKey) throws -> JoinRefusal? {
      let answer = try world.circle.admit(request(key, transport: transport), role: .member, by: by, at: 5)
      #expect(answer.certificate == nil)
      guard case .refused(let refusal) = answer.reply else { return nil }
      return refusal
    }
    #expect(try refusal(world.dave, by: world.bob) == .notAdmin)
    #expect(try refusal(world.dave, by: world.carol) == .notAdmin)
    #expect(try refusal(world.carol, by: world.alice) == .keyInUse)
    #expect(try refusal(world.root, by: world.alice) == .keyInUse)
    #expect(try refusal(world.bob, World.transport(of: world.dave), by: world.alice) == .keyInUse)
    #expect(try refusal(world.dave, World.transport(of: world.bob), by: world.alice) == .keyInUse)
    #expect(try refusal(world.dave, World.transport(of: world.carol), by: world.alice) == .keyInUse)
  }

  @Test(arguments: [
    ("phone", "phone"), ("PHONE 2", "PHONE 2"), ("рhоne", "рhоne 2"), ("Laptop", "Laptop 2"),
    (" laptop", " laptop 2"), ("lapt0p", "lapt0p 2"),
  ]) func `a name that looks like a member's gets a number`(wanted: String, given: String) throws {
    var world = try World()
    if wanted != "phone" {
      world.circle.insert([try world.certificate(by: world.alice, for: world.carol, name: "phone")])
    }
    let answer = try world.circle.admit(
      request(world.bob, name: wanted), role: .member, by: world.alice, at: 5)
    world.circle.insert([try #require(answer.certificate)])
    #expect(world.circle.evaluation.members[DeviceKey(world.bob)]?.name == given)
  }

  @Test func `a joiner whose name has invisible characters sends no valid request`() throws {
    let world = try World()
    #expect(throws: WireError.self) { try JoinRequest(request(world.bob, name: "phone\u{200B}").encoded) }
  }

  @Test func `the sixty-fourth device is admitted, the next is not`() throws {
    var world = try World()
    for number in 2...Limits.devicesMax {
      let answer = try world.circle.admit(
        request(World.key("device \(number)")), role: .member, by: world.alice, at: 5)
      world.circle.insert([try #require(answer.certificate)])
    }
    let answer = try world.circle.admit(request(world.bob), role: .member, by: world.alice, at: 5)
    #expect(answer.reply == .refused(.circleFull))
  }

  @Test func `Bob rejects a circle that is not his ticket's, or that does not certify him`() throws {
    let world = try World()
    let answer = try world.circle.admit(request(world.bob), role: .member, by: world.alice, at: 5)
    let certificate = try #require(answer.certificate)
    let statements = [world.genesis.bytes, certificate.bytes]
    func joined(_ statements: [[UInt8]], _ ticket: Ticket, _ key: SigningKey) -> Circle? {
      Circle.joined(
        statements, ticket: ticket, device: DeviceKey(key), transport: World.transport(of: key))
    }
    var elsewhere = ticket(world)
    elsewhere.circle = CircleID(.zero)
    #expect(joined(statements, ticket(world), world.bob) != nil)
    #expect(joined(statements, elsewhere, world.bob) == nil)
    #expect(joined(statements, ticket(world), world.carol) == nil)
    #expect(joined([world.genesis.bytes], ticket(world), world.bob) == nil)
    #expect(joined([certificate.bytes], ticket(world), world.bob) == nil)
    #expect(joined(statements + [[0]], ticket(world), world.bob) == nil)
  }

  @Test func `a ticket is used up by the first joiner, which may come again`() throws {
    let world = try World()
    let good = ticket(world)
    var ledger = TicketLedger()
    let isAdded = ledger.add(good, role: .admin, at: 0)
    #expect(isAdded)
    #expect(ledger.open(at: 0) == [good])
    #expect(try ledger.begin(good.id, from: "bob", at: 1) == good)
    #expect(try ledger.role(of: good.id, for: DeviceKey(world.bob), at: 2) == .admin)
    #expect(!ledger.isSpent(good.id, on: DeviceKey(world.bob)), "it has not joined yet")
    #expect(try ledger.role(of: good.id, for: DeviceKey(world.carol), at: 2) == .admin)
    ledger.spend(good.id, on: DeviceKey(world.bob))
    #expect(try ledger.role(of: good.id, for: DeviceKey(world.bob), at: 3) == .admin)
    #expect(throws: TicketLedger.Refusal.spent) {
      try ledger.role(of: good.id, for: DeviceKey(world.carol), at: 4)
    }
    ledger.spend(good.id, on: DeviceKey(world.carol))
    #expect(ledger.isSpent(good.id, on: DeviceKey(world.bob)), "the first one keeps it")
    #expect(try ledger.begin(good.id, from: "bob", at: 5) == good, "the joiner may have missed the reply")
    #expect(ledger.open(at: 5).isEmpty)
  }

  @Test func `a ticket expires at its exact millisecond`() throws {
    let world = try World()
    let good = ticket(world, expiry: 1_000)
    var ledger = TicketLedger()
    _ = ledger.add(good, role: .member, at: 0)
    #expect(try ledger.begin(good.id, from: "bob", at: 999) == good)
    #expect(throws: TicketLedger.Refusal.expired) { try ledger.begin(good.id, from: "bob", at: 1_000) }
    #expect(throws: TicketLedger.Refusal.expired) {
      try ledger.role(of: good.id, for: DeviceKey(world.bob), at: 1_000)
    }
    #expect(ledger.open(at: 1_000).isEmpty)
  }

  @Test func `ten failures from one address block it for a while, and no other address`() throws {
    let world = try World()
    let good = ticket(world, expiry: 1_000_000)
    let stranger = ticket(world, secret: 2).id
    var ledger = TicketLedger()
    _ = ledger.add(good, role: .member, at: 0)
    for time in 1..<Int64(Limits.ticketFailuresMax) {
      #expect(throws: TicketLedger.Refusal.unknown) { try ledger.begin(stranger, from: "eve", at: time) }
    }
    #expect(try ledger.begin(good.id, from: "eve", at: 20) == good, "the tenth")
    #expect(throws: TicketLedger.Refusal.limited) { try ledger.begin(good.id, from: "eve", at: 21) }
    #expect(try ledger.begin(good.id, from: "bob", at: 21) == good)
    #expect(try ledger.begin(good.id, from: "eve", at: 1 + Limits.ticketFailureMilliseconds) == good)
  }

  @Test func `a joiner that succeeds does not count as a failure`() throws {
    let world = try World()
    let good = ticket(world, expiry: 1_000_000)
    var ledger = TicketLedger()
    _ = ledger.add(good, role: .member, at: 0)
    for _ in 0...Limits.ticketFailuresMax {
      #expect(try ledger.begin(good.id, from: "bob", at: 1) == good)
      ledger.succeeded(from: "bob")
    }
    for _ in 0..<Limits.ticketFailuresMax { _ = try ledger.begin(good.id, from: "bob", at: 2) }
    #expect(throws: TicketLedger.Refusal.limited, "attempts that began at the same time count too") {
      try ledger.begin(good.id, from: "bob", at: 2)
    }
  }

  @Test func `a hundred failures from different addresses block all joins for a while`() throws {
    let world = try World()
    let good = ticket(world, expiry: 1_000_000)
    var ledger = TicketLedger()
    _ = ledger.add(good, role: .member, at: 0)
    for number in 0..<Limits.ticketFailuresInAllMax {
      #expect(try ledger.begin(good.id, from: "\(number / 5)", at: 1) == good)
    }
    #expect(throws: TicketLedger.Refusal.limited) { try ledger.begin(good.id, from: "new", at: 1) }
    #expect(try ledger.begin(good.id, from: "new", at: 1 + Limits.ticketFailureMilliseconds) == good)
  }

  @Test func `sixteen tickets may be open, and expired ones make room`() throws {
    let world = try World()
    var ledger = TicketLedger()
    for number in 0..<UInt64(Limits.ticketsMax) {
      let isAdded = ledger.add(ticket(world, secret: number), role: .member, at: 0)
      #expect(isAdded)
    }
    let isFull = !ledger.add(ticket(world, secret: 99), role: .member, at: 999)
    #expect(isFull)
    let isAdded = ledger.add(ticket(world, secret: 99, expiry: 2_000), role: .member, at: 1_000)
    #expect(isAdded)
  }
}

@Suite struct `Used tickets and names` {
  private func ticket(_ world: World, _ secret: Int) -> Ticket {
    Ticket(
      circle: world.circle.id, transport: World.transport(of: world.alice), addresses: ["192.0.2.1:1"],
      secret: Bytes16(0, UInt64(secret)), expiry: 1_000)
  }

  @Test func `used tickets make room for others, and their joiners may still come again`() throws {
    let world = try World()
    var ledger = TicketLedger()
    for number in 0..<3 * Limits.ticketsMax {
      let added = ledger.add(ticket(world, number), role: .member, at: 0)
      #expect(added, "ticket \(number)")
      ledger.spend(ticket(world, number).id, on: DeviceKey(World.key("device \(number)")))
    }
    #expect(ledger.open(at: 0).isEmpty)
    let remembered = (0..<3 * Limits.ticketsMax).count { number in
      (try? ledger.role(
        of: ticket(world, number).id, for: DeviceKey(World.key("device \(number)")), at: 1)) != nil
    }
    #expect(remembered == Limits.ticketsMax + 1, "old ones are forgotten before they are too many")
  }

  @Test func `a name in use gets a number, and the name of a revoked device is available`() throws {
    var world = try World()
    func name(_ key: SigningKey, _ name: String) throws -> String {
      let request = JoinRequest(key: key, transport: World.transport(of: key), name: name, handshakeHash: [])
      let answer = try world.circle.admit(request, role: .member, by: world.alice, at: 5)
      world.circle.insert([try #require(answer.certificate)])
      return try #require(world.circle.evaluation.members[DeviceKey(key)]).name
    }
    #expect(try name(world.bob, "phone") == "phone")
    #expect(try name(world.carol, "Phone") == "Phone 2")
    #expect(try name(world.dave, "phone") == "phone 3")
    let long = String(repeating: "é", count: Limits.nameBytesMax / 2)
    #expect(try name(World.key("eve"), long) == long)
    #expect(try name(World.key("frank"), long) == long.dropLast() + " 2")
    world.circle.insert([try world.revocation(by: world.alice, of: world.bob)])
    #expect(try name(World.key("grace"), "phone") == "phone")
  }
}

@Suite struct `An introduction` {
  @Test func `shows the chain and the entitlements that last longest`() throws {
    var world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let held = try (1...6).map { number in
      try world.entitlement(by: world.issuer, 0..<Int64(number * 100), serial: UInt64(number))
    }
    let others = try world.entitlement(by: world.issuer, for: [world.alice], 0..<900)
    let stranger = try world.entitlement(by: world.dave, 0..<900)
    var remote = world.circle
    world.circle.insert([bob, others, stranger] + held)
    let shown = try #require(world.circle.introduction(of: DeviceKey(world.bob), wallMilliseconds: 42))
    let read = try Introduction(shown.encoded)
    #expect(read == shown)
    #expect(read.wallMilliseconds == 42)
    #expect(read.chain == [world.genesis.bytes, bob.bytes])
    #expect(read.entitlements == held.suffix(4).reversed().map(\.bytes))
    let (admitted, changes) = try remote.admit(read, authenticated: World.transport(of: world.bob))
    let member = try #require(admitted)
    #expect(member.device == DeviceKey(world.bob))
    #expect(changes.added.count == 5)
    #expect(remote.peerGate(device: member.device, preference: true, at: 550).isOpen)
  }

  @Test func `does not exist for a stranger`() throws {
    let world = try World()
    #expect(world.circle.introduction(of: DeviceKey(world.bob), wallMilliseconds: 1) == nil)
  }

  @Test func `a revoked device is rejected although its chain is valid`() throws {
    var world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    world.circle.insert([bob])
    let shown = try #require(world.circle.introduction(of: DeviceKey(world.bob), wallMilliseconds: 1))
    world.circle.insert([try world.revocation(by: world.root, of: world.bob)])
    var circle = world.circle
    #expect(throws: AdmissionError.revoked) {
      try circle.admit(shown, authenticated: World.transport(of: world.bob))
    }
  }

  @Test func `the longest chain with full entitlements fits`() throws {
    var world = try World()
    var issuer = world.alice
    for number in 2...Limits.chainLinksMax {
      let next = World.key("link \(number)")
      let name = String(repeating: "n", count: Limits.nameBytesMax)
      world.circle.insert([try world.certificate(by: issuer, for: next, name: name)])
      issuer = next
    }
    let crowd = (0..<Limits.devicesMax - 1).map { World.key("device \($0)") } + [issuer]
    for number in 1...4 {
      world.circle.insert([
        try world.entitlement(by: world.issuer, for: crowd, 0..<Int64(number * 100))
      ])
    }
    let shown = try #require(world.circle.introduction(of: DeviceKey(issuer), wallMilliseconds: 1))
    #expect(shown.chain.count == Limits.chainLinksMax)
    #expect(!shown.entitlements.isEmpty)
    #expect(shown.encoded.count <= Limits.introductionBytesMax)
    #expect(try Introduction(shown.encoded) == shown)
  }
}
