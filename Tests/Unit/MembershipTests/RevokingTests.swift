import Membership
import Sodium
import Testing
import Wire

/// The statements of a requested revocation, and its consequences.
@Suite struct RevokingTests {
  private func body(_ statement: Statement) throws -> Revocation {
    guard case .revocation(let body) = statement.content else { throw StatementError.wrongCircle }
    return body
  }

  private func order(_ key: SigningKey, kept: [KeptLog] = [], reinstated: [SigningKey] = [])
    -> RevocationTerms
  {
    RevocationTerms(device: DeviceKey(key), kept: kept, reinstated: Set(reinstated.map { DeviceKey($0) }))
  }

  /// Alice admitted Bob and Carol, Bob admitted Dave.
  private func family() throws -> (world: World, bob: Statement, carol: Statement, dave: Statement) {
    var world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let carol = try world.certificate(by: world.alice, for: world.carol)
    let dave = try world.certificate(by: world.bob, for: world.dave)
    world.circle.insert([bob, carol, dave])
    return (world, bob, carol, dave)
  }

  @Test func `valid statements of a revoked device remain valid, and later ones are void`() throws {
    var (world, bob, carol, dave) = try family()
    let eve = World.key("eve")
    let old = try world.revocation(by: world.alice, of: eve)
    let cut = try Statement(
      signing: LogCut(circle: world.circle.id, log: World.log(of: world.alice), tip: World.tip(1), issued: 4),
      with: world.alice)
    world.circle.insert([try world.certificate(by: world.root, for: eve), old, cut])
    let statement = try world.circle.revocation(order(world.alice), by: world.bob, at: 9)
    #expect(try Set(body(statement).valid) == [bob.id, carol.id, old.id, cut.id])
    world.circle.insert([statement])
    world.circle.insert([try world.certificate(by: world.alice, for: World.key("late"))])
    let evaluation = world.circle.evaluation
    #expect(evaluation.status(of: DeviceKey(world.alice)) == .revoked)
    #expect(Set(evaluation.members.keys) == Set([world.bob, world.carol, world.dave].map { DeviceKey($0) }))
    #expect(evaluation.status(of: DeviceKey(eve)) == .revoked)
    #expect(evaluation.revoked[DeviceKey(world.alice)]?.name == "laptop")
    #expect(evaluation.known(DeviceKey(world.dave))?.chain.last == dave.id)
  }

