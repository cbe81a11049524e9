// Protocol/session.md, "Heads and needs"
//
// Logs that reach beyond the quota of their author.
//
// Such a log ends at the last set that is within the quota, and correct devices announce no other. A device that wrote
// more announces a head that this node will never store, in session after session. The head does not show that. So the
// node remembers the ids of the sets that it dropped:
//
//     mallory: heads [X: 900]              lacking = [X: 900]
//     we:      want X 1…900
//     mallory: sets 1, 2, 3, …             1 and 2 are stored; 3 is beyond the quota: X is full
//     we:      want X 900…900              replaces the rest of the request
//     mallory: set 900                     beyond the quota too: dropped = [3, 900]; nothing of X is lacking
//     mallory: heads [X: 901]              only the tip is requested, and dropped
//
// If X has forked, a tip that arrives alone may turn out to be within the quota. Then it came too early, and the sets
// that lead to it are requested as usual. Without asking for the tip alone, either all sets up to each new tip would be
// sent again, or other branches of the log would be missed.

import Membership
package import Wire

/// The logs of which sets beyond the quota were dropped.
package struct FullLogs: Sendable {
  private struct Log {
    /// The quota of the author when the newest set was dropped.
    var quota: UInt64
    /// The newest dropped sets.
    var dropped: [ChangeSetID] = []
  }

  private var logs: [LogKey: Log] = [:]

  package func contains(_ log: LogKey) -> Bool { logs[log] != nil }

  /// The devices that wrote more than their quota, in a lane.
  package func authors(_ lane: Lane) -> Set<DeviceKey> {
    Set(logs.keys.filter { $0.lane == lane }.map(\.device))
  }

  func hasDropped(_ tip: LogHead) -> Bool { logs[tip.log]?.dropped.contains(tip.id) == true }

  mutating func drop(_ id: ChangeSetID, _ log: LogKey, quota: UInt64) {
    if logs[log] == nil, logs.count >= Limits.overQuotaLogsMax { logs = [:] }
    var known = logs[log] ?? Log(quota: quota)
    known.quota = quota
    known.dropped.append(id)
    if known.dropped.count > Limits.overQuotaTipsMax { known.dropped.removeFirst() }
    logs[log] = known
  }

  /// Forgets the logs whose author has another quota now, and returns them in order.
  mutating func forget(_ quota: (LogKey) -> UInt64) -> [LogKey] {
    let changed = logs.filter { $0.value.quota != quota($0.key) }.keys.sorted()
    for log in changed { logs[log] = nil }
    return changed
  }
}

extension Replica {
  /// Remembers the dropped sets, and reduces the requests that would bring more of them.
  mutating func noteBeyondQuota(_ items: [Committed.Item], _ now: Now, _ effects: inout [Effect]) {
    let dropped = items.filter { $0.placement == .beyondQuota }
    for item in dropped {
      let log = item.set.header.log
      let isNew = !full.contains(log)
      full.drop(item.set.id, log, quota: circle.evaluation.quota(of: log.device, log.lane))
      if isNew { effects.append(.report(.quotaExceeded(log.device, log.lane))) }
      guard let link = item.link else { continue }
      let wants = sessions[link]?[log.lane].open?.shortenRequest(log, behind: item.set.header.sequence)
      if let wants { effects.append(.send(link, .want(log.lane, wants))) }
    }
  }

  /// Compares the heads of full logs again if their author's quota has changed.
  mutating func quotasMayHaveChanged(_ now: Now, _ effects: inout [Effect]) {
    let evaluation = circle.evaluation
    let changed = full.forget { evaluation.quota(of: $0.device, $0.lane) }
    guard !changed.isEmpty else { return }
    for session in sessionsInOrder where session.device != nil && !session.isClosing {
      for lane in Lane.allCases {
        let tips = changed.filter { $0.lane == lane }.flatMap { session[lane].theirs?.tips(of: $0) ?? [] }
        if !tips.isEmpty { compare(tips, session.link, lane, now, &effects) }
      }
    }
  }
}
