// Protocol/discovery.md, "Receiving" and "Sending".

package import Membership
package import Wire

/// When to send beacons, and which of those that members sent to believe: a value that the shell asks and tells.
///
/// Moments are of the steady clock unless they are called wall.
package struct Discovery: Sendable {
  /// What became of a beacon that a member has signed.
  package enum Verdict: Hashable, Sendable {
    case believed
    /// It names another address than the one it came from.
    case elsewhere
    /// The sender's clock is ahead of one's own by so many milliseconds, or behind if below zero.
    case otherTime(Int64)
    /// No newer than one that was believed before.
    case repeated
    /// Too many of this member of late.
    case tooMany
  }

  private struct Heard {
    var time: Int64
    var taken: Int
    var since: Moment
  }

  private var nextRound: Moment?
  private var lastRound: Moment?
  private var rounds = 0
  private var lastTime: Int64 = 0
  private var heard: [DeviceKey: Heard] = [:]
  private var random: SplitMix

  /// - Parameter times: what `times` was when the node ran last, so that nothing of then is believed again.
  package init(seed: UInt64, times: [DeviceKey: Int64] = [:]) {
    random = SplitMix(seed: seed)
    heard = times.mapValues { Heard(time: $0, taken: 0, since: 0) }
  }

  /// The time of the last beacon that was believed of each member.
  package var times: [DeviceKey: Int64] { heard.mapValues(\.time) }

  // MARK: Sending

  /// Something has changed: addresses, members, connections. Beacons go out soon, and often at first.
  package mutating func begin(now: Moment) {
    rounds = 0
    nextRound = max(now, lastRound.map { $0 + Limits.beaconMillisecondsMin } ?? now)
  }

  /// When to send next; nil before `begin(now:)`.
  package var nextDue: Moment? { nextRound }

  /// For whom to send beacons now, each group one beacon; none if it is not time yet, or nobody is missing.
  package mutating func due(now: Moment, missing: some Collection<DeviceKey>) -> [[DeviceKey]] {
    guard let next = nextRound, next <= now else { return [] }
    let pause = min(
      Limits.reconnectMillisecondsMin << Moment(min(rounds, 16)), Limits.beaconMillisecondsMax)
    // A quarter more or less, so that two nodes do not meet in the same instant for ever.
    nextRound = now + pause - pause / 4 + Moment(random.below(UInt64(pause / 2)))
    rounds += 1
    guard !missing.isEmpty else { return [] }
    lastRound = now
    let devices = missing.sorted()
    return stride(from: 0, to: devices.count, by: Beacon.slotsMax).map {
      Array(devices[$0..<min($0 + Beacon.slotsMax, devices.count)])
    }
  }

  /// The time to write into the next beacon: later than the last one, unless the clock has been put right by more than
  /// anybody would believe.
  package mutating func stamp(wall: Moment) -> Int64 {
    let time = min(max(wall, 0), Limits.timeMillisecondsMax)
    let isBack = lastTime - time > Limits.beaconClockMilliseconds
    lastTime = isBack ? time : min(max(time, lastTime + 1), Limits.timeMillisecondsMax)
    return lastTime
  }

  // MARK: Receiving

  /// Judges what a member has signed.
  ///
  /// - Parameter source: the address that the datagram came from.
  package mutating func judge(
    _ beacon: Beacon, of device: DeviceKey, from source: Bytes16, wall: Moment, now: Moment
  ) -> Verdict {
    guard beacon.host == source else { return .elsewhere }
    let (ahead, hasOverflowed) = beacon.time.subtractingReportingOverflow(wall)
    guard !hasOverflowed, abs(ahead) <= Limits.beaconClockMilliseconds else {
      return .otherTime(hasOverflowed ? (wall < 0 ? .max : -.max) : ahead)
    }
    var entry = heard[device] ?? Heard(time: -1, taken: 0, since: now)
    // Clocks that were ahead by years have been put right: what was said then would be refused for its time.
    if entry.time > wall, entry.time - wall > Limits.beaconClockMilliseconds { entry.time = -1 }
    guard beacon.time > entry.time else { return .repeated }
    let back = (now - entry.since) / Limits.beaconMemberMilliseconds
    if back > 0 {
      entry.taken = max(0, entry.taken - Int(clamping: back))
      entry.since = now
    }
    guard entry.taken < Limits.beaconsPerMember else {
      heard[device] = entry
      return .tooMany
    }
    entry.taken += 1
    entry.time = beacon.time
    heard[device] = entry
    return .believed
  }

  /// Forgets devices that are no members any more.
  package mutating func forget(_ isUnwanted: (DeviceKey) -> Bool) {
    heard = heard.filter { !isUnwanted($0.key) }
  }
}
