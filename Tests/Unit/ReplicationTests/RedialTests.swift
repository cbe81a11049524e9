import Membership
import Testing
import Wire

@testable import Replication

/// What happens to addresses and beacons the second time, and with more than one device.
@Suite struct RedialTests {
  private static let bob = Device.bob.key
  private static let carol = Device.carol.key

  private static func due(_ dialing: inout Dialing, _ now: Moment) -> [String] {
    dialing.due(now: now, connected: [], paused: [])
  }

  @Test func `addresses found for one device evict none of another device, and none that is being dialled`() {
    var dialing = Dialing(seed: 1)
    dialing.found("carol:1", of: Self.carol, now: 0)
    dialing.found("bob:0", of: Self.bob, now: 0)
    #expect(dialing.due(now: 0, connected: [Self.carol], paused: []) == ["bob:0"])
    for number in 1...5 { dialing.found("bob:\(number)", of: Self.bob, now: Moment(number)) }
    let kept = ["bob:5", "bob:4", "bob:3", "bob:2", "bob:0", "carol:1"]
    #expect(dialing.entries.map(\.address) == kept)
    // Once its attempt has ended, it is one of the older ones.
    dialing.failed("bob:0", .timeout, now: 6)
    dialing.found("bob:6", of: Self.bob, now: 7)
    #expect(dialing.entries.map(\.address) == ["bob:6", "bob:5", "bob:4", "bob:3", "carol:1"])
  }

  @Test func `a beacon ends the count of failures before it`() {
    for seed in 0..<20 {
      var dialing = Dialing(seed: UInt64(seed))
      dialing.add("a:1", of: Self.bob, now: 0)
      for _ in 0..<9 { dialing.failed("a:1", .turnedAway, now: 0) }
      dialing.found("a:1", of: Self.bob, now: 1)
      #expect(Self.due(&dialing, 1) == ["a:1"])
      for _ in 0..<3 { dialing.failed("a:1", .turnedAway, now: 1) }
      #expect(dialing.entries[0].failures == 0, "the quick retries are available again")
      dialing.failed("a:1", .turnedAway, now: 1)
      #expect(dialing.entries[0].failures == 1)
      #expect(dialing.entries[0].nextAttempt <= 1_051)
    }
    var dialing = Dialing(seed: 1)
    for _ in 0..<2 {
      dialing.found("b:1", of: Self.bob, now: 0)
      for _ in 0..<2 { dialing.failed("b:1", .timeout, now: 0) }
    }
    #expect(dialing.entries.count == 1)
    dialing.failed("b:1", .timeout, now: 0)
    #expect(dialing.entries.isEmpty)
  }

  @Test func `only a connection that was admitted five seconds ago has lasted, whatever the one before did`()
  {
    var dialing = Dialing(seed: 1)
    dialing.add("a:1", of: Self.bob, now: 0)
    dialing.succeeded("a:1", Self.bob, now: 0)
    dialing.ended("a:1", now: 60_000)
    #expect(dialing.entries[0].failures == 1)
    // These end before the two sides have admitted each other.
    for number in 1...9 { dialing.ended("a:1", now: 60_000 + Moment(number)) }
    #expect(dialing.entries[0].failures == 10)
    dialing.succeeded("a:1", Self.bob, now: 100_000)
    dialing.ended("a:1", now: 104_999)
    #expect(dialing.entries[0].failures == 11)
    dialing.succeeded("a:1", Self.bob, now: 200_000)
    dialing.ended("a:1", now: 205_000)
    #expect(dialing.entries[0].failures == 1)
  }

  @Test func `only the end of a revocation makes addresses due, each time`() {
    var dialing = Dialing(seed: 1)
    dialing.add("a:1", of: Self.bob, now: 0)
    for round in 0..<2 as Range<Moment> {
      let start = round * 10_000_000
      for _ in 0..<9 { dialing.failed("a:1", .timeout, now: start) }
      let next = dialing.entries[0].nextAttempt
      // Every change of the circle reports this.
      dialing.update(isRevoked: false, now: start + 1)
      #expect(dialing.entries[0].nextAttempt == next)
      dialing.update(isRevoked: true, now: start + 2)
      #expect(dialing.entries[0].nextAttempt == next)
      dialing.update(isRevoked: false, now: start + 3)
      #expect(dialing.entries[0].nextAttempt == start + 3)
      #expect(Self.due(&dialing, start + 3) == ["a:1"])
    }
  }

  @Test func `an address that is no longer announced is kept until its attempt has ended`() {
    var dialing = Dialing(seed: 1)
    dialing.announced([Self.bob: ["a:1"]], now: 0)
    #expect(Self.due(&dialing, 0) == ["a:1"])
    dialing.announced([:], now: 1)
    #expect(dialing.entries.map(\.address) == ["a:1"])
    dialing.failed("a:1", .timeout, now: 2)
    #expect(dialing.entries.first?.lastFailure == .timeout)
    dialing.announced([:], now: 3)
    #expect(dialing.entries.isEmpty)
  }

  @Test func `found addresses take no room from those that a person gives`() {
    var dialing = Dialing(seed: 1)
    for number in 0..<130 {
      let device = DeviceKey(Bytes32(9, 9, 9, UInt64(number)))
      for port in 1...4 { dialing.found("found \(number):\(port)", of: device, now: 0) }
    }
    #expect(dialing.entries.count == 520)
    for number in 0..<600 { dialing.add("given \(number):1", of: nil, now: 0) }
    #expect(dialing.entries.count == 1_032)
    dialing.announced([Self.bob: ["announced:1", "found 7:1"]], now: 0)
    #expect(dialing.entries.count == 1_032, "there is no room for a new one")
    dialing.remove("given 7:1")
    dialing.remove("given 8:1")
    dialing.announced([Self.bob: ["announced:1", "found 7:1"]], now: 0)
    #expect(dialing.entries.count == 1_031)
    #expect(dialing.entries.contains { $0.address == "announced:1" })
  }

  // MARK: Beacons

  @Test func `a beacon that came too soon is accepted later, and only those of former members are forgotten`()
  {
    let noon: Moment = 1_700_000_000_000
    let home = Bytes16(0, 0xffff_c0a8_0114)
    var discovery = Discovery(seed: 1)
    func judge(_ time: Moment, of device: DeviceKey, at now: Moment) -> Discovery.Verdict {
      let beacon = Beacon(time: time, host: home, port: 7_433)
      return discovery.judge(beacon, of: device, from: home, wall: noon, now: now)
    }
    for number in 0..<8 as Range<Moment> { #expect(judge(noon + number, of: Self.bob, at: 0) == .believed) }
    #expect(judge(noon + 8, of: Self.bob, at: 0) == .tooMany)
    #expect(judge(noon, of: Self.carol, at: 0) == .believed)
    #expect(judge(noon + 8, of: Self.bob, at: 2_000) == .believed)
    discovery.forget { $0 == Self.carol }
    #expect(discovery.times == [Self.bob: noon + 8])
    #expect(judge(noon + 8, of: Self.bob, at: 2_000) == .repeated)
    #expect(judge(noon + 9, of: Self.bob, at: 2_000) == .tooMany)
    #expect(judge(noon, of: Self.carol, at: 2_000) == .believed)
  }
}
