import Membership
import Sodium
import Testing
import Wire

@Suite struct `The gate` {
  @Test func `needs both premium and the preference`() throws {
    var world = try World()
    let alice = DeviceKey(world.alice)
    #expect(world.circle.ownGate(device: alice, preference: true, local: .none, at: 150).reason == .freeTier)
    world.circle.insert([try world.entitlement(by: world.issuer, 100..<200)])
    let off = world.circle.ownGate(device: alice, preference: false, local: .none, at: 150)
    #expect(off.isPremium && !off.isOpen && off.reason == .syncOff && off.validUntil == 200)
    let on = world.circle.ownGate(device: alice, preference: true, local: .none, at: 150)
    #expect(on.isOpen && on.source == .certificate)
  }

  @Test func `a build with all features needs no certificate`() throws {
    let world = try World()
    let gate = world.circle.ownGate(
      device: DeviceKey(world.alice), preference: true, local: .allFeatures, at: 1)
    #expect(gate.isOpen && gate.source == .allFeatures && gate.validUntil == nil && gate.nextChange == nil)
  }

  @Test func `a mock purchase ends at its exact millisecond`() throws {
    let world = try World()
    func gate(_ until: Int64?, at time: Int64) -> Gate {
      world.circle.ownGate(
        device: DeviceKey(world.alice), preference: true, local: .mock(until: until), at: time)
    }
    #expect(gate(nil, at: 1).isOpen)
    #expect(gate(200, at: 199).isOpen)
    #expect(gate(200, at: 199).nextChange == 200)
    #expect(gate(200, at: 199).source == .mock)
    #expect(gate(200, at: 200).reason == .entitlementExpired)
  }

  @Test func `a certificate continues where a mock purchase ends`() throws {
    var world = try World()
    world.circle.insert([try world.entitlement(by: world.issuer, 100..<300)])
    let gate = world.circle.ownGate(
      device: DeviceKey(world.alice), preference: true, local: .mock(until: 200), at: 200)
    #expect(gate.source == .certificate)
    #expect(gate.validUntil == 300)
  }

  @Test func `the development issuer counts for peers of a build that knows it, and nowhere else`() throws {
    let developer = World.key("development")
    var plain = try World()
    var special = try World(developmentIssuer: DeviceKey(developer))
    let bob = try plain.certificate(by: plain.alice, for: plain.bob)
    let mock = try plain.entitlement(by: developer, for: [plain.bob], 100..<200, issuedAt: 9_000)
    plain.circle.insert([bob, mock])
    special.circle.insert([bob, mock])
    let device = DeviceKey(plain.bob)
    #expect(plain.circle.peerGate(device: device, preference: true, at: 150).reason == .freeTier)
    #expect(plain.circle.gateTime(wall: 150, newestFolded: nil) == 150)
    #expect(special.circle.peerGate(device: device, preference: true, at: 150).isOpen)
    let own = special.circle.ownGate(device: device, preference: true, local: .none, at: 150)
    #expect(own.reason == .freeTier, "a cancelled mock purchase stays cancelled")
  }

  @Test(arguments: [
    (local: LocalPremium.none, end: Int64?.none),
    (local: .allFeatures, end: Limits.timeMillisecondsMax),
    (local: .mock(until: nil), end: Limits.timeMillisecondsMax),
    (local: .mock(until: 200), end: 200),
  ]) func `premium that a build grants itself is accepted by peers of the same build`(
    local: LocalPremium, end: Int64?
  ) throws {
    let developer = World.key("development")
    var world = try World(developmentIssuer: DeviceKey(developer))
    let alice = DeviceKey(world.alice)
    let shown = try world.circle.developmentEntitlement(device: alice, local: local, key: developer)
    #expect((shown == nil) == (end == nil))
    guard let shown else { return }
    world.circle.insert([shown])
    let gate = world.circle.peerGate(device: alice, preference: true, at: 150)
    #expect(gate.isOpen)
    #expect(gate.validUntil == end)
    let again = try world.circle.developmentEntitlement(device: alice, local: local, key: developer)
    #expect(again?.bytes == shown.bytes)
    #expect(world.circle.gateTime(wall: 1, newestFolded: nil) == 1)
  }

  @Test func `a mock purchase that ends before the epoch issues no certificate`() throws {
    let world = try World()
    #expect(throws: StatementError.self) {
      try world.circle.developmentEntitlement(
        device: DeviceKey(world.alice), local: .mock(until: 0), key: World.key("development"))
    }
  }

  @Test func `the traits of this build match its development issuer`() {
    let hasTrait = BuildTraits.allFeatures || BuildTraits.mockPurchases
    #expect((BuildTraits.developmentIssuer != nil) == hasTrait)
  }

  @Test(arguments: [
    (wall: Int64(50), issued: Int64(0), folded: nil, time: Int64(50)),
    (wall: 50, issued: 120, folded: nil, time: 120),
    (wall: 50, issued: 120, folded: 180, time: 180),
    (wall: 500, issued: 120, folded: Int64?(180), time: 500),
  ]) func `setting the clock back gains nothing`(wall: Int64, issued: Int64, folded: Int64?, time: Int64)
    throws
  {
    var world = try World()
    world.circle.insert([try world.entitlement(by: world.issuer, 100..<180, issuedAt: issued)])
    #expect(world.circle.gateTime(wall: wall, newestFolded: folded) == time)
    let gate = world.circle.ownGate(
      device: DeviceKey(world.alice), preference: true, local: .none,
      at: world.circle.gateTime(wall: wall, newestFolded: folded))
    #expect(gate.isOpen == (100..<180).contains(time))
  }

  @Test func `the next change is the moment when the answer changes`() throws {
    var world = try World()
    world.circle.insert([
      try world.entitlement(by: world.issuer, 100..<200), try world.entitlement(by: world.issuer, 150..<250),
      try world.entitlement(by: world.issuer, 250..<260), try world.entitlement(by: world.issuer, 300..<310),
    ])
    var asked = 0
    var time: Int64 = 0
    var answers: [Bool] = []
    while asked < 10 {
      let gate = world.circle.ownGate(
        device: DeviceKey(world.alice), preference: true, local: .none, at: time)
      answers.append(gate.isOpen)
      for between in time..<(gate.nextChange ?? 400) {
        let later = world.circle.ownGate(
          device: DeviceKey(world.alice), preference: true, local: .none, at: between)
        #expect(later.isOpen == gate.isOpen, "at \(between)")
      }
      guard let next = gate.nextChange else { break }
      time = next
      asked += 1
    }
    #expect(answers == [false, true, false, true, false])
  }
}
