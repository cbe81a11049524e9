// Protocol/files.md, "Freeing"; Sources/store.md, "Held erases"

import Replication
import Wire

/// Notices that the wall clock has jumped ahead since this process last looked.
///
/// What is deleted because its time is up can't be brought back. So nothing is deleted by a clock that has jumped, until
/// it has stayed ahead for ten minutes:
///
///     wall   12:00   12:01   3 May 2041, 9:10    9:15   9:20
///     time   12:00   12:01        none           none   9:20
struct ClockJumps {
  private var last: Now?
  /// Until when the wall clock is in doubt, by the steady clock.
  private var doubtEnds: Moment?

  /// Returns the time by which to judge what is due; nil while the wall clock is in doubt.
  mutating func time(_ now: Now) -> Moment? {
    if let last, (now.wall - last.wall) - (now.steady - last.steady) > Limits.clockDriftMilliseconds {
      doubtEnds = now.steady + Limits.clockDriftMilliseconds
    }
    last = now
    if let doubtEnds, now.steady < doubtEnds { return nil }
    doubtEnds = nil
    return now.wall
  }
}
