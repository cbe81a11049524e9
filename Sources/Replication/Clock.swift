// Protocol/change-set.md, "Clock and stamp".

package import Wire

/// A time in milliseconds: since 1970 UTC on the wall clock, or on a steady clock where the documentation says so.
package typealias Moment = Int64

/// The current time on the wall clock, which can be set, and on a steady clock, which never jumps.
///
/// Dates come from the wall clock; durations and timeouts come from the steady clock.
package struct Now: Hashable, Sendable {
  package var wall: Moment
  /// Milliseconds since an arbitrary moment that is no later than the start of this process.
  package var steady: Moment

  package init(wall: Moment, steady: Moment) {
    self.wall = wall
    self.steady = steady
  }
}

/// A hybrid logical clock: 48 bits of milliseconds and a counter of 16 bits, compared as one number.
///
/// See Kulkarni et al., "Logical Physical Clocks", 2014. Unlike in that paper, a counter that overflows carries into
/// the milliseconds, so that a local write never fails because of time.
package struct Clock: Hashable, Comparable, Sendable {
  package let raw: UInt64

  package static let zero = Clock(raw: 0)

  package init(raw: UInt64) { self.raw = raw }

  /// Creates the first clock of a millisecond. A moment that does not fit into 48 bits is clamped.
  package init(milliseconds: Moment) {
    let clamped = min(max(milliseconds, 0), Moment(1) << 48 - 1)
    raw = UInt64(clamped) << 16
  }

  package var milliseconds: Moment { Moment(raw >> 16) }
  package var counter: UInt16 { UInt16(truncatingIfNeeded: raw) }

  /// The next greater clock. For the greatest clock, this is the clock itself; a set that would need a greater one is
  /// invalid.
  package var next: Clock { raw == .max ? self : Clock(raw: raw + 1) }

  /// Returns the clock of a local write: the wall clock, or the next clock after the greatest one seen, if that is
  /// later.
  package static func ticking(after seen: Clock, wall: Moment) -> Clock {
    max(seen.next, Clock(milliseconds: wall))
  }

  package static func < (left: Clock, right: Clock) -> Bool { left.raw < right.raw }
}

/// The position of a write in the total order that decides which write wins a cell. Stamps are ordered by clock, then
/// by author, then by set id; the last two are compared as bytes.
package struct Stamp: Hashable, Comparable, Sendable {
  package let clock: Clock
  package let device: DeviceKey
  package let set: ChangeSetID

  /// The stamp of a seed, which is less than every stamp that a device can write.
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
