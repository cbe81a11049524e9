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
    let here = try logs.stored(header.log, sequence: header.sequence)
    if here.contains(where: { $0.id == set.id }) { return .held }
    if let previous = header.previous {
      let before = try logs.stored(header.log, sequence: header.sequence - 1)
      guard before.contains(where: { $0.id == previous }) else { return .apart }
    }
    return here.isEmpty ? .follows : .diverges
  }

  /// The newest set of a log, by sequence; one with sequence 0 if there is none.
  package func newestHead(of log: LogKey) -> LogHead {
    logs[log].map(\.logHead).max { $0.sequence < $1.sequence }
      ?? LogHead(log: log, sequence: 0, id: ChangeSetID(.zero), foldedSequence: 0)
  }
}
