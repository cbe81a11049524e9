import Membership
import Testing
import Wire

@testable import Replication

struct DiscoveryTests {
  static let bob = Device.bob.key
  static let home = Bytes16(0, 0xffff_c0a8_0114)
  static let noon: Moment = 1_700_000_000_000

  private func judge(
    _ discovery: inout Discovery, _ time: Int64, at now: Moment = 0, wall: Moment = noon,
    from source: Bytes16 = home
  ) -> Discovery.Verdict {
    discovery.judge(
      Beacon(time: time, host: Self.home, port: 7_433), of: Self.bob, from: source, wall: wall, now: now)
  }

  // MARK: Receiving

  @Test func `a beacon is accepted once`() {
    var discovery = Discovery(seed: 1)
    #expect(judge(&discovery, Self.noon) == .believed)
    #expect(judge(&discovery, Self.noon) == .repeated)
    #expect(judge(&discovery, Self.noon - 1) == .repeated)
    #expect(judge(&discovery, Self.noon + 1) == .believed)
  }

  @Test func `a beacon accepted before a restart is not accepted after it`() {
    var discovery = Discovery(seed: 1)
    #expect(judge(&discovery, Self.noon) == .believed)
    discovery = Discovery(seed: 2, times: discovery.times)
    #expect(judge(&discovery, Self.noon) == .repeated)
    #expect(judge(&discovery, Self.noon + 1) == .believed)
  }

  @Test func `beacons of a clock that ran ahead are not kept once it is corrected`() {
    var discovery = Discovery(seed: 1)
    let later = Self.noon + 1_000_000_000
    #expect(judge(&discovery, later, wall: later) == .believed)
    #expect(judge(&discovery, Self.noon) == .believed)
    #expect(judge(&discovery, later) == .otherTime(1_000_000_000))
  }

  @Test func `a beacon sent from another address than it names is rejected`() {
    var discovery = Discovery(seed: 1)
    #expect(judge(&discovery, Self.noon, from: Bytes16(0, 0xffff_c0a8_0115)) == .elsewhere)
    #expect(judge(&discovery, Self.noon) == .believed)
  }

  @Test(arguments: [
    (noon + 600_000, Discovery.Verdict.believed), (noon + 600_001, .otherTime(600_001)),
    (noon - 600_000, .believed), (noon - 600_001, .otherTime(-600_001)), (0, .otherTime(-noon)),
  ])
  func `a beacon too far from the present time is rejected`(time: Int64, verdict: Discovery.Verdict) {
    var discovery = Discovery(seed: 1)
    #expect(judge(&discovery, time) == verdict)
  }

  @Test(arguments: [Moment.min, .max, -1]) func `no clock value traps`(wall: Moment) {
    var discovery = Discovery(seed: 1)
    for time in [0, Limits.timeMillisecondsMax] {
      guard case .otherTime = judge(&discovery, time, wall: wall) else {
        #expect(wall == -1 && time == 0)
        continue
      }
    }
  }

