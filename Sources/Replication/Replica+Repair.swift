// Protocol/session.md, "Heads and needs"

import Wire

/// Fetching again what the disk has altered. A damaged set is in the heads like any other, so no comparison shows that it
/// is lacking: it is asked for by its id, which its log still names.
extension Replica {
  /// Takes over which stored sets are damaged.
  package mutating func askAgain(for heads: [LogHead]) { damaged = Dictionary(grouping: heads, by: \.log) }

  /// What to ask a peer for in addition to what is lacking: of each log one damaged set that the peer holds. A peer
  /// that does not send it, having lost it too, is asked again after an hour.
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
