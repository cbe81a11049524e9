// Protocol/change-set.md, "Quotas"

import Membership
package import Replication
package import Wire

/// Quotas. `Placement` keeps sets beyond the quota out of the logs. The functions here find the sets that have to leave
/// or may return because a quota has changed.
extension ChangeSetLogs {
  /// The quotas as long as the circle's statements are unknown.
  static func standardQuota(of device: DeviceKey, _ lane: Lane) -> UInt64 { DeviceQuotas.standard[lane] }

  package func quota(of device: DeviceKey, _ lane: Lane) -> UInt64 { quotaRule(device, lane) }

  /// Returns the bytes that a log may hold.
  package func bytesMax(_ log: LogKey) -> UInt64 {
    DeviceQuotas.share(of: quotaRule(log.device, log.lane), number: log.incarnation.number)
  }

  /// Whether a set is within the quota of its author.
  ///
  /// - Parameter headerBytes: the length of the encoded header.
  package func isWithinQuota(_ header: ChangeSetHeader, headerBytes: Int) -> Bool {
    header.logBytesThroughSet(headerBytes: headerBytes) <= bytesMax(header.log)
  }

  /// Whether a log holds sets that are beyond the quota of its author.
  package var exceedsQuota: Bool {
    // Bytes grow along a branch, so the newest set decides.
    branches.values.contains { $0.head.logBytes > bytesMax($0.log) }
  }
}
