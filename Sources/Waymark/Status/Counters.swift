import Replication
import Storage
import Wire

/// What a node has counted since it opened, for `metrics`.
struct Counters: Sendable {
  /// Change sets of each lane that got their place in the store, own ones among them.
  var applied: [Lane: UInt64] = [.settings: 0, .records: 0]
  /// Change sets that got none, by why.
  var rejected: [String: UInt64] = ["duplicate": 0, "excluded": 0, "early": 0, "invalid": 0]
  /// Connections that were ended because of the other side, by why.
  var refused: [String: UInt64] = ["misbehaved": 0, "not_a_member": 0, "revoked": 0]
  /// Of connections that have ended.
  var bytesReceived: UInt64 = 0
  var bytesSent: UInt64 = 0
  /// Beacons that were sent, and those of members that were believed.
  var beaconsSent: UInt64 = 0
  var beaconsBelieved: UInt64 = 0

  mutating func add(_ report: CommitReport) {
    for (lane, count) in report.placed { applied[lane, default: 0] += UInt64(clamping: count) }
    for placement in report.placements {
      switch placement {
      case .place: break
      case .duplicate: rejected["duplicate", default: 0] += 1
      case .excluded: rejected["excluded", default: 0] += 1
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
