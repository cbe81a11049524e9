// Protocol/change-set.md, "Clock and stamp".

package import Wire

/// Milliseconds since 1970 UTC on some wall clock.
package typealias Moment = Int64

/// What time it is: on the wall, which may be set back or ahead, and on a clock that only goes on.
///
/// What is dated is dated by the wall; how long something lasts or is waited for, the other one tells.
package struct Now: Hashable, Sendable {
  package var wall: Moment
  /// Milliseconds since some moment of this process or before it.
  package var steady: Moment

  package init(wall: Moment, steady: Moment) {
    self.wall = wall
    self.steady = steady
  }
}

/// A hybrid logical clock: 48 bits of milliseconds, 16 bits of counter, compared as one number.
///
/// Kulkarni et al., "Logical Physical Clocks", 2014; the counter carries into the milliseconds instead of
/// being refused when it is full, so that a local write never fails because of time.
package struct Clock: Hashable, Comparable, Sendable {
  package let raw: UInt64

  package static let zero = Clock(raw: 0)

  package init(raw: UInt64) { self.raw = raw }

  /// The first clock of a millisecond; moments outside 48 bits are clamped to the nearest end.
  package init(milliseconds: Moment) {
    let clamped = min(max(milliseconds, 0), Moment(1) << 48 - 1)
    raw = UInt64(clamped) << 16
  }

  package var milliseconds: Moment { Moment(raw >> 16) }
  package var counter: UInt16 { UInt16(truncatingIfNeeded: raw) }

  /// The least clock above this one; the last of all stays itself, and a set that needs more is refused.
  package var next: Clock { raw == .max ? self : Clock(raw: raw + 1) }

  /// The clock of a local write: above everything seen, at the wall clock if that is ahead.
  package static func ticking(after seen: Clock, wall: Moment) -> Clock {
    max(seen.next, Clock(milliseconds: wall))
  }

  package static func < (left: Clock, right: Clock) -> Bool { left.raw < right.raw }
}

/// The total order that decides who wins a cell: clock, then author, then set, compared as bytes.
package struct Stamp: Hashable, Comparable, Sendable {
  package let clock: Clock
  package let device: DeviceKey
  package let set: ChangeSetID

  /// The stamp of a seed: below every stamp a device can write.
  package static let zero = Stamp(
    clock: .zero, device: DeviceKey(.zero), set: ChangeSetID(.zero))

  package init(clock: Clock, device: DeviceKey, set: ChangeSetID) {
    self.clock = clock
    self.device = device
    self.set = set
  }

  package static func < (left: Stamp, right: Stamp) -> Bool {
    if left.clock != right.clock { return left.clock < right.clock }
    if left.device != right.device { return left.device < right.device }
    return left.set < right.set
  }
}
