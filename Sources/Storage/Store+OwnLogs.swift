// Protocol/session.md, "Own logs after a start"

import LogStorage
package import Replication
package import Wire

/// How a received set of one of our own logs relates to the stored sets of that log.
package enum LogMeeting: Hashable, Sendable {
  /// The set is already stored.
  case held
  /// The set continues the log beyond what is stored.
  case follows
  /// The set competes with a different, stored set for its position.
  case diverges
  /// The predecessor of the set is not stored.
  case apart
}

extension Store {
  package func meeting(_ set: VerifiedChangeSet) throws -> LogMeeting {
    let header = set.header
    if try logs.stored(set.id, header.log, header.sequence) != nil { return .held }
    if let previous = header.previous {
      guard try logs.stored(previous, header.log, header.sequence - 1) != nil else { return .apart }
    }
    let isTaken = logs[header.log].contains { $0.first <= header.sequence && header.sequence <= $0.sequence }
    return isTaken ? .diverges : .follows
  }

  /// Returns the head of a log with the highest sequence; if the log is empty, a head with sequence 0.
  package func newestHead(of log: LogKey) -> LogHead {
    logs[log].map(\.logHead).max { $0.sequence < $1.sequence }
      ?? LogHead(log: log, sequence: 0, id: ChangeSetID(.zero), foldedSequence: 0)
  }
}
