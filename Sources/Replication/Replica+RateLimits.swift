// Protocol/session.md, "Repetition".

import Wire

/// A peer's use of a budget of points, which refills over time (a leaky bucket).
struct Allowance: Sendable {
  /// The points that are spent, in thousandths, so that the refill between two messages is not rounded away.
  private var spent = 0
  private var countedAt: Moment = 0

  /// Takes points if enough are left, and returns whether they were taken. The budget refills by
  /// `Limits.pointsPerSecond`.
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
  /// Charges a peer for a redundant message: a repetition, or sets that were already here and had not been requested.
  /// Correct nodes send some redundant messages too, when messages cross. Closes the session if the budget is used up.
  mutating func chargeRedundant(_ link: LinkID, points: Int = 1, _ now: Now, _ effects: inout [Effect]) {
    guard let peer = sessions[link]?.device,
      !repetition[peer, default: Allowance()].take(points, of: Limits.redundantPointsMax, at: now.steady)
    else { return }
    drop(link, .misbehaved("more redundant messages than a correct node sends"), &effects)
  }

  /// Whether new statements from a peer are accepted now. They are limited because each message makes this node
  /// evaluate the circle again, but costs the peer only signatures. Rejected statements are sent again when the two
  /// sides compare their statements.
  mutating func hasRoomForNew(_ count: Int, from link: LinkID, _ now: Now) -> Bool {
    guard let peer = sessions[link]?.device else { return true }
    let points = count + Limits.newStatementMessagePoints
    return newStatements[peer, default: Allowance()]
      .take(points, of: Limits.newStatementPointsMax, at: now.steady)
  }

  // MARK: Unresponsive peers

  /// Marks a peer that announced sets but did not deliver them. Sets are still requested from this peer, but for ten
  /// minutes they are also requested from other peers, without waiting for this one.
  mutating func markUnresponsive(_ link: LinkID, _ now: Now) {
    guard let peer = sessions[link]?.device else { return }
    brokenPromises[peer] = now.steady
  }

  /// Whether a log has been requested from a peer that can be expected to answer.
  func isOnItsWay(_ log: LogKey, _ lane: Lane, _ now: Now) -> Bool {
    guard let link = self[lane].asked[log], let peer = sessions[link]?.device,
      let request = sessions[link]?[lane].request, !request.isSlow(now)
    else { return false }
    guard let broken = brokenPromises[peer] else { return true }
    return now.steady >= broken + Limits.brokenPromiseMilliseconds
  }
}
