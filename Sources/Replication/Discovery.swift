// Protocol/discovery.md, "Receiving" and "Sending".

package import Membership
package import Wire

/// Decides when to send beacons and which received beacons to accept. It is a value that does no I/O and is driven by
/// the shell.
///
/// Moments are on the steady clock unless named `wall`.
package struct Discovery: Sendable {
  /// The verdict on a beacon with a member's valid signature.
  package enum Verdict: Hashable, Sendable {
    case believed
    /// The beacon announces an address that differs from the one that it came from.
    case elsewhere
    /// The sender's clock differs too much from ours. The number says by how many milliseconds it is ahead; it is
    /// negative if the sender's clock is behind.
    case otherTime(Int64)
    /// The beacon is not newer than the last accepted one.
    case repeated
    /// The member has sent too many beacons recently.
    case tooMany
  }

  /// The accepted beacons of one member: the time in the newest one, and a count for the rate limit, which decays from
  /// `since` on.
  private struct Received {
    var time: Int64
    var count: Int
    var since: Moment
  }

  private var nextRound: Moment?
  private var lastRound: Moment?
  private var rounds = 0
  private var lastTime: Int64 = 0
  private var received: [DeviceKey: Received] = [:]
  private var random: SplitMix

  /// - Parameter times: the `times` of the previous run, so that beacons from that run cannot be replayed.
  package init(seed: UInt64, times: [DeviceKey: Int64] = [:]) {
    random = SplitMix(seed: seed)
    received = times.mapValues { Received(time: $0, count: 0, since: 0) }
  }

  /// The time in the last accepted beacon of each member.
  package var times: [DeviceKey: Int64] { received.mapValues(\.time) }

  // MARK: Sending

  /// Restarts the schedule after a change of addresses, members or connections. Beacons are then sent soon, and often
  /// at first.
  package mutating func begin(now: Moment) {
    rounds = 0
    nextRound = max(now, lastRound.map { $0 + Limits.beaconMillisecondsMin } ?? now)
  }

  /// When to send the next beacons; nil before `begin(now:)` has been called.
  package var nextDue: Moment? { nextRound }

  /// Returns the devices to send beacons to now, in one group per beacon; empty if no round is due or no device is
  /// missing.
  package mutating func due(now: Moment, missing: some Collection<DeviceKey>) -> [[DeviceKey]] {
    guard let next = nextRound, next <= now else { return [] }
    let pause = min(
      Limits.reconnectMillisecondsMin << Moment(min(rounds, 16)), Limits.beaconMillisecondsMax)
    // The jitter of up to a quarter keeps two nodes from staying in step.
    nextRound = now + pause - pause / 4 + Moment(random.below(UInt64(pause / 2)))
    rounds += 1
    guard !missing.isEmpty else { return [] }
    lastRound = now
    let devices = missing.sorted()
    return stride(from: 0, to: devices.count, by: Beacon.slotsMax).map {
      Array(devices[$0..<min($0 + Beacon.slotsMax, devices.count)])
    }
  }

  /// Returns the time to write into the next beacon. It is later than the time in the last beacon, unless the clock was
  /// set back so far that receivers would reject that time.
  package mutating func stamp(wall: Moment) -> Int64 {
    let time = min(max(wall, 0), Limits.timeMillisecondsMax)
    let isBack = lastTime - time > Limits.beaconClockMilliseconds
    lastTime = isBack ? time : min(max(time, lastTime + 1), Limits.timeMillisecondsMax)
    return lastTime
  }

  // MARK: Receiving

  /// Judges a beacon with a member's valid signature.
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
    var entry = received[device] ?? Received(time: -1, count: 0, since: now)
    // The sender's clock and ours were both far ahead when the last beacon was accepted, and have been corrected since.
    // Beacons from before the correction can't be replayed, because their time is rejected.
    if entry.time > wall, entry.time - wall > Limits.beaconClockMilliseconds { entry.time = -1 }
    guard beacon.time > entry.time else { return .repeated }
    let back = (now - entry.since) / Limits.beaconMemberMilliseconds
    if back > 0 {
      entry.count = max(0, entry.count - Int(clamping: back))
      entry.since = now
    }
    guard entry.count < Limits.beaconsPerMember else {
      received[device] = entry
      return .tooMany
    }
    entry.count += 1
    entry.time = beacon.time
    received[device] = entry
    return .believed
  }

  /// Forgets unwanted devices, such as those that are no longer members.
  package mutating func forget(_ isUnwanted: (DeviceKey) -> Bool) {
    received = received.filter { !isUnwanted($0.key) }
  }
}
