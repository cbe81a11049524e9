import Membership
import Sodium
import Testing
import Wire

/// Protocol/circle.md, "Branch proof". The vectors contain proofs that are refused.
@Suite struct BranchProofTests {
  private func header(
    _ world: World, sequence: UInt64, _ variant: UInt64, number: Int = 1, log: UInt64 = 0
  ) -> (header: [UInt8], signature: [UInt8]) {
    var writer = CBORWriter()
    writer.map(sequence == 1 ? 7 : 8)
    writer.unsigned(0)
    writer.unsigned(2)
    writer.unsigned(1)
    writer.byteString(world.circle.id.raw)
    writer.unsigned(2)
    writer.byteString(world.bob.publicKey)
    writer.unsigned(3)
    writer.byteString(Incarnation(random: Bytes16(log, 0), number: number).raw)
    writer.unsigned(4)
    writer.unsigned(1)
    writer.unsigned(5)
    writer.unsigned(sequence)
    if sequence > 1 {
      writer.unsigned(6)
      writer.byteString(Bytes32(0, 0, 0, sequence))
    }
    writer.unsigned(7)
    writer.unsigned(variant)
    let prefix = Array("waymark/change-set-signature/v1\0".utf8)
    return (writer.bytes, world.bob.sign(prefix: prefix, writer.bytes))
  }

  /// The headers of forks, each given as a sequence and the number of sets there.
  private func forks(
    _ world: World, _ forks: [(UInt64, Int)], number: Int = 1
  ) -> [(header: [UInt8], signature: [UInt8])] {
    forks.flatMap { sequence, count in
      (0..<count).map { header(world, sequence: sequence, UInt64($0), number: number) }
    }
  }

  private func proof(_ world: World, _ forks: [(UInt64, Int)], number: Int = 1) throws -> Statement {
    try BranchProof.statement(circle: world.circle.id, self.forks(world, forks, number: number))
  }

  private func line(_ statement: Statement) throws -> UInt64 {
    guard case .branchProof(let proof) = statement.content else {
      Issue.record("not a branch proof")
      return 0
    }
    return proof.line
  }

  /// The line leaves at most sixteen branches, and is as high as the evidence above it allows.
  @Test(
    arguments: [
      ([(2, 17)], 1), ([(1, 17)], 0), ([(9, 40)], 8), ([(3, 2), (9, 17)], 8), ([(3, 2), (9, 16)], 2),
      ([(3, 16), (9, 17)], 8), ([(3, 17), (9, 17)], 2), ([(3, 9), (4, 9), (9, 40)], 3),
      ((2...17).map { ($0, 2) }, 1), ((2...40).map { ($0, 2) }, 16),
    ] as [([(UInt64, Int)], UInt64)])
  func `a proof has the highest line that leaves sixteen branches`(forks: [(UInt64, Int)], line: UInt64)
    throws
  {
    let world = try World()
    #expect(try self.line(proof(world, forks)) == line)
  }

  @Test func `the same sets yield the same proof in any order, and too few yield none`() throws {
    let world = try World()
    let headers = forks(world, [(2, 5), (3, 2), (7, 30)])
    let one = try BranchProof.statement(circle: world.circle.id, headers)
    let other = try BranchProof.statement(circle: world.circle.id, headers.reversed() + headers)
    #expect(one.bytes == other.bytes)
    #expect(throws: StatementError.self) { try proof(world, [(2, 9), (5, 8)]) }
    #expect(throws: StatementError.self) { try BranchProof.statement(circle: world.circle.id, []) }
  }

  @Test func `one proof of each tree is held, the same one in every order of arrival`() throws {
    let world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let proofs = try [
      proof(world, [(9, 17)]), proof(world, [(5, 18)]), proof(world, [(5, 9), (6, 9)]),
      proof(world, [(7, 17)], number: 16),
    ]
    let lowest = [proofs[1], proofs[2]].min { ($0.id) < ($1.id) }
    var random = SystemRandomNumberGenerator()
    for _ in 0..<24 {
      var circle = world.circle
      for statement in ([bob] + proofs).shuffled(using: &random) { circle.insert([statement]) }
      #expect(circle.ids.count == 4)
      #expect(circle.statement(try #require(lowest).id) != nil)
      let tree = LogTree(device: DeviceKey(world.bob), number: 1, lane: .records)
      #expect(circle.evaluation.branchProofs[tree]?.line == 4)
      let log = LogKey(
        device: tree.device, incarnation: Incarnation(random: Bytes16(9, 9), number: 16), lane: .records)
      #expect(circle.evaluation.admission(of: log) == .cut([], line: 6))
    }
  }

  /// A device could otherwise hide the proof against itself.
  @Test func `no other statements of its device keep out a branch proof`() throws {
    var world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let cuts = try (0..<Limits.statementsPerSignerMax + 10).map { number in
      try Statement(
        signing: LogCut(
          circle: world.circle.id, log: World.log(of: world.bob), tip: nil, issued: Int64(number)),
        with: world.bob)
    }
    let proof = try proof(world, [(9, 17)])
    world.circle.insert([bob] + cuts)
    #expect(world.circle.insert([proof]).refused.isEmpty)
    world.circle.insert(try [world.certificate(by: world.bob, for: world.carol)])
    #expect(world.circle.statement(proof.id) != nil)
  }

  @Test func `a revocation decides instead of a proof`() throws {
    var world = try World()
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let log = LogKey(
      device: DeviceKey(world.bob), incarnation: Incarnation(random: Bytes16(0, 0), number: 1), lane: .records
    )
    world.circle.insert([bob, try proof(world, [(9, 17)])])
    #expect(world.circle.evaluation.admission(of: log) == .cut([], line: 8))
    let tip = World.tip(1)
    world.circle.insert([
      try world.revocation(
        by: world.alice, of: world.bob,
        kept: [KeptLog(incarnation: log.incarnation, lane: .records, tips: [tip])])
    ])
    #expect(world.circle.evaluation.admission(of: log) == .cut([[tip]]))
  }
}
