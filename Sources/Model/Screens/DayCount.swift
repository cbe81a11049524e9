public import Foundation

/// On which day an entry counts: by the zone that the profile says days are shown in.
///
/// Somebody who travels and counts days where they are keeps the days as they were lived: each entry has the day of
/// the zone in which it was made. Somebody who counts in a fixed zone, at home or a chosen one, sees every entry on the
/// day that it was there.
public struct DayCount: Hashable, Sendable {
  /// The zone that entries are counted in; nil for the zone of each entry.
  public let fixed: TimeZone?
  /// The zone of today.
  public let zone: TimeZone

  /// Counts as a profile says.
  public init(_ profile: Profile) {
    zone = profile.displayTimeZone
    fixed = profile.displayZone == .current ? nil : zone
  }

  /// Counts in one zone.
  public init(in zone: TimeZone) { (fixed, self.zone) = (zone, zone) }

  /// The day of an entry.
  public func day(of log: HabitEntry) -> Day { fixed.map { Day(log.date, in: $0) } ?? log.day }

  /// Today, or the day of another time.
  public func day(at date: Date = .now) -> Day { Day(date, in: zone) }
}
