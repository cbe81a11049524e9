// Protocol/session.md, "Heads and needs"

import Wire

/// Repair of stored sets that the disk has altered.
///
/// A damaged set is still covered by the heads, so comparing heads does not show that it is missing. It is requested by
/// its id, which the log still contains.
extension Replica {
  /// Replaces the list of damaged sets.
  package mutating func askAgain(for heads: [LogHead]) { damaged = Dictionary(grouping: heads, by: \.log) }

  /// Returns the damaged sets to request from a peer in addition to missing sets: one per log, if the peer's heads
  /// cover that set. If the peer does not send the set, for example because it has lost it too, it is asked again after
  /// an hour.
  func repairs(_ open: OpenLane, _ lane: Lane, besides needed: [LogKey], _ now: Now) -> [Want] {
    guard !damaged.isEmpty, let theirs = open.theirs.heads else { return [] }
    let needed = Set(needed)
    return damaged.keys.filter { $0.lane == lane && !needed.contains($0) && circle.mayAuthor($0) }.sorted()
      .compactMap { log in
        guard self[lane].asked[log] == nil, let newest = theirs.tips(of: log).map(\.sequence).max() else {
          return nil
        }
        let wanted = damaged[log]?.first { set in
          set.sequence <= newest && open.mayAskAgain(set.id, now)
        }
        return wanted.map { Want(log: log, from: $0.sequence, through: $0.sequence, tip: $0.id) }
      }
  }
}
