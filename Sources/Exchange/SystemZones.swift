import Foundation
package import Records
import Synchronization

extension ZoneOffsets {
  /// The time zones of this machine.
  package static let system: ZoneOffsets = {
    let zones = ZoneCache()
    return ZoneOffsets { milliseconds, name in zones.seconds(milliseconds, name) }
  }()

  /// The zone that this machine is set to; UTC if that zone has no name.
  package static var local: String {
    let name = TimeZone.current.identifier
    return system.seconds(0, name) == nil ? "UTC" : name
  }
}

/// Caches zones, because a lookup by name reads a file.
private final class ZoneCache: Sendable {
  private let zones = Mutex<[String: TimeZone?]>([:])
  private static let countMax = 2_000

  func seconds(_ milliseconds: Int64, _ name: String) -> Int? {
    let seconds = Double(milliseconds.clampedToCalendar) / 1_000
    return zone(name)?.secondsFromGMT(for: Date(timeIntervalSince1970: seconds))
  }

  private func zone(_ name: String) -> TimeZone? {
    zones.withLock { zones in
      if let known = zones[name] { return known }
      // Names come from files and users, so paths are rejected.
      let isName = !name.isEmpty && name.utf8.count <= 64 && !name.hasPrefix("/") && !name.contains("..")
      let zone = isName ? TimeZone(identifier: name) : nil
      if zones.count < Self.countMax { zones[name] = .some(zone) }
      return zone
    }
  }
}
