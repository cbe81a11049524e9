// Protocol/session.md, "Own log after a start"

package import Replication
package import Wire

/// How a set that comes from elsewhere stands to what is held of its log.
package enum LogMeeting: Hashable, Sendable {
  /// It is here.
  case held
  /// It goes on where the log ends here.
  case follows
  /// It has the same predecessor as another set that is here.
  case diverges
  /// What it stands on is not here.
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

  /// The newest set of a log, by sequence; one with sequence 0 if there is none.
  package func newestHead(of log: LogKey) -> LogHead {
    logs[log].map(\.logHead).max { $0.sequence < $1.sequence }
      ?? LogHead(log: log, sequence: 0, id: ChangeSetID(.zero), foldedSequence: 0)
  }
}
