// Protocol/session.md, "Repetition".

import Wire

/// What a peer has used up of an allowance that grows back with time.
struct Allowance: Sendable {
  /// Thousandths of points, so that what comes back between two messages is not lost.
  private var spent = 0
  private var countedAt: Moment = 0

  /// Takes points if there are so many left; `Limits.pointsPerSecond` come back.
  mutating func take(_ points: Int, of max: Int, at now: Moment) -> Bool {
    let passed = Swift.max(0, Swift.min(now - countedAt, 3_600_000))
    spent = Swift.max(0, spent - Int(passed) * Limits.pointsPerSecond)
    countedAt = now
    guard spent + points * 1_000 <= max * 1_000 else { return false }
    spent += points * 1_000
    return true
  }
}

extension Replica {
  /// A peer said what it had said before, or sent what was here and not asked for. A correct node does so now and
  /// then, where messages cross; one that does nothing else is left alone.
  mutating func chargeRedundant(_ link: LinkID, points: Int = 1, _ now: Now, _ effects: inout [Effect]) {
    guard let peer = sessions[link]?.device,
      !repetition[peer, default: Allowance()].take(points, of: Limits.redundantPointsMax, at: now.steady)
    else { return }
    drop(link, .misbehaved("more repetition than any correct node sends"), &effects)
  }

  /// Whether new statements of a peer are taken now. Each makes the circle be judged anew, for the price of a
  /// signature to the peer. What is not taken comes when the two compare their sets.
  mutating func hasRoomForNew(_ count: Int, from link: LinkID, _ now: Now) -> Bool {
    guard let peer = sessions[link]?.device else { return true }
    let points = count + Limits.newStatementMessagePoints
    return newStatements[peer, default: Allowance()]
      .take(points, of: Limits.newStatementPointsMax, at: now.steady)
  }

  // MARK: Promises

  /// A peer that promised sets and sent none. It is asked all the same, but nobody waits for it any more.
  mutating func markUnresponsive(_ link: LinkID, _ now: Now) {
    guard let peer = sessions[link]?.device else { return }
    brokenPromises[peer] = now.steady
  }

  /// Whether a log was asked for where an answer is to be expected.
  func isOnItsWay(_ log: LogKey, _ lane: Lane, _ now: Now) -> Bool {
    guard let link = self[lane].asked[log], let peer = sessions[link]?.device,
      let request = sessions[link]?[lane].request, !request.isSlow(now)
    else { return false }
    guard let broken = brokenPromises[peer] else { return true }
    return now.steady >= broken + Limits.brokenPromiseMilliseconds
  }
}
