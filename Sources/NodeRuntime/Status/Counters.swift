import Engine
import RecordTables
import Replication
import Wire

/// The counters that `metrics` reports, starting from when the node was opened.
struct Counters: Sendable {
  /// The number of change sets that were stored, by lane, including our own.
  var applied: [Lane: UInt64] = [.settings: 0, .records: 0]
  /// The number of change sets that were not stored, by reason.
  var rejected: [String: UInt64] = [
    "duplicate": 0, "excluded": 0, "beyond_quota": 0, "early": 0, "invalid": 0,
  ]
  /// The number of connections that this node closed because of the other side, by reason.
  var refused: [String: UInt64] = ["misbehaved": 0, "not_a_member": 0, "revoked": 0]
  /// The bytes received over connections that are closed; open links count their own.
  var bytesReceived: UInt64 = 0
  /// The bytes sent over connections that are closed; open links count their own.
  var bytesSent: UInt64 = 0
  /// The number of beacons sent.
  var beaconsSent: UInt64 = 0
  /// The number of members' beacons that were received and passed all checks.
  var beaconsBelieved: UInt64 = 0

  /// Files that were deleted because their records are gone.
  var freed = FreedFiles()

  mutating func add(_ freed: FreedFiles) {
    self.freed.files += freed.files
    self.freed.bytes += freed.bytes
  }

  mutating func add(_ report: CommitReport) {
    for (lane, count) in report.placed { applied[lane, default: 0] += UInt64(clamping: count) }
    for placement in report.placements {
      switch placement {
      case .place: break
      case .duplicate: rejected["duplicate", default: 0] += 1
      case .excluded: rejected["excluded", default: 0] += 1
      case .beyondQuota: rejected["beyond_quota", default: 0] += 1
      case .missing: rejected["early", default: 0] += 1
      case .clockConflict, .refused: rejected["invalid", default: 0] += 1
      }
    }
  }

  mutating func add(_ bytes: (received: Int, sent: Int)) {
    bytesReceived += UInt64(bytes.received)
    bytesSent += UInt64(bytes.sent)
  }
}

extension CloseCause {
  var word: String {
    switch self {
    case .notAMember: "not_a_member"
    case .revoked: "revoked"
    case .excluded: "excluded"
    case .duplicate: "duplicate"
    case .misbehaved: "misbehaved"
    case .shuttingDown: "shutting_down"
    }
  }
}
