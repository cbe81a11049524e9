import Replication
import Testing
import Wire

@testable import Engine

/// By which time deletions are judged that can't be undone.
@Suite struct ClockJumpTests {
  private static let start: Moment = 1_800_000_000_000
  private static let limit = Limits.clockDriftMilliseconds

  /// The answers to a series of looks at the two clocks: the milliseconds by which the wall clock is ahead of the
  /// start, or nil.
  private func answers(_ looks: [(wall: Moment, steady: Moment)]) -> [Moment?] {
    var jumps = ClockJumps()
    return looks.map { look in
      jumps.time(Now(wall: Self.start + look.wall, steady: look.steady)).map { $0 - Self.start }
    }
  }

  @Test func `the first look and small corrections are believed`() {
    #expect(answers([(5_000_000, 3)]) == [5_000_000])
    #expect(answers([(0, 0), (1_000, 1_000), (1_000_000, 1_000_000)]) == [0, 1_000, 1_000_000])
    #expect(answers([(0, 7), (Self.limit + 50, 57)]) == [0, Self.limit + 50], "ten minutes exactly")
    #expect(answers([(0, 7), (Self.limit + 51, 57)]) == [0, nil])
  }

  @Test func `a jump ahead is believed once the clock has stayed there for ten minutes`() {
    let year: Moment = 365 * 86_400_000
    let looks: [(wall: Moment, steady: Moment)] = [
      (0, 0), (year, 1_000), (year + 1, 1_001), (year + Self.limit - 1, Self.limit + 999),
      (year + Self.limit, Self.limit + 1_000), (year + Self.limit + 5, Self.limit + 1_005),
    ]
    #expect(answers(looks) == [0, nil, nil, nil, year + Self.limit, year + Self.limit + 5])
  }

  @Test func `another jump begins the ten minutes again`() {
    let hour: Moment = 3_600_000
    let looks: [(wall: Moment, steady: Moment)] = [
      (0, 0), (hour, 1_000), (3 * hour, 500_000), (3 * hour + 101_000, 601_000),
      (3 * hour + Self.limit - 1, 500_000 + Self.limit - 1), (3 * hour + Self.limit, 500_000 + Self.limit),
      (9 * hour, 2_000_000),
    ]
    #expect(answers(looks) == [0, nil, nil, nil, nil, 3 * hour + Self.limit, nil])
  }

  @Test func `a clock that is set back is believed, and its return is a jump`() {
    let hour: Moment = 3_600_000
    #expect(answers([(0, 0), (-hour, 1_000), (-hour + 1, 1_001)]) == [0, -hour, -hour + 1])
    #expect(answers([(0, 0), (-hour, 1_000), (2_000, 2_000)]) == [0, -hour, nil])
    // A clock that was wrong for a moment stays in doubt even after it is correct again.
    #expect(answers([(0, 0), (hour, 1_000), (2_000, 2_000)]) == [0, nil, nil])
  }
}
