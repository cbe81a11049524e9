import Membership
import Sodium
import Testing
import Wire

@Suite struct `A circle that is flooded` {
  /// Log cuts by a device of its own logs: statements that cost it only a signature.
  private func flood(_ world: World, by key: SigningKey, _ numbers: Range<Int>) throws -> [Statement] {
    try numbers.map { number in
      try Statement(
        signing: LogCut(
          circle: world.circle.id, log: World.log(of: key), tip: nil, issued: Int64(number)), with: key)
    }
  }

  /// Revocations without effect, of almost the maximum size.
  private func large(_ world: World, by key: SigningKey, _ count: Int) throws -> [Statement] {
    let valid = (0..<1_900).map { StatementID(Bytes32(0, 0, 0, UInt64($0))) }
    return try (0..<count).map { number in
      try Statement(
        signing: Revocation(
          circle: world.circle.id, issuer: DeviceKey(key), device: DeviceKey(world.dave), kept: [],
          valid: valid, issued: Int64(number)), with: key)
    }
  }

  private func held(_ circle: Circle) -> Set<StatementID> { Set(circle.ids) }

  @Test func `keeps 1,024 statements of a signer and no more`() throws {
    var world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    world.circle.insert([bob])
    let most = Limits.statementsPerSignerMax
    let statements = try flood(world, by: world.bob, 0..<most + 1)
    let room = world.circle.insert(Array(statements.dropLast()))
    #expect(room.added.count == most && room.refused.isEmpty && room.crowded.isEmpty)
    let beyond = world.circle.insert([statements[most]])
    #expect(beyond.added.count + beyond.refused.count == 1)
    #expect(beyond.added.count == beyond.removed.count)
    #expect(beyond.crowded == [DeviceKey(world.bob)])
    let refused = try #require(statements.max { $0.id < $1.id })
    #expect(throws: StatementError.tooMany) { try world.circle.insert(refused.bytes) }
    #expect(try world.circle.insert(world.certificate(by: world.alice, for: world.carol).bytes))
  }

