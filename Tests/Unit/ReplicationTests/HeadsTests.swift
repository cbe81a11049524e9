import Testing
import Wire

@testable import Replication

/// What a list of heads says about the sets that a device has. All devices of the simulator use this code, so a rule
/// that is wrong at both ends may only cost messages there.
@Suite struct HeadsTests {
  private let log = Device.alice.log()
  private let other = Device.bob.log()

  private func head(
    _ sequence: UInt64, _ id: UInt64, folded: UInt64? = nil, of log: LogKey? = nil
  ) -> LogHead {
    LogHead(
      log: log ?? self.log, sequence: sequence, id: ChangeSetID(Bytes32(0, 0, 0, id)),
      foldedSequence: folded ?? sequence)
  }

  private func want(_ from: UInt64, _ through: UInt64, _ id: UInt64, of log: LogKey? = nil) -> Want {
    Want(log: log ?? self.log, from: from, through: through, tip: ChangeSetID(Bytes32(0, 0, 0, id)))
  }

  @Test func `the tips of a log are found by sequence and id, in order, and counted once`() {
    var heads = Heads([head(5, 2), head(3, 9), head(5, 1), head(7, 1, of: other)])
    #expect(heads.count == 4 && heads.tipCount(of: log) == 3)
    #expect(heads.tips(of: log) == [head(3, 9), head(5, 1), head(5, 2)])
    #expect(heads[log] == head(5, 2))
    for tip in [head(3, 9), head(5, 1), head(5, 2)] { #expect(heads.contains(tip)) }
    #expect(heads.contains(head(5, 1, folded: 0)), "how far it is folded does not matter")
    for tip in [head(5, 3), head(4, 1), head(6, 1), head(3, 1), head(3, 9, of: other)] {
      #expect(!heads.contains(tip))
    }
    #expect(heads.hold([head(5, 1), head(7, 1, of: other)]))
    #expect(!heads.hold([head(5, 1, folded: 4)]))

    heads.replace([head(8, 4)])
    #expect(heads.tips(of: log) == [head(8, 4)] && heads.tips(of: other) == [head(7, 1, of: other)])
    #expect(heads.count == 2)
    heads.move([head(9, 5), head(7, 1, folded: 3, of: other)], gone: [head(8, 4)])
    #expect(heads.tips(of: log) == [head(9, 5)])
    #expect(heads.tips(of: other) == [head(7, 1, folded: 3, of: other)], "a tip that is folded further moves")
    #expect(heads.count == 2)
    heads.move([], gone: [head(9, 5)])
    #expect(heads[log] == nil && heads.tips(of: log).isEmpty && heads.count == 1)
    #expect(heads.sorted == [head(7, 1, folded: 3, of: other)])
  }

  @Test func `a log that is cut off ends at the last set that is kept`() {
    let tips = [head(3, 9), head(5, 1, folded: 4), head(7, 2, folded: 4), head(7, 1, of: other)]
    let cuts: [(last: LogHead, rest: [LogHead])] = [
      (head(7, 3), Array(tips[..<3])),
      (head(9, 3), Array(tips[..<3])),
      (head(6, 3), [head(3, 9), head(5, 1, folded: 4), head(6, 3, folded: 4)]),
      (head(5, 1), [head(3, 9), head(5, 1, folded: 4)]),
      (head(4, 8), [head(3, 9), head(4, 8)]),
      (head(2, 8), [head(2, 8)]),
      (head(0, 0), []),
    ]
    for (last, rest) in cuts {
      var heads = Heads(tips)
      heads.cut(log, behind: last)
      #expect(heads.tips(of: log) == rest, "behind \(last.sequence)")
      #expect(heads.tips(of: other).count == 1 && heads.count == rest.count + 1)
    }
  }

  @Test func `an announcement moves a log forwards only, and keeps the tips of a forked one`() {
    var heads = Heads([head(5, 1, folded: 4)])
    for old in [head(4, 7), head(5, 1, folded: 3), head(5, 1, folded: 4)] {
      heads.observe([old])
      #expect(heads.tips(of: log) == [head(5, 1, folded: 4)])
    }
    heads.observe([head(5, 1)])
    #expect(heads.tips(of: log) == [head(5, 1)], "the same set, folded further")
    heads.observe([head(6, 2)])
    #expect(heads.tips(of: log) == [head(6, 2)])
    heads.observe([head(6, 3), head(7, 4)])
    #expect(heads.tips(of: log) == [head(6, 2), head(6, 3), head(7, 4)])
    // What was sent on one branch says nothing about the tips of the others.
    heads.advance(to: head(9, 9))
    #expect(heads.tipCount(of: log) == 3 && heads.count == 3)
    heads.observe([head(8, 5)])
    #expect(heads.tips(of: log) == [head(6, 2), head(6, 3), head(7, 4), head(8, 5)])
  }

  @Test func `a range to request begins after the oldest tip here, and never before the first set`() {
    let straight = Heads([head(4, 4)])
    let forked = Heads([head(3, 1), head(8, 2)])
    let rows: [(heads: Heads, tip: LogHead, back: UInt64, want: Want)] = [
      (straight, head(9, 9), 0, want(5, 9, 9)),
      (straight, head(5, 9), 0, want(5, 5, 9)),
      (straight, head(4, 9), 0, want(4, 4, 9)),
      (straight, head(3, 9), 0, want(3, 3, 9)),
      (straight, head(9, 9), 3, want(2, 9, 9)),
      (straight, head(9, 9), 4, want(1, 9, 9)),
      (straight, head(9, 9), 5, want(1, 9, 9)),
      (straight, head(9, 9), .max, want(1, 9, 9)),
      (straight, head(2, 9, of: other), 0, want(1, 2, 9, of: other)),
      (forked, head(9, 9), 0, want(4, 9, 9)),
      (Heads(), head(1, 9), 0, want(1, 1, 9)),
    ]
    for (heads, tip, back, expected) in rows { #expect(heads.want(tip, back: back) == expected) }
    #expect(want(5, 9, 1).count == 5 && want(5, 5, 1).count == 1 && want(5, 4, 1).count == 0)
  }

  @Test func `a tip is missing here unless it is known or older, and of a fork only the store can tell`() {
    let straight = Heads([head(4, 4)])
    let forked = Heads([head(3, 1), head(8, 2)])
    let rows: [(heads: Heads, tip: LogHead, among: Int, isMissing: Bool?)] = [
      (straight, head(5, 5), 1, true),
      (straight, head(4, 5), 1, true),
      (straight, head(4, 4), 1, false),
      (straight, head(3, 3), 1, false),
      (straight, head(1, 1, of: other), 1, true),
      (straight, head(5, 5), 2, nil),
      (straight, head(3, 3), 2, nil),
      (straight, head(4, 4), 2, false),
      (forked, head(9, 9), 1, nil),
      (forked, head(3, 9), 1, nil),
      (forked, head(3, 1), 1, false),
    ]
    for (heads, tip, among, isMissing) in rows {
      #expect(heads.lacks(tip, among: among) == isMissing, "\(tip.sequence) among \(among)")
    }
    let ahead = Heads([head(9, 9), head(2, 2, of: other)])
    #expect(Set(straight.needs(from: ahead)) == [want(5, 9, 9), want(1, 2, 2, of: other)])
    #expect(straight.behind(ahead) == 7)
    #expect(ahead.needs(from: straight).isEmpty && ahead.behind(straight) == 0)
    #expect(straight.behind(straight) == 0)
  }

  @Test func `a peer can't make a device remember more heads than the limit, but moves those it has`() {
    func log(_ number: Int) -> LogKey {
      LogKey(
        device: Device.alice.key, incarnation: Incarnation(Bytes16(1, UInt64(number))), lane: .records)
    }
    let full = (0..<Limits.headsMax).map { head(4, 4, of: log($0)) }
    var heads = Heads(full)
    let new = [head(1, 1, of: log(Limits.headsMax)), head(1, 1, of: log(Limits.headsMax + 1))]
    #expect(heads.rememberable(new).isEmpty)
    let moved = head(5, 5, of: log(3))
    #expect(heads.rememberable(new + [moved, full[7]]) == [moved, full[7]])
    // Two tips would take one place more than there is.
    #expect(heads.rememberable([full[3], moved]) == [full[3]])
    heads.advance(to: new[0])
    #expect(heads.count == Limits.headsMax && heads[new[0].log] == nil)
    heads.advance(to: moved)
    #expect(heads.count == Limits.headsMax && heads[moved.log] == moved)
    heads.move([], gone: [moved])
    #expect(heads.rememberable(new) == [new[0]])
  }
}
