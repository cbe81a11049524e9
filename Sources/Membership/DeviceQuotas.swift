// Protocol/change-set.md, "Quotas"

package import Wire

/// How many bytes a device may write in each lane, as long as no admin grants it more.
package struct DeviceQuotas: Hashable, Sendable {
  package var settings: UInt64
  package var records: UInt64

  package init(settings: UInt64, records: UInt64) {
    self.settings = settings
    self.records = records
  }

  /// The quotas of the protocol. Only simulated circles have others.
  package static let standard = DeviceQuotas(
    settings: Limits.settingsQuotaBytes, records: Limits.recordsQuotaBytes)

  package subscript(lane: Lane) -> UInt64 { lane == .settings ? settings : records }

  /// Returns the bytes that a log may hold.
  ///
  /// - Parameters:
  ///   - quota: the quota of the log's device in the log's lane.
  ///   - number: the number of the log's incarnation. 0 stands for an unknown number, and counts as 1.
  package static func share(of quota: UInt64, number: Int) -> UInt64 {
    if quota == unlimited { return unlimited }
    return number <= 1 ? quota / 2 : quota / 32
  }

  /// Stands for no quota. Grants are smaller.
  package static let unlimited = UInt64.max
}
