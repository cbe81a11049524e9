import Testing
import Wire

@testable import Replication

/// A table of addresses, and what happens to them; every test starts with a fresh table at time 0.
@Suite struct DialingTests {
  static let bob = Device.bob.key

  static func table(_ addresses: (String, DeviceKey?)...) -> Dialing {
    var dialing = Dialing(seed: 1)
    for (address, device) in addresses { dialing.add(address, of: device, now: 0) }
    return dialing
  }

  static func due(
    _ dialing: inout Dialing, _ now: Moment, connected: Set<DeviceKey> = [], paused: Set<DeviceKey> = []
  ) -> [String] {
    dialing.due(now: now, connected: connected, paused: paused)
  }

  @Test func `an address is dialled at once, and by one attempt at a time`() {
    var dialing = Self.table(("a:1", nil))
    #expect(Self.due(&dialing, 0) == ["a:1"])
    #expect(Self.due(&dialing, 10_000) == [])
    #expect(dialing.nextDue(connected: [], paused: []) == nil)
  }

  @Test func `a device that is connected or paused is not dialled`() {
    var dialing = Self.table(("a:1", Self.bob))
    #expect(Self.due(&dialing, 0, connected: [Self.bob]) == [])
    #expect(Self.due(&dialing, 0, paused: [Self.bob]) == [])
    #expect(dialing.nextDue(connected: [Self.bob], paused: []) == nil)
    #expect(dialing.nextDue(connected: [], paused: [Self.bob]) == nil)
    #expect(Self.due(&dialing, 0) == ["a:1"])
  }

  @Test func `the addresses of a revoked device are forgotten`() {
    var dialing = Self.table(("a:1", Self.bob), ("b:1", nil))
    dialing.forget { $0 == Self.bob }
    #expect(Self.due(&dialing, 0) == ["b:1"])
  }

  @Test func `a revoked device dials every quarter of an hour, and at once when it is a member again`() {
    var waits: [Moment] = []
    for seed in 0..<40 {
      var dialing = Dialing(seed: UInt64(seed))
      dialing.update(isRevoked: true, now: 0)
      dialing.add("a:1", of: Self.bob, now: 0)
      #expect(Self.due(&dialing, 0) == ["a:1"])
      if seed % 2 == 0 {
        dialing.failed("a:1", .turnedAway, now: 0)
      } else {
        dialing.succeeded("a:1", Self.bob, now: 0)
        dialing.ended("a:1", now: 0)
      }
      waits.append(dialing.entries[0].nextAttempt)
      dialing.update(isRevoked: true, now: 40)
      #expect(dialing.entries[0].nextAttempt == waits.last)
      dialing.update(isRevoked: false, now: 40)
      #expect(Self.due(&dialing, 40) == ["a:1"])
    }
    #expect(waits.max()! <= 15 * 60_000 + 50 && waits.max()! > 10 * 60_000)
    #expect(waits.reduce(0, +) / 40 > 5 * 60_000)
  }

  @Test func `of two addresses of one device one is dialled at a time, and no timer is set in vain`() {
    var dialing = Self.table(("a:1", Self.bob), ("b:1", Self.bob))
    #expect(Self.due(&dialing, 0) == ["a:1"])
    #expect(dialing.nextDue(connected: [], paused: []) == nil)
    dialing.failed("a:1", .refused, now: 100)
    #expect(dialing.nextDue(connected: [], paused: []) == 0)
    #expect(Self.due(&dialing, 100) == ["b:1"])
  }

  @Test(arguments: [(1, 1_000), (2, 2_000), (5, 16_000), (9, 256_000), (12, 300_000), (60, 300_000)])
  func `failures are retried at growing intervals, up to five minutes`(failures: Int, most: Moment) {
    var longest: Moment = 0
    for seed in 0..<40 {
      var dialing = Dialing(seed: UInt64(seed))
      dialing.add("a:1", of: nil, now: 0)
      for _ in 0..<failures { dialing.failed("a:1", .timeout, now: 0) }
      longest = max(longest, dialing.entries[0].nextAttempt)
    }
    #expect(longest <= most + 50)
    #expect(longest > most / 2)
  }

  @Test(arguments: [DialFailure.notAMember, .turnedAway])
  func `a peer that hangs up during the handshake is dialled again within moments, three times`(
    failure: DialFailure
  ) {
    for seed in 0..<40 {
      var dialing = Dialing(seed: UInt64(seed))
      dialing.add("a:1", of: Self.bob, now: 0)
      var now: Moment = 0
      for _ in 0..<3 {
        #expect(Self.due(&dialing, now) == ["a:1"])
        dialing.failed("a:1", failure, now: now)
        #expect(dialing.entries[0].nextAttempt - now <= 300)
        now = dialing.entries[0].nextAttempt
      }
      #expect(dialing.entries[0].failures == 0)
      // From now on as after any other failure, until a connection lasts.
      for _ in 0..<3 { dialing.failed("a:1", failure, now: now) }
      #expect(dialing.entries[0].failures == 3)
      dialing.succeeded("a:1", Self.bob, now: now)
      dialing.ended("a:1", now: now + 60_000)
      dialing.failed("a:1", failure, now: now)
      #expect(dialing.entries[0].nextAttempt - now <= 300)
    }
  }