  @Test func `quotas bind a revoked device at all others, but not what it writes into its own store`() throws
  {
    var (world, _, _, _) = try family()
    let bob = DeviceKey(world.bob)
    #expect(world.circle.evaluation.quota(of: bob, .records, at: bob) == Limits.recordsQuotaBytes)
    world.circle.insert([try world.revocation(by: world.root, of: world.bob)])
    let evaluation = world.circle.evaluation
    #expect(evaluation.quota(of: bob, .records, at: bob) == DeviceQuotas.unlimited)
    #expect(
      evaluation.quota(of: bob, .records, at: DeviceKey(world.alice)) == Limits.recordsQuotaBytes)
  }

  @Test func `a revocation does not make void statements valid`() throws {
    var (world, bob, _, _) = try family()
    // Carol is a member who signs as if she were an admin.
    let member = try world.certificate(by: world.root, for: World.key("eve"), role: .member)
    let void = try world.certificate(by: World.key("eve"), for: World.key("friend"))
    world.circle.insert([member, void])
    let eve = try world.circle.revocation(order(World.key("eve")), by: world.alice, at: 9)
    #expect(try body(eve).valid.isEmpty)
    // Statements voided by an earlier revocation stay void.
    world.circle.insert([try world.revocation(by: world.root, of: world.alice)])
    let again = try world.circle.revocation(order(world.alice), by: world.root, at: 9)
    #expect(try !body(again).valid.contains(bob.id))
  }

  @Test func `revocations by a thief are void where the user says so`() throws {
    var (world, bob, carol, dave) = try family()
    // Alice's key is stolen: the thief revokes Bob and Carol.
    world.circle.insert([
      try world.revocation(by: world.alice, of: world.bob, valid: [dave]),
      try world.revocation(by: world.alice, of: world.carol),
    ])
    #expect(
      Set(world.circle.evaluation.countingRevocations(by: DeviceKey(world.alice)).map(\.body.device))
        == [DeviceKey(world.bob), DeviceKey(world.carol)])
    var kept = world.circle
    kept.insert([try kept.revocation(order(world.alice), by: world.root, at: 9)])
    #expect(kept.evaluation.status(of: DeviceKey(world.bob)) == .revoked)
    var undone = world.circle
    let statement = try undone.revocation(
      order(world.alice, reinstated: [world.bob, world.carol]), by: world.root, at: 9)
    #expect(try Set(body(statement).valid) == [bob.id, carol.id])
    undone.insert([statement])
    #expect(undone.evaluation.members.count == 3)
    #expect(undone.evaluation.members[DeviceKey(world.bob)] != nil)
  }

  @Test func `a device with any number of logs can still be revoked`() throws {
    let (world, _, _, _) = try family()
    let logs = (0..<4_000).map { number in
      KeptLog(incarnation: Incarnation(Bytes16(0, number)), lane: .records, tips: [World.tip(number)])
    }
    let statement = try world.circle.revocation(order(world.dave, kept: logs), by: world.alice, at: 9)
    let kept = try body(statement).kept
    #expect(kept.count > 500 && kept.count < 4_000)
    #expect(kept == Array(logs.prefix(kept.count)), "the first are the most important")
    #expect(statement.bytes.count <= Limits.statementBytesMax)
  }

  @Test func `a revoked device keeps its own logs complete in its own store, and no other device's`() throws {
    var (world, _, _, _) = try family()
    let log = World.log(of: world.bob)
    let key = DeviceKey(world.bob)
    #expect(world.circle.evaluation.admission(of: log, at: key) == .open)
    world.circle.insert([try world.revocation(by: world.alice, of: world.bob)])
    let evaluation = world.circle.evaluation
    #expect(evaluation.admission(of: log, at: key) == .open)
    #expect(evaluation.admission(of: log, at: DeviceKey(world.carol)) == .cut([[]]))
    #expect(
      evaluation.admission(of: World.log(of: world.dave), at: key) == .cut([[]]), "Bob had admitted Dave")
    #expect(evaluation.hasCertificate(DeviceKey(world.dave)))
    #expect(!evaluation.hasCertificate(DeviceKey(World.key("nobody"))))
  }

  @Test func `the root key admits any device that holds a ticket, and a member's key does not`() throws {
    let (world, _, _, _) = try family()
    let eve = World.key("eve")
    let request = JoinRequest(key: eve, transport: World.transport(of: eve), name: "eve", handshakeHash: [])
    let (reply, certificate) = try world.circle.admit(request, role: .admin, by: world.root, at: 5)
    guard case .accepted = reply else {
      Issue.record("refused")
      return
    }
    #expect(certificate?.signer == DeviceKey(world.root))
    var members = world.circle
    members.insert([try world.certificate(by: world.root, for: eve, role: .member)])
    let late = JoinRequest(
      key: World.key("late"), transport: World.transport(of: World.key("late")), name: "x", handshakeHash: [])
    #expect(try members.admit(late, role: .member, by: eve, at: 5).reply == .refused(.notAdmin))
    #expect(
      try world.circle.admit(late, role: .member, by: World.key("nobody"), at: 5).reply
        == .refused(.notAdmin))
  }

  @Test func `an introduction shows why a revocation of its device does not count`() throws {
    var (world, bob, carol, _) = try family()
    let thief = try world.revocation(by: world.bob, of: world.alice, valid: [bob, carol])
    var other = world.circle
    other.insert([thief])
    #expect(other.evaluation.status(of: DeviceKey(world.alice)) == .revoked)
    world.circle.insert([thief, try world.revocation(by: world.alice, of: world.bob)])
    let shown = try #require(world.circle.introduction(of: DeviceKey(world.alice), wallMilliseconds: 1))
    #expect(shown.chain.count == 2)
    let read = try Introduction(shown.encoded)
    let (member, changes) = try other.admit(read, authenticated: World.transport(of: world.alice))
    #expect(member?.device == DeviceKey(world.alice))
    #expect(changes.added.count == 1)
    #expect(other.evaluation.status(of: DeviceKey(world.bob)) == .revoked)
    // Where the other revocation counts, the proof is omitted and the device is not admitted.
    var bobs = world.circle
    bobs.insert([try world.revocation(by: world.root, of: world.alice)])
    #expect(bobs.introduction(of: DeviceKey(world.alice), wallMilliseconds: 1) == nil)
  }

  @Test func `a revoked device asks with its former chain, and shows which revocation excludes it`() throws {
    var (world, bob, _, dave) = try family()
    let (key, transport) = (DeviceKey(world.dave), World.transport(of: world.dave))
    let unheard = world.circle
    // Bob had admitted Dave; Dave's certificate goes with Bob.
    let end = try world.revocation(by: world.root, of: world.bob)
    world.circle.insert([end])
    #expect(world.circle.evaluation.status(of: key) == .unknown)
    #expect(world.circle.introduction(of: key, wallMilliseconds: 1) == nil)
    let shown = try #require(world.circle.dialledIntroduction(of: key, wallMilliseconds: 1))
    #expect(try Introduction(shown.encoded).chain == [end, world.genesis, bob, dave].map(\.bytes))
    // A device that knows the revocation stores and admits nothing; one that did not learns it from the revoked
    // device.
    var heard = world.circle
    #expect(throws: AdmissionError.notAMember) { try heard.admit(shown, authenticated: transport) }
    var other = unheard
    let (member, changes) = try other.admit(shown, authenticated: transport)
    #expect(member == nil)
    #expect(changes.added == [end.id])
    #expect(!other.evaluation.isMember(key))
    // Only the device itself may show it.
    other = unheard
    #expect(throws: AdmissionError.notAMember) {
      try other.admit(shown, authenticated: World.transport(of: world.carol))
    }
    #expect(other.ids == unheard.ids)
  }

  @Test func `a device that asks is admitted where its revocation does not count`() throws {
    var (world, bob, carol, _) = try family()
    let key = DeviceKey(world.carol)
    let thief = try world.revocation(by: world.bob, of: world.carol, valid: [bob, carol])
    var carols = world.circle
    carols.insert([thief])
    let shown = try #require(carols.dialledIntroduction(of: key, wallMilliseconds: 1))
    #expect(shown.chain.first == thief.bytes)
    world.circle.insert([try world.revocation(by: world.alice, of: world.bob)])
    let (member, changes) = try world.circle.admit(shown, authenticated: World.transport(of: world.carol))
    #expect(member?.device == key)
    #expect(changes.added == [thief.id])
    #expect(world.circle.dialledIntroduction(of: DeviceKey(World.key("x")), wallMilliseconds: 1) == nil)
  }
}
