// Protocol/change-set.md, "Quotas"

import LogStorage
import Replication
package import Wire

/// How much of its author's quota a device has used in one lane.
package struct QuotaUsage: Hashable, Sendable {
  package let device: DeviceKey
  package let lane: Lane
  /// The declared bytes of all logs of the device in the lane. Of a forked log, the longest branch counts.
  package let bytes: UInt64
  /// The device's quota in the lane.
  package let quota: UInt64
  /// The bytes in the log that has used most of its share.
  package let fullestBytes: UInt64
  /// The share of the quota that this log has.
  package let fullestShare: UInt64

  /// Whether a log has used more than nine tenths of its share.
  package var isNearlyUsed: Bool { fullestBytes > fullestShare / 10 * 9 }

  /// How much of its share the fullest log has used, in percent.
  package var percent: Int { Self.percent(fullestBytes, of: fullestShare) }

  static func percent(_ bytes: UInt64, of share: UInt64) -> Int {
    let (high, low) = bytes.multipliedFullWidth(by: 100)
    return high >= share ? 100 : Int(clamping: share.dividingFullWidth((high, low)).quotient)
  }
}

extension Store {
  /// Returns how much each device has written in each lane, sorted by device and lane.
  package func quotaUsages() -> [QuotaUsage] {
    var logBytes: [LogKey: (bytes: UInt64, share: UInt64)] = [:]
    for branch in Lane.allCases.flatMap(logs.branches) {
      let share = logs.bytesMax(branch.log)
      let known = logBytes[branch.log]?.bytes ?? 0
      logBytes[branch.log] = (max(known, branch.head.logBytes), share)
    }
    let devices = Dictionary(grouping: logBytes.keys) { Owner(device: $0.device, lane: $0.lane) }
    return devices.map { owner, keys in
      let sizes = keys.compactMap { logBytes[$0] }
      let fullest = sizes.max {
        QuotaUsage.percent($0.bytes, of: $0.share) < QuotaUsage.percent($1.bytes, of: $1.share)
      }
      return QuotaUsage(
        device: owner.device, lane: owner.lane, bytes: sizes.reduce(0) { $0 &+ $1.bytes },
        quota: logs.quota(of: owner.device, owner.lane), fullestBytes: fullest?.bytes ?? 0,
        fullestShare: fullest?.share ?? 1)
    }.sorted { ($0.device, $0.lane) < ($1.device, $1.lane) }
  }

  private struct Owner: Hashable {
    let device: DeviceKey
    let lane: Lane
  }

  /// Returns the bytes that one of this device's logs may still hold.
  package func room(in log: LogKey) throws -> UInt64 {
    let position = try authorPosition(circle: CircleID(.zero), log: log)
    return position.logBytesMax > position.logBytes ? position.logBytesMax - position.logBytes : 0
  }
}