  @Test func `a link that lasted is dialled again soon; a peer that hangs up each time is not`() {
    var lasting = Self.table(("a:1", Self.bob))
    for _ in 0..<10 { lasting.failed("a:1", .refused, now: 0) }
    lasting.succeeded("a:1", Self.bob, now: 0)
    lasting.ended("a:1", now: 60_000)
    #expect(lasting.entries[0].nextAttempt <= 61_050)

    var longest: Moment = 0
    for seed in 0..<20 {
      var dialing = Dialing(seed: UInt64(seed))
      dialing.add("a:1", of: Self.bob, now: 0)
      for _ in 0..<10 {
        dialing.succeeded("a:1", Self.bob, now: 0)
        dialing.ended("a:1", now: 100)
      }
      longest = max(longest, dialing.entries[0].nextAttempt)
    }
    #expect(longest > 100_000)
  }

  @Test(arguments: [
    (1, 10_000), (2, 20_000), (3, 40_000), (14, 81_920_000), (15, 86_400_000), (40, 86_400_000),
  ])
  func `a device that misbehaves is left alone, twice as long each time`(times: Int, wait: Moment) {
    var dialing = Self.table(("a:1", Self.bob))
    for _ in 0..<times { dialing.penalise(Self.bob, now: 0) }
    #expect(dialing.isPenalised(Self.bob, now: wait - 1))
    #expect(!dialing.isPenalised(Self.bob, now: wait))
    #expect(Self.due(&dialing, wait - 1) == [])
    #expect(dialing.nextDue(connected: [], paused: []) == wait)
    #expect(Self.due(&dialing, wait) == ["a:1"])
  }

  @Test func `an address that is learnt again keeps its state, and may learn its device`() {
    var dialing = Self.table(("a:1", nil))
    dialing.failed("a:1", .refused, now: 0)
    let next = dialing.entries[0].nextAttempt
    dialing.add("a:1", of: Self.bob, now: 5)
    #expect(dialing.entries.count == 1)
    #expect(dialing.entries[0].nextAttempt == next)
    #expect(dialing.entries[0].device == Self.bob)
    #expect(dialing.entries[0].lastFailure == .refused)
  }

  @Test func `addresses no longer announced are forgotten, unless the user gave them`() {
    var dialing = Self.table(("given:1", nil))
    for number in 0..<600 {
      dialing.announced([Self.bob: ["at home:1", "given:1", "hotel \(number):1"]], now: 0)
      #expect(dialing.entries.map(\.address).sorted() == ["at home:1", "given:1", "hotel \(number):1"])
    }
    dialing.found("hotel 599:1", of: Self.bob, now: 1)
    dialing.announced([:], now: 1)
    #expect(dialing.entries.map(\.address).sorted() == ["given:1", "hotel 599:1"])
    dialing.announced([Self.bob: ["hotel 599:1"]], now: 1)
    dialing.announced([:], now: 1)
    // Then it is treated like any other that only a beacon has named.
    for _ in 0..<3 { dialing.failed("hotel 599:1", .timeout, now: 2) }
    #expect(dialing.entries.map(\.address) == ["given:1"])
    // The same holds for one that a beacon named before it was announced.
    dialing.found("cafe:1", of: Self.bob, now: 3)
    dialing.announced([Self.bob: ["cafe:1"]], now: 3)
    dialing.announced([:], now: 4)
    for _ in 0..<3 { dialing.failed("cafe:1", .timeout, now: 5) }
    #expect(dialing.entries.map(\.address) == ["given:1"])
  }

  @Test func `if two devices announce one address the handshake decides whose it is`() {
    let carol = DeviceKey(Bytes32(7, 7, 7, 7))
    var dialing = Dialing(seed: 1)
    dialing.announced([Self.bob: ["192.168.1.20:7433"]], now: 0)
    dialing.announced([Self.bob: ["192.168.1.20:7433"], carol: ["192.168.1.20:7433"]], now: 0)
    // Whichever of the two is connected, it may be the other's.
    #expect(Self.due(&dialing, 0, connected: [carol]) == ["192.168.1.20:7433"])
    dialing.succeeded("192.168.1.20:7433", Self.bob, now: 1)
    dialing.ended("192.168.1.20:7433", now: 10_000)
    dialing.announced([Self.bob: ["192.168.1.20:7433"], carol: ["192.168.1.20:7433"]], now: 10_000)
    #expect(dialing.entries.map(\.device) == [Self.bob])
    #expect(Self.due(&dialing, 90_000, connected: [Self.bob]) == [])
  }

  @Test func `a new address is dialled before many dead ones`() {
    var dialing = Dialing(seed: 1)
    let dead = (0..<40).map { "dead \($0):1" }
    dialing.announced([Self.bob: dead], now: 0)
    for round in 0..<40 as Range<Moment> {
      for address in Self.due(&dialing, round * 1_000_000) {
        dialing.failed(address, .timeout, now: round * 1_000_000)
      }
    }
    dialing.announced([Self.bob: dead + ["new:1"]], now: 50_000_000)
    #expect(Self.due(&dialing, 50_000_000) == ["new:1"])
  }

  @Test func `an impatient user need not wait`() {
    var dialing = Self.table(("a:1", nil))
    for _ in 0..<9 { dialing.failed("a:1", .timeout, now: 0) }
    dialing.hurry(now: 1)
    #expect(Self.due(&dialing, 1) == ["a:1"])
  }

  @Test func `the number of addresses is limited`() {
    var dialing = Dialing(seed: 1)
    for number in 0..<600 { dialing.add("a:\(number)", of: nil, now: 0) }
    #expect(dialing.entries.count == 512)
    dialing.remove("a:7")
    #expect(dialing.entries.count == 511)
  }
}
