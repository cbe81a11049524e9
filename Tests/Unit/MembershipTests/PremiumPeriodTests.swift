import Membership
import Testing
import Wire

/// How entitlements are joined into one unbroken period, and when a gate is judged again.
@Suite struct PremiumPeriodTests {
  struct Row: Sendable {
    let periods: [Range<Int64>]
    let time: Int64
    let until: Int64?
    let next: Int64?
    let reason: GateReason?
  }

  static let rows = [
    // One inside another ends nothing.
    Row(periods: [100..<300, 120..<160], time: 150, until: 300, next: 300, reason: nil),
    Row(periods: [100..<300, 120..<160, 160..<170], time: 165, until: 300, next: 300, reason: nil),
    Row(periods: [100..<160, 110..<170, 170..<180], time: 150, until: 180, next: 180, reason: nil),
    Row(periods: [100..<160, 150..<155, 159..<300], time: 150, until: 300, next: 300, reason: nil),
    // A gap of one millisecond is one.
    Row(periods: [100..<160, 161..<300], time: 150, until: 160, next: 160, reason: nil),
    Row(periods: [100..<160, 161..<300], time: 159, until: 160, next: 160, reason: nil),
    Row(periods: [100..<160, 161..<300], time: 160, until: nil, next: 161, reason: .entitlementExpired),
    Row(periods: [100..<160, 161..<300], time: 161, until: 300, next: 300, reason: nil),
    Row(periods: [100..<160, 161..<300], time: 300, until: nil, next: nil, reason: .entitlementExpired),
    // Before the first, the next change is the earliest begin.
    Row(periods: [200..<300, 100..<150], time: 99, until: nil, next: 100, reason: .entitlementNotYetValid),
    Row(periods: [200..<300, 100..<150], time: 100, until: 150, next: 150, reason: nil),
    Row(periods: [], time: 100, until: nil, next: nil, reason: .freeTier),
  ]

  @Test(arguments: rows.indices)
  func `periods are joined without gaps, in whatever order they are held`(index: Int) throws {
    let row = Self.rows[index]
    for periods in [row.periods, row.periods.reversed()] {
      var world = try World()
      for (number, period) in periods.enumerated() {
        world.circle.insert([try world.entitlement(by: world.issuer, period, serial: UInt64(number))])
      }
      let alice = DeviceKey(world.alice)
      for preference in [true, false] {
        let expected: GateReason? = row.reason ?? (preference ? nil : .syncOff)
        let own = world.circle.ownGate(device: alice, preference: preference, local: .none, at: row.time)
        #expect(own.validUntil == row.until && own.nextChange == row.next)
        #expect(own.premiumReason == row.reason && own.isPremium == (row.reason == nil))
        #expect(own.reason == expected)
        #expect(own.source == (row.reason == nil ? .certificate : .none))
        #expect(world.circle.peerGate(device: alice, preference: preference, at: row.time) == own)
      }
    }
  }

  @Test func `a mock purchase that has ended hides no entitlement that is still to come`() throws {
    var world = try World()
    let alice = DeviceKey(world.alice)
    func gate(_ time: Int64) -> Gate {
      world.circle.ownGate(device: alice, preference: true, local: .mock(until: 200), at: time)
    }
    #expect(gate(250).reason == .entitlementExpired && gate(250).nextChange == nil)
    world.circle.insert([try world.entitlement(by: world.issuer, 300..<400)])
    #expect(gate(250).reason == .entitlementNotYetValid && gate(250).nextChange == 300)
    #expect(gate(300).isOpen && gate(300).source == .certificate && gate(300).validUntil == 400)
    #expect(gate(150).source == .mock && gate(150).nextChange == 200)
  }
}
