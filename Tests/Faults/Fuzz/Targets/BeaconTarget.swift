import Membership
import Replication
import Wire

/// Datagrams that anyone on a network may send, and those that malicious members may sign.
func fuzzBeacons(_ input: [UInt8]) throws {
  var choices = Choices(input)
  switch choices.below(3) {
  case 0: try openAnything(choices.rest())
  case 1: try judgeAnything(&choices)
  default: try openChanged(&choices)
  }
}

private let members = [
  (DeviceKey(Cast.alice), Cast.transports[0]), (DeviceKey(Cast.bob), Cast.transports[1]),
  (DeviceKey(Cast.mallory), Cast.transports[2]),
]

private func keys(_ transport: Int) -> BeaconKeys {
  let own = [Cast.aliceTransport, Cast.bobTransport, Cast.malloryTransport][transport]
  var keys = BeaconKeys(circle: Cast.circle, transport: own)
  keys.update(members)
  return keys
}

/// A beacon that no member sealed opens for no member.
private func openAnything(_ bytes: [UInt8]) throws {
  try require(keys(1).open(bytes) == nil, "a beacon opened that no member sealed")
}

/// A beacon of Alice's with changed, cut or added bytes is rejected.
private func openChanged(_ choices: inout Choices) throws {
  let beacon = Beacon(
    time: Int64(choices.word() >> 16), host: Bytes16(choices.word(), choices.word()),
    port: UInt16(truncatingIfNeeded: choices.word()) | 1)
  let whole = keys(0).seal(
    beacon, to: [DeviceKey(Cast.bob), DeviceKey(Cast.mallory)], by: Cast.alice,
    nonce: Bytes16(choices.word(), 1), secret: Bytes16(choices.word(), 2))
  let opened = keys(1).open(whole)
  try require(
    opened.map { $0.sender == DeviceKey(Cast.alice) && $0.beacon == beacon } ?? false,
    "an opened beacon differs from the sealed one")
  var changed = whole
  for _ in 0..<(1 + choices.below(4)) where !changed.isEmpty {
    switch choices.below(3) {
    case 0: changed[Int(choices.word() % UInt64(changed.count))] ^= choices.byte()
    case 1: changed.removeLast(min(changed.count, choices.below(100)))
    default: changed += choices.bytes(max: 120)
    }
  }
  let other = keys(1).open(changed)
  try require(other == nil || changed == whole, "a modified beacon opened")
}

/// Times and addresses as members sign them, at any moment, with any clock.
private func judgeAnything(_ choices: inout Choices) throws {
  var discovery = Discovery(seed: choices.word())
  var last: [DeviceKey: Int64] = [:]
  var (now, sent, rounds) = (Moment(0), Int64(-1), [Moment]())
  for _ in 0..<200 where !choices.isAtEnd {
    now += Moment(choices.number() & 0xffff)
    switch choices.below(4) {
    case 0: discovery.begin(now: now)
    case 1:
      let missing = members.prefix(choices.below(4)).map(\.0)
      if !discovery.due(now: now, missing: missing).isEmpty { rounds.append(now) }
    case 2:
      let stamp = discovery.stamp(wall: Moment(truncatingIfNeeded: choices.number()))
      let isRising = stamp > sent || stamp == Limits.timeMillisecondsMax
      try require(isRising, "the time of a beacon did not increase")
      sent = stamp
    default:
      let device = choices.pick(members).0
      let beacon = Beacon(
        time: Int64(choices.number() & 0xffff_ffff_ffff), host: Bytes16(0, UInt64(choices.below(3))), port: 1)
      let source = Bytes16(0, UInt64(choices.below(3)))
      let wall = Moment(truncatingIfNeeded: choices.number())
      guard discovery.judge(beacon, of: device, from: source, wall: wall, now: now) == .believed else {
        continue
      }
      try require(source == beacon.host, "a beacon from another address was accepted")
      try require(beacon.time > last[device] ?? -1, "a beacon was accepted twice")
      last[device] = beacon.time
    }
  }
  for (one, next) in zip(rounds, rounds.dropFirst()) {
    try require(next - one >= Limits.beaconMillisecondsMin, "two rounds of beacons were too close together")
  }
}
