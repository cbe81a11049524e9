import Membership
import Sodium
import Testing
import Wire

/// What follows from a device's exclusion, or from its wish to leave, besides that it is no member.
@Suite struct ExclusionTests {
  private let kept = [KeptLog(incarnation: World.incarnation, lane: .records, tips: [World.tip(1)])]

  private func body(_ statement: Statement) throws -> Revocation {
    guard case .revocation(let body) = statement.content else { throw StatementError.wrongCircle }
    return body
  }

  @Test func `what a device wrote is discarded by one revocation that keeps nothing, for good by the root's`()
    throws
  {
    var world = try World()
    let bob = DeviceKey(world.bob)
    world.circle.insert([
      try world.certificate(by: world.alice, for: world.bob),
      try world.revocation(by: world.alice, of: world.bob, kept: kept),
      try world.revocation(by: world.root, of: world.bob, kept: kept),
    ])
    #expect(world.circle.evaluation.discards.isEmpty)
    world.circle.insert([try world.revocation(by: world.alice, of: world.bob)])
    #expect(world.circle.evaluation.discards == [bob: false], "the root's own revocation keeps a log")
    world.circle.insert([try world.revocation(by: world.root, of: world.bob)])
    #expect(world.circle.evaluation.discards == [bob: true])
  }