  @Test func `keeps the same statements in every order, and after two halves have met`() throws {
    let world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let carol = try world.certificate(by: world.bob, for: world.carol)
    let statements = try [bob, carol] + flood(world, by: world.bob, 0..<1_300)
    var forward = world.circle
    for start in stride(from: 0, to: statements.count, by: 100) {
      forward.insert(Array(statements[start..<min(start + 100, statements.count)]))
    }
    var backward = world.circle
    backward.insert(statements.reversed())
    #expect(forward.setHash == backward.setHash)
    var (one, other) = (world.circle, world.circle)
    one.insert(Array(statements[..<900]))
    other.insert(Array(statements[400...]) + [bob])
    let (ofOne, ofOther) = (one.statements(notIn: []), other.statements(notIn: []))
    one.insert(ofOther)
    other.insert(ofOne)
    #expect(one.setHash == other.setHash && one.setHash == forward.setHash)
    #expect(
      forward.evaluation.isMember(DeviceKey(world.carol)), "its certificates are kept before its log cuts")
  }

  @Test func `keeps 1 MiB of a signer, and the statement that crosses the limit`() throws {
    var world = try World()
    world.circle.insert([try world.certificate(by: world.alice, for: world.bob)])
    let statements = try large(world, by: world.bob, 20)
    let size = statements[0].bytes.count
    let most = (Limits.statementsBytesPerSignerMax + size - 1) / size
    #expect(statements.allSatisfy { $0.bytes.count == size } && most < 20)
    let room = world.circle.insert(Array(statements[..<most]))
    #expect(room.refused.isEmpty)
    let beyond = world.circle.insert([statements[most]])
    #expect(beyond.added.count == beyond.removed.count)
    #expect(held(world.circle).intersection(statements.map(\.id)).count == most)
  }

  @Test func `keeps as much of all uncertified keys together as of one`() throws {
    var world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let strangers = (0..<6).map { World.key("stranger \($0)") }
    let made = try strangers.flatMap { key in
      try (0..<200).map { try world.certificate(by: key, for: world.carol, issued: Int64($0)) }
    }
    world.circle.insert(made)
    #expect(held(world.circle).intersection(made.map(\.id)).count == Limits.statementsPerSignerMax)
    world.circle.insert([bob] + (try flood(world, by: world.bob, 0..<50)))
    #expect(world.circle.evaluation.isMember(DeviceKey(world.bob)))
    #expect(held(world.circle).isSuperset(of: try flood(world, by: world.bob, 0..<50).map(\.id)))
  }

  @Test func `ignores certificates by a member that is not an admin`() throws {
    var world = try World()
    world.circle.insert([try world.certificate(by: world.alice, for: world.bob, role: .member)])
    let strangers = (0..<3).map { World.key("stranger \($0)") }
    world.circle.insert(try strangers.map { try world.certificate(by: world.bob, for: $0) })
    let made = try strangers.flatMap { try flood(world, by: $0, 0..<500) }
    world.circle.insert(made)
    #expect(held(world.circle).intersection(made.map(\.id)).count == Limits.statementsPerSignerMax)
  }

  @Test func `keeps 4 MiB of all signers, shorter chains first`() throws {
    var world = try World()
    let thieves = (0..<18).map { World.key("thief \($0)") }
    world.circle.insert([try world.certificate(by: world.alice, for: world.bob)])
    world.circle.insert(try thieves.map { try world.certificate(by: world.bob, for: $0, role: .member) })
    var other = world.circle
    let made = try thieves.flatMap { try large(world, by: $0, 18) }
    world.circle.insert(made)
    other.insert(made.reversed())
    let bytes = world.circle.statements(notIn: []).reduce(0) { $0 + $1.bytes.count }
    #expect(bytes >= Limits.statementsBytesMax)
    #expect(bytes < Limits.statementsBytesMax + Limits.statementBytesMax)
    #expect(world.circle.setHash == other.setHash)
    let cuts = try flood(world, by: world.bob, 0..<10)
    #expect(world.circle.insert(cuts).refused.isEmpty, "Bob's chain is shorter")
    #expect(thieves.allSatisfy { world.circle.evaluation.isMember(DeviceKey($0)) })
  }

  /// Whichever key of a level is processed first: with eight pairs a wrong order would show.
  @Test func `counts an admin certified by one of its own level as one of the next level`() throws {
    var world = try World()
    let near = (0..<8).map { World.key("near \($0)") }
    let far = (0..<8).map { World.key("far \($0)") }
    for number in 0..<8 {
      let (maker, made) = (World.key("maker \(number)"), World.key("made \(number)"))
      world.circle.insert([
        try world.certificate(by: world.alice, for: maker),
        try world.certificate(by: world.alice, for: made, role: .member),
        try world.certificate(by: maker, for: made),
        try world.certificate(by: maker, for: near[number], role: .member),
        try world.certificate(by: made, for: far[number], role: .member),
      ])
    }
    let kept = try near.flatMap { try large(world, by: $0, 8) }
    world.circle.insert(try kept + far.flatMap { try large(world, by: $0, 8) })
    let missing = Set(kept.map(\.id)).subtracting(world.circle.ids)
    #expect(missing.isEmpty)
  }

  @Test func `keeps a revocation by an admin even if there is no room`() throws {
    var world = try World()
    let thieves = (0..<6).map { World.key("thief \($0)") }
    let certificates = try thieves.map { try world.certificate(by: world.alice, for: $0, role: .member) }
    world.circle.insert(certificates + [try world.certificate(by: world.alice, for: world.carol)])
    world.circle.insert(try thieves.flatMap { try large(world, by: $0, 18) })
    let last = try #require(world.circle.statements(notIn: []).filter { $0.kind == 3 }.map(\.id).max())
    func late(by key: SigningKey) throws -> Statement {
      for number in 0..<10_000 {
        let statement = try Statement(
          signing: Revocation(
            circle: world.circle.id, issuer: DeviceKey(key), device: DeviceKey(thieves[0]), kept: [],
            valid: [], issued: Int64(number)), with: key)
        if statement.id > last { return statement }
      }
      throw WireError.limit(offset: 0)
    }
    #expect(world.circle.insert([try late(by: world.carol)]).refused.isEmpty)
    let isMember = world.circle.evaluation.isMember(DeviceKey(thieves[0]))
    #expect(!isMember)
    let refused = try world.circle.insert([late(by: world.dave)]).refused
    #expect(!refused.isEmpty, "only admins can revoke")
    #expect(world.circle.insert([try world.revocation(by: world.root, of: world.carol)]).refused.isEmpty)
  }

  @Test func `keeps 2 MiB of revocations by admins`() throws {
    var world = try World()
    let admins = (0..<4).map { World.key("admin \($0)") }
    world.circle.insert(try admins.map { try world.certificate(by: world.alice, for: $0) })
    let made = try admins.flatMap { try large(world, by: $0, 17) }
    world.circle.insert(made)
    let bytes = made.filter { world.circle.held($0.bytes) != nil }.reduce(0) { $0 + $1.bytes.count }
    #expect(bytes >= Limits.revocationRoomBytes)
    #expect(bytes < Limits.revocationRoomBytes + Limits.statementBytesMax)
  }

  @Test func `keeps 16,384 statements in all`() throws {
    var world = try World()
    let thieves = (0..<17).map { World.key("thief \($0)") }
    world.circle.insert(try thieves.map { try world.certificate(by: world.alice, for: $0) })
    world.circle.insert(try thieves.flatMap { try flood(world, by: $0, 0..<Limits.statementsPerSignerMax) })
    #expect(world.circle.ids.count == Limits.statementsMax)
    #expect(thieves.allSatisfy { world.circle.evaluation.isMember(DeviceKey($0)) })
  }
}
