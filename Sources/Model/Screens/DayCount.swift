public import Foundation

/// The day on which an entry counts, by the profile's display zone.
///
/// If the profile counts days in the current zone, days stay as the user experienced them while travelling: each
/// entry has the day of the zone in which it was made. If it counts in a fixed zone, home or another, each entry
/// has the day that it was there.
public struct DayCount: Hashable, Sendable {
  /// The zone in which entries are counted; nil for the zone of each entry.
  public let fixed: TimeZone?
  /// The zone that determines today.
  public let zone: TimeZone

  /// Counts by a profile's settings.
  public init(_ profile: Profile) {
    zone = profile.displayTimeZone
    fixed = profile.displayZone == .current ? nil : zone
  }

  /// Counts in one zone.
  public init(in zone: TimeZone) { (fixed, self.zone) = (zone, zone) }

  /// The day on which an entry counts.
  public func day(of log: HabitEntry) -> Day { fixed.map { Day(log.date, in: $0) } ?? log.day }

  /// Today, or the day of another time.
  public func day(at date: Date = .now) -> Day { Day(date, in: zone) }
}