  @Test func `a member that revokes itself is leaving, an admin has left, and others were only revoked`()
    throws
  {
    var world = try World()
    let (bob, carol, dave) = (DeviceKey(world.bob), DeviceKey(world.carol), DeviceKey(world.dave))
    let requests = [
      try world.revocation(by: world.bob, of: world.bob, kept: kept),
      try world.revocation(by: world.bob, of: world.bob),
    ]
    world.circle.insert([
      try world.certificate(by: world.alice, for: world.bob, role: .member),
      try world.certificate(by: world.alice, for: world.carol, role: .admin),
      try world.certificate(by: world.alice, for: world.dave, role: .member),
      try world.revocation(by: world.carol, of: world.carol),
      try world.revocation(by: world.alice, of: world.dave),
    ])
    #expect(world.circle.evaluation.leaving.isEmpty)
    let first = try body(try #require(requests.min { $0.id < $1.id }))
    for order in [requests, requests.reversed()] {
      var circle = world.circle
      for request in order { circle.insert([request]) }
      #expect(circle.evaluation.leaving == [bob: first], "all devices complete the same request")
    }
    world.circle.insert(requests)
    #expect(world.circle.evaluation.isMember(bob) && !world.circle.evaluation.hasLeft(bob))
    #expect(world.circle.evaluation.hasLeft(carol) && !world.circle.evaluation.hasLeft(dave))
    #expect(!world.circle.evaluation.hasLeft(DeviceKey(world.alice)))
    world.circle.insert([
      try world.circle.completion(of: first, held: [], by: world.alice, at: 9)
    ])
    #expect(world.circle.evaluation.leaving.isEmpty && world.circle.evaluation.hasLeft(bob))
    #expect(world.circle.evaluation.status(of: bob) == .revoked)
  }

  @Test func `a completed departure keeps what the device named, and what only the other device holds`()
    throws
  {
    var world = try World()
    func log(_ lane: Lane, _ tips: Int...) -> KeptLog {
      KeptLog(incarnation: World.incarnation, lane: lane, tips: tips.map { World.tip(UInt64($0)) })
    }
    let request = try body(
      world.revocation(by: world.bob, of: world.bob, kept: [log(.records, 2), log(.settings, 3)]))
    world.circle.insert([try world.certificate(by: world.alice, for: world.bob, role: .member)])
    // Alice has not received the newest records.
    for (held, kept) in [
      ([], [log(.records, 2), log(.settings, 3)]),
      ([log(.records, 1)], [log(.records, 1, 2), log(.settings, 3)]),
      ([log(.records, 2), log(.settings, 4)], [log(.records, 2), log(.settings, 3, 4)]),
    ] {
      let completed = try body(world.circle.completion(of: request, held: held, by: world.alice, at: 9))
      #expect(completed.device == DeviceKey(world.bob) && completed.issuer == DeviceKey(world.alice))
      #expect(Set(completed.kept) == Set(kept))
    }
  }

  @Test func `an excluded device is not premium, whatever its build or its purchases say`() throws {
    var world = try World()
    world.circle.insert([
      try world.certificate(by: world.alice, for: world.bob),
      try world.certificate(by: world.bob, for: world.dave),
      try world.entitlement(by: world.issuer, 100..<200), try world.revocation(by: world.root, of: world.bob),
    ])
    for local in [LocalPremium.none, .allFeatures, .mock(until: nil), .mock(until: 160)] {
      for (key, reason) in [(world.bob, GateReason.revoked), (world.dave, .notAMember)] {
        let gate = world.circle.ownGate(device: DeviceKey(key), preference: true, local: local, at: 150)
        #expect(gate.reason == reason && !gate.isPremium && !gate.isOpen)
        #expect(gate.source == .none && gate.validUntil == nil && gate.nextChange == nil)
      }
    }
    let peer = world.circle.peerGate(device: DeviceKey(world.dave), preference: true, at: 150)
    #expect(peer.reason == .freeTier)
  }

  @Test func `kept logs come longest first, each once with all its tips`() throws {
    let device = DeviceKey(try World().bob)
    func log(_ number: UInt64, _ lane: Lane) -> LogKey {
      LogKey(device: device, incarnation: Incarnation(Bytes16(1, number)), lane: lane)
    }
    let (logs, changeSets) = KeptLog.logs(endingAt: [
      (log(1, .records), 5, World.tip(2)), (log(2, .records), 9, World.tip(3)),
      (log(1, .records), 7, World.tip(1)), (log(1, .settings), 7, World.tip(4)),
      (log(3, .settings), 1, World.tip(5)),
    ])
    #expect(logs.map(\.incarnation.raw.word1) == [2, 1, 1, 3])
    #expect(logs.map(\.lane) == [.records, .settings, .records, .settings])
    let tips = [[3], [4], [1, 2], [5]].map { $0.map { World.tip($0) } }
    #expect(logs.map(\.tips) == tips)
    #expect(changeSets == 24, "the branches of a log are not added up")
    let nothing = KeptLog.logs(endingAt: [])
    #expect(nothing.logs.isEmpty && nothing.changeSets == 0)
  }

  // MARK: What a device shows

  private func revocation(
    _ world: World, by key: SigningKey, of device: SigningKey, issued: Int64
  ) throws -> Statement {
    try Statement(
      signing: Revocation(
        circle: world.circle.id, issuer: DeviceKey(key), device: DeviceKey(device), kept: [], valid: [],
        issued: issued), with: key)
  }

  @Test func `of many revocations, a device shows first those about itself, then the newest`() throws {
    var world = try World()
    world.circle.insert([try world.certificate(by: world.alice, for: world.bob)])
    let others = try (1...9).map {
      try revocation(world, by: world.root, of: World.key("former \($0)"), issued: Int64($0 * 100))
    }
    world.circle.insert(others)
    let alice = DeviceKey(world.alice)
    var shown = try #require(world.circle.introduction(of: alice, wallMilliseconds: 1)).chain
    #expect(shown.last == world.genesis.bytes && shown.count == Limits.chainLinksMax)
    #expect(Set(shown.dropLast()) == Set(others.suffix(7).map(\.bytes)))
    // Bob's revocation of Alice does not count, because of an older one of Bob.
    let answer = try revocation(world, by: world.alice, of: world.bob, issued: 1)
    world.circle.insert([try revocation(world, by: world.bob, of: world.alice, issued: 2_000), answer])
    #expect(world.circle.evaluation.isMember(alice))
    shown = try #require(world.circle.introduction(of: alice, wallMilliseconds: 1)).chain
    #expect(Set(shown.dropLast()) == Set((others.suffix(6) + [answer]).map(\.bytes)))
    // The device that is revoked shows the revocation of itself, although all others are newer.
    let bob = DeviceKey(world.bob)
    shown = try #require(world.circle.dialledIntroduction(of: bob, wallMilliseconds: 1)).chain
    #expect(shown.count == Limits.chainLinksMax)
    #expect(Set(shown.dropLast(2)) == Set((others.suffix(5) + [answer]).map(\.bytes)))
  }
}