  @Test func `beacons of one member are accepted in a burst, then one every two seconds`() {
    var discovery = Discovery(seed: 1)
    var time = Self.noon
    func next(_ now: Moment) -> Discovery.Verdict {
      time += 1
      return judge(&discovery, time, at: now)
    }
    for _ in 0..<8 { #expect(next(0) == .believed) }
    #expect(next(0) == .tooMany)
    #expect(next(1_999) == .tooMany)
    #expect(next(2_000) == .believed)
    #expect(next(2_000) == .tooMany)
    #expect(next(1_000_000) == .believed)
  }

  @Test func `one member that sends too many does not block the others`() {
    var discovery = Discovery(seed: 1)
    for number in 0..<20 { _ = judge(&discovery, Self.noon + Int64(number)) }
    let carol = discovery.judge(
      Beacon(time: Self.noon, host: Self.home, port: 1), of: Device.carol.key, from: Self.home,
      wall: Self.noon,
      now: 0)
    #expect(carol == .believed)
  }

  // MARK: Sending

  /// The moments of rounds within an hour.
  private func rounds(_ discovery: inout Discovery, missing: [DeviceKey]) -> [Moment] {
    var moments: [Moment] = []
    discovery.begin(now: 0)
    while let due = discovery.nextDue, due < 3_600_000 {
      if !discovery.due(now: due, missing: missing).isEmpty { moments.append(due) }
    }
    return moments
  }

  @Test func `beacons are sent at once, then less and less often, at most about every half minute`() {
    var discovery = Discovery(seed: 1)
    let moments = rounds(&discovery, missing: [Self.bob])
    let pauses = zip(moments, moments.dropFirst()).map { $1 - $0 }
    #expect(moments.first == 0)
    #expect(moments.prefix { $0 < 10_000 }.count >= 3)
    #expect(pauses.allSatisfy { (750...37_500).contains($0) })
    #expect(pauses.dropFirst(6).allSatisfy { $0 >= 22_500 })
    #expect((90...170).contains(moments.count))
  }

  @Test func `an idle network carries less than twenty bytes of beacons a second`() {
    var discovery = Discovery(seed: 1)
    let moments = rounds(&discovery, missing: [Self.bob])
    let headers = (14 + 20 + 8) + (14 + 40 + 8)
    #expect(moments.count * (2 * Beacon.lengths[0] + headers) / 3_600 < 20)
  }

  @Test func `a device without members to find sends no beacons`() {
    var discovery = Discovery(seed: 1)
    #expect(rounds(&discovery, missing: []) == [])
  }

  @Test func `however often something changes, rounds are half a second apart`() {
    var discovery = Discovery(seed: 1)
    var moments: [Moment] = []
    for now in stride(from: Moment(0), to: 10_000, by: 10) {
      discovery.begin(now: now)
      if !discovery.due(now: now, missing: [Self.bob]).isEmpty { moments.append(now) }
    }
    #expect(zip(moments, moments.dropFirst()).allSatisfy { $1 - $0 >= 500 })
    #expect(moments.count > 10)
  }

  @Test func `many members need several beacons, each for at most sixteen`() {
    var discovery = Discovery(seed: 1)
    discovery.begin(now: 0)
    let missing = (0..<63).map { DeviceKey(Bytes32(0, 0, 0, UInt64($0))) }
    let groups = discovery.due(now: 0, missing: missing)
    #expect(groups.map(\.count) == [16, 16, 16, 15])
    #expect(Set(groups.joined()) == Set(missing))
  }

  @Test func `times in beacons only increase, whatever the clock does`() {
    var discovery = Discovery(seed: 1)
    #expect([5, 5, 3, -9, 100, .min].map { discovery.stamp(wall: $0) } == [5, 6, 7, 8, 100, 101])
    // A clock far ahead has been corrected: peers would reject beacons with even later times.
    let far = 7_000 + Limits.beaconClockMilliseconds
    #expect([far, 7_000, 6_990, 6_990].map { discovery.stamp(wall: $0) } == [far, far + 1, 6_990, 6_991])
    #expect(discovery.stamp(wall: .max) == Limits.timeMillisecondsMax)
    #expect(discovery.stamp(wall: .max) == Limits.timeMillisecondsMax)
  }

  // MARK: Dialling found addresses

  @Test func `a found address is dialled at once, before others, even if it had failed`() {
    var dialing = Dialing(seed: 1)
    dialing.add("old:1", of: Self.bob, now: 0)
    dialing.add("new:1", of: Self.bob, now: 0)
    for address in ["old:1", "new:1"] { for _ in 0..<9 { dialing.failed(address, .timeout, now: 0) } }
    #expect(dialing.due(now: 1, connected: [], paused: []) == [])
    dialing.found("new:1", of: Self.bob, now: 1)
    #expect(dialing.due(now: 1, connected: [], paused: []) == ["new:1"])
    #expect(dialing.isFound("new:1") && !dialing.isFound("old:1"))
    dialing.found("new:1", of: Self.bob, now: 2)
    #expect(dialing.due(now: 2, connected: [], paused: []) == [])
  }

  @Test func `the four newest found addresses of one device are kept`() {
    var dialing = Dialing(seed: 1)
    dialing.add("announced:1", of: Self.bob, now: 0)
    for number in 0..<40 { dialing.found("found:\(number)", of: Self.bob, now: Moment(number)) }
    #expect(
      dialing.entries.map(\.address) == (36..<40).reversed().map { "found:\($0)" } + ["announced:1"])
  }

  @Test func `a found address is forgotten after three failures, an announced one is not`() {
    var dialing = Dialing(seed: 1)
    dialing.add("announced:1", of: Self.bob, now: 0)
    dialing.found("announced:1", of: Self.bob, now: 0)
    dialing.found("found:1", of: Self.bob, now: 0)
    for _ in 0..<3 {
      for address in ["announced:1", "found:1"] { dialing.failed(address, .timeout, now: 0) }
    }
    #expect(dialing.entries.map(\.address) == ["announced:1"])
  }

  @Test func `a device that is penalised, paused or connected is not dialled, whatever was found`() {
    var dialing = Dialing(seed: 1)
    dialing.penalise(Self.bob, now: 0)
    dialing.found("found:1", of: Self.bob, now: 0)
    #expect(dialing.due(now: 1, connected: [], paused: []) == [])
    #expect(dialing.due(now: 20_000, connected: [Self.bob], paused: []) == [])
    #expect(dialing.due(now: 20_000, connected: [], paused: [Self.bob]) == [])
  }
}
