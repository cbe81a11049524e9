import Sodium
import Testing
import Wire

@testable import Membership

/// Alice's circle judges introductions and counts the signatures that it verifies.
private struct Verifications {
  var world: World
  var verified = 0

  init() throws { world = try World() }

  mutating func admit(
    _ chain: [Statement], _ rest: [Statement] = [], by key: SigningKey, transport: TransportKey? = nil
  ) throws -> (member: Member?, changes: Circle.Changes) {
    try admit(chain.map(\.bytes), rest.map(\.bytes), transport: transport ?? World.transport(of: key))
  }

  mutating func admit(
    _ chain: [[UInt8]], _ rest: [[UInt8]] = [], transport: TransportKey
  ) throws -> (member: Member?, changes: Circle.Changes) {
    let introduction = Introduction(chain: chain, entitlements: rest, wallMilliseconds: 1)
    verified = 0
    var count = 0
    defer { verified = count }
    return try world.circle.admit(introduction, authenticated: transport) { decoded throws(StatementError) in
      count += 1
      return try Statement(verifying: decoded)
    }
  }

  /// Well-signed statements of Dave, whom the circle does not know.
  func padding(_ count: Int) throws -> [Statement] {
    try (0..<count).map { try world.entitlement(by: world.dave, 0..<9, serial: UInt64($0)) }
  }
}

@Suite struct `A stranger's introduction` {
  @Test func `costs no signature if no known device has signed its certificate`() throws {
    var alice = try Verifications()
    let world = alice.world
    let carol = try world.certificate(by: world.dave, for: world.carol)
    let bob = try world.certificate(by: world.carol, for: world.bob)
    let padding = try alice.padding(4)
    #expect(throws: AdmissionError.notAMember) {
      try alice.admit([world.genesis, carol, bob], padding, by: world.bob)
    }
    #expect(alice.verified == 0)
    // Two certificates that certify each other lead nowhere.
    let dave = try world.certificate(by: world.carol, for: world.dave)
    #expect(throws: AdmissionError.notAMember) {
      try alice.admit([carol, dave, bob], padding, by: world.bob)
    }
    #expect(alice.verified == 0)
  }

  @Test func `costs no signature if it shows a member's certificate`() throws {
    var alice = try Verifications()
    let world = alice.world
    let bob = try world.certificate(by: world.alice, for: world.bob)
    #expect(throws: AdmissionError.notAMember) {
      try alice.admit(
        [world.genesis, bob], alice.padding(4), by: world.bob,
        transport: World.transport(of: world.dave))
    }
    #expect(alice.verified == 0)
  }

  @Test func `costs one signature if it forges that of a known device`() throws {
    var alice = try Verifications()
    let world = alice.world
    var forged = try world.certificate(by: world.alice, for: world.bob).bytes
    forged[forged.count - 1] ^= 1
    let carol = try world.certificate(by: world.bob, for: world.carol)
    let padding = try alice.padding(4).map(\.bytes)
    #expect(throws: AdmissionError.malformed) {
      try alice.admit([forged, carol.bytes], padding, transport: World.transport(of: world.carol))
    }
    #expect(alice.verified == 1)
  }
}

@Suite struct `A member's introduction` {
  @Test func `costs one signature for each certificate that is not held`() throws {
    var alice = try Verifications()
    let world = alice.world
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let carol = try world.certificate(by: world.bob, for: world.carol)
    let entitlement = try world.entitlement(by: world.issuer, 0..<9)
    let first = try alice.admit([world.genesis, bob, carol], [entitlement], by: world.carol)
    #expect(first.member?.device == DeviceKey(world.carol) && first.changes.added.count == 3)
    #expect(alice.verified == 3)
    let again = try alice.admit([world.genesis, bob, carol], [entitlement], by: world.carol)
    #expect(again.member?.device == DeviceKey(world.carol) && again.changes.isEmpty)
    #expect(alice.verified == 0)
  }

  @Test func `brings only statements of signers that are known`() throws {
    var alice = try Verifications()
    let world = alice.world
    let bob = try world.certificate(by: world.alice, for: world.bob)
    let addresses = try world.addresses(of: world.bob, clock: 1)
    let padding = try alice.padding(2)
    let admitted = try alice.admit([addresses, bob], padding, by: world.bob)
    #expect(admitted.member?.device == DeviceKey(world.bob))
    #expect(Set(admitted.changes.added) == [bob.id, addresses.id])
    #expect(alice.verified == 2)
  }
}
