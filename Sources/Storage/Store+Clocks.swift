import LogStorage
package import Replication
import SQLite
package import Wire

extension Store {
  /// Returns whether the author of a log has written in another incarnation since the log's newest set.
  package func hasLeft(_ log: LogKey) -> Bool {
    let newest = logs[log].map(\.head.clock).max() ?? .zero
    return Lane.allCases.flatMap { logs.branches($0) }.contains {
      $0.log.device == log.device && $0.log.incarnation != log.incarnation && $0.head.clock > newest
    }
  }

  /// Returns the newest clock of any folded set of other devices: what a node knows about time from its peers.
  package func newestFoldedClock(otherThan device: DeviceKey) -> Clock {
    Lane.allCases.flatMap { logs.branches($0) }.filter { $0.log.device != device }
      .compactMap { $0.folded?.clock }.max() ?? .zero
  }

  /// Returns the newest clock of a device's own sets.
  package func newestClock(of device: DeviceKey) -> Clock {
    Lane.allCases.flatMap { logs.branches($0) }.filter { $0.log.device == device }.map(\.head.clock).max()
      ?? .zero
  }

  /// Returns the newest clock of any stored set of other devices, folded or not.
  package func newestClock(otherThan device: DeviceKey) -> Clock {
    Lane.allCases.flatMap { logs.branches($0) }.filter { $0.log.device != device }.map(\.head.clock).max()
      ?? .zero
  }

  /// Returns the incarnations under which a device has written stored sets.
  package func incarnations(of device: DeviceKey) -> Set<Incarnation> {
    Set(logs.all.filter { $0.device == device }.map(\.incarnation))
  }

  /// Returns the logs of a device that hold sets with a clock beyond the horizon, each with its newest set at or before
  /// the horizon.
  package func logsAhead(of device: DeviceKey, horizon: Clock) throws -> [EndedLog] {
    let ahead = logs.all.filter { log in
      log.device == device && logs[log].contains { $0.head.clock > horizon }
    }
    return try ahead.map { log in
      let tips = try logs[log].compactMap { try newest($0, upTo: horizon) }
      return EndedLog(log: log, tip: tips.max { ($0.clock, $0.head.id) < ($1.clock, $1.head.id) }?.head)
    }
  }

  /// Returns the newest set of a branch, excluding its parents, with a clock up to the horizon.
  private func newest(_ branch: Branch, upTo horizon: Clock) throws -> (head: LogHead, clock: Clock)? {
    // Clocks are stored as signed numbers. Negative numbers are the latest clocks.
    let sql = """
      SELECT sequence, id, clock FROM change_sets WHERE branch = ?1 AND clock BETWEEN 0 AND ?2
      ORDER BY sequence DESC LIMIT 1
      """
    return try connection.with(sql) { row in
      try row.bind(1, branch.number)
      try row.bind(2, Int64(clamping: horizon.raw))
      guard try row.step(), let id = ChangeSetID(bytes: row.bytes(1)) else { return nil }
      let head = LogHead(
        log: branch.log, sequence: UInt64(bitPattern: row.integer(0)), id: id, foldedSequence: 0)
      return (head, Clock(raw: UInt64(bitPattern: row.integer(2))))
    }
  }
}
